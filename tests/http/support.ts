import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { z } from "zod";
import { compile } from "../../src/compile.ts";
import type { Runner } from "../../src/engine/runner.ts";
import { GraphBuilder } from "../../src/graph/mod.ts";
import { createApp } from "../../src/http/app.ts";
import type { AuditEvent } from "../../src/http/audit.ts";
import type { AppType } from "../../src/http/contract.ts";
import type { AppOptions } from "../../src/http/options.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { CompiledGraph } from "../../src/model/definition.ts";
import { defineWait, type WaitDefinition } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { serve, type Worker } from "../../src/worker/mod.ts";

export const Verdict = defineWait("verdict", z.object({ approve: z.boolean(), note: z.string().optional() }));

const Question = z.object({
  question: z.string(),
  draft: z.string().optional(),
  approved: z.boolean().optional(),
});
type Question = z.infer<typeof Question>;

/** Drafts, waits for a verdict, and is done. */
export function approval(version = 1): CompiledGraph<unknown> {
  const builder = new GraphBuilder<Question>({ id: "approval", version, schema: Question });
  builder.addVertex<string, string>({
    id: "draft",
    task: { execute: (question) => `about ${question}` },
    select: (s) => s.question,
    reduce: (s, draft) => void (s.draft = draft),
  });
  builder.addVertex<unknown, { approve: boolean }>({
    id: "review",
    label: "Review",
    waits: [Verdict],
    task: { execute: (draft: unknown, ctx: TaskContext) => ctx.waitFor(Verdict, { info: { draft } }) },
    select: (s) => s.draft,
    reduce: (s, { approve }: { approve: boolean }) => void (s.approved = approve),
  });
  builder.addEdge("draft", "review");
  return builder.build({ entry: "draft", finish: "review" }) as unknown as CompiledGraph<
    unknown
  >;
}

const Any = z.object({ n: z.number().default(0) }).loose();
type Any = z.infer<typeof Any>;

/** One vertex, whose body is the test's. */
export function single(
  id: string,
  body: (state: Readonly<Any>, ctx: TaskContext) => unknown,
  options: {
    readonly version?: number;
    readonly pick?: () => "only";
    readonly waits?: readonly WaitDefinition[];
  } = {},
): CompiledGraph<unknown> {
  const builder = new GraphBuilder<Any>({ id, version: options.version ?? 1, schema: Any });
  builder.addVertex<unknown, unknown>({
    id: "only",
    waits: options.waits ?? [],
    task: { execute: (input, ctx) => body(input as Any, ctx) },
    select: (s) => s,
    reduce: (s, out) => void ((s as Record<string, unknown>).out = out),
  });
  if (options.pick !== undefined) {
    builder.addConditionalEdge("only", { targets: ["only"], pick: options.pick });
  }
  return builder.build({ entry: "only", finish: "only" }) as unknown as CompiledGraph<unknown>;
}

/** What a test asks of a {@link Site}. */
export interface SiteOptions extends Omit<AppOptions, "runners" | "workflows" | "store" | "compile"> {
  readonly store?: Store;
  /** Whether somebody works on the runs. @default true */
  readonly work?: boolean;
}

/** An app on a store with a worker beside it, and what it was asked and told. */
export interface Site extends AsyncDisposable {
  readonly app: AppType;
  readonly store: Store;
  readonly runners: readonly Runner<unknown>[];
  readonly audited: AuditEvent[];
  readonly warnings: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[];
  readonly worker: Worker | undefined;
  /** Sends a request, and holds its answer against the description. */
  call<T = Body>(method: string, path: string, options?: CallOptions): Promise<Answered<T>>;
  get<T = Body>(path: string, headers?: Readonly<Record<string, string>>): Promise<Answered<T>>;
  post<T = Body>(
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answered<T>>;
  close(): Promise<void>;
}

/** Any body of JSON. */
export type Body = Readonly<Record<string, unknown>>;

interface CallOptions {
  readonly body?: unknown;
  /** The body as it is, in the place of JSON. */
  readonly raw?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer of JSON. */
export interface Answered<T = Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** The body of an error. */
export interface Fault {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly issues?: readonly { readonly path: string; readonly message: string }[];
    readonly reason?: string;
    readonly first?: number;
  };
}

/** A graph of whatever state. */
type AnyGraph = CompiledGraph<Any> | CompiledGraph<Question>;

/** An app for some graphs. */
export async function site(
  graphs: readonly CompiledGraph<unknown>[],
  options: SiteOptions = {},
): Promise<Site> {
  const { store = memoryStore(), work = true, ...more } = options;
  const warnings: Site["warnings"] = [];
  const audited: AuditEvent[] = [];
  const logger = {
    info: () => {},
    warn: (message: string, fields: Readonly<Record<string, unknown>>) =>
      void warnings.push({ message, fields }),
  };
  const runners = graphs.map((graph) =>
    compile(graph, {
      store,
      logger,
      ...(more.runtime === undefined ? {} : { runtime: more.runtime }),
    })
  );
  const worker = work ? await serve({ runners, poll: "50ms", logger }) : undefined;
  const app = createApp({ audit: (event) => void audited.push(event), logger, ...more, runners });
  const judge = await judgeOf(app);
  const call = async <T>(method: string, path: string, { body, raw, headers = {} }: CallOptions = {}) => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await app.request(path, {
      method,
      headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await response.text();
    const answered = {
      status: response.status,
      headers: response.headers,
      body: text === "" ? null : JSON.parse(text),
    };
    judge(method, path, answered);
    return answered as Answered<T>;
  };
  const close = async () => {
    await worker?.stop(0);
    await store.close();
  };
  return {
    app,
    store,
    runners,
    audited,
    warnings,
    worker,
    call,
    get: (path, headers = {}) => call("GET", path, { headers }),
    post: (path, body, headers = {}) => call("POST", path, { body, headers }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedRoute>>>>;
}

interface DescribedRoute {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

/** Holds answers against the description of the app that gave them. */
export async function judgeOf(
  app: AppType,
  headers: Readonly<Record<string, string>> = {},
): Promise<(method: string, path: string, answered: Answered<unknown>) => void> {
  const response = await app.request("/v1/openapi.json", { headers });
  if (response.status !== 200) return () => {};
  const description = await response.json() as Described;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addSchema(description, "api");
  const known = new Map<string, ValidateFunction>();
  return (method, path, { status, body, headers }) => {
    const [route] = path.split("?");
    const template = Object.keys(description.paths).find((p) =>
      new RegExp(`^${p.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(route!)
    );
    const described = template === undefined ? undefined : description.paths[template]![method.toLowerCase()];
    if (described === undefined) {
      return assert.ok([401, 403, 404, 405, 413, 415].includes(status), `${method} ${path}: ${status}`);
    }
    const answer = described.responses[status];
    assert.ok(answer !== undefined, `${described.operationId} does not say that it may answer ${status}`);
    if (body === null) return;
    assert.equal(headers.get("Content-Type"), "application/json; charset=utf-8");
    const pointer = `${
      encodeURIComponent(template!.replaceAll("~", "~0").replaceAll("/", "~1"))
    }/${method.toLowerCase()}`;
    const ref = `api#/paths/${pointer}/responses/${status}/content/application~1json/schema`;
    const validate = known.get(ref) ?? ajv.compile({ $ref: ref });
    known.set(ref, validate);
    assert.ok(
      validate(body),
      `${described.operationId} answered ${status} with ${JSON.stringify(body)}: ${
        ajv.errorsText(validate.errors)
      }`,
    );
  };
}

/** Asks again until something is so. */
export async function until<T>(what: () => Promise<T | undefined | false>): Promise<T> {
  for (let i = 0; i < 2_000; i++) {
    const found = await what();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return assert.fail("it did not come to that");
}

/** Waits until a run is in a status. */
export function inStatus(site: Site, runId: string, status: string): Promise<Answered> {
  return until(async () => {
    const answer = await site.get(`/v1/runs/${runId}`);
    return answer.status === 200 && answer.body.status === status && answer;
  });
}
