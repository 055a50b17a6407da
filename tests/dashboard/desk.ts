import assert from "node:assert/strict";
import { Hono } from "hono";
import type { Locator, Page } from "playwright-core";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { GraphBuilder } from "../../src/graph/mod.ts";
import { listen } from "../../src/http/listen.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { CompiledGraph } from "../../src/model/definition.ts";
import { type Site, site, type SiteOptions } from "../http/support.ts";
import { LIMIT_MS, type Tab } from "../support/browser.ts";
import { type Gate, gate } from "../support/graphs.ts";

const Verdict = defineWait(
  "verdict",
  z.object({
    approve: z.boolean(),
    note: z.string().min(3),
    score: z.number().int().min(1).max(5).optional(),
  }),
);

const Question = z.object({
  question: z.string().min(1),
  urgent: z.boolean().default(false),
  copies: z.number().int().min(1).default(1),
  draft: z.string().optional(),
  checks: z.array(z.string()).default([]),
  approved: z.boolean().optional(),
  note: z.string().optional(),
});
type Question = z.infer<typeof Question>;
type Answer = { approve: boolean; note: string };

/** A text that ends tags, attributes and scripts, is read from right to left in part, and has characters of all kinds. */
export const HOSTILE =
  `"><script>globalThis.owned = true</script></text><img src=x onerror="owned=true">' --> & שלום 👩‍👩‍👧 \u202Eabc`;

/** Bodies that wait until a test lets them go on; by the id of their vertex. */
export type Gates = Record<"price" | "legal" | "work", Gate>;

/**
 * The graph that most tests look at: drafts at the second attempt, checks price and law side by side as soon as the test
 * lets each of them, waits for a verdict, sends.
 */
function review(gates: Gates): CompiledGraph<unknown> {
  const builder = new GraphBuilder<Question>({ id: "review", version: 1, schema: Question });
  builder.addVertex<string, string>({
    id: "draft",
    label: "Write a draft",
    retry: { maxAttempts: 3, backoff: { initial: "10ms" } },
    task: {
      execute: (question, { attempt }) => {
        if (attempt === 1) throw new Error("the desk is <b>busy</b>");
        return `about ${question}`;
      },
    },
    select: (s) => s.question,
    reduce: (s, draft) => void (s.draft = draft),
  });
  for (const id of ["price", "legal"] as const) {
    builder.addVertex<unknown, string>({
      id,
      task: { execute: (_: unknown, { signal }: TaskContext) => opened(gates[id], signal, `${id} is fine`) },
      select: () => null,
      reduce: (s, check) => void s.checks.push(check),
    });
    builder.addEdge("draft", id);
    builder.addEdge(id, "ask");
  }
  builder.addVertex<unknown, Answer>({
    id: "ask",
    join: "all",
    waits: [Verdict],
    task: { execute: (draft: unknown, ctx: TaskContext) => ctx.waitFor(Verdict, { info: { draft } }) },
    select: (s) => s.draft,
    reduce: (s, { approve, note }) => {
      s.approved = approve;
      s.note = note;
    },
  });
  builder.addVertex<unknown, string>({
    id: "send",
    label: HOSTILE,
    task: { execute: () => "sent" },
    select: () => null,
    reduce: () => {},
  });
  builder.addEdge("ask", "send");
  return builder.build({ entry: "draft", finish: "send" }) as unknown as CompiledGraph<unknown>;
}

/** Asks and works at the same time: while its wait is open, something else happens. */
function pair(gates: Gates): CompiledGraph<unknown> {
  const builder = new GraphBuilder<Question>({ id: "pair", version: 1, schema: Question });
  const quick = { task: { execute: () => "x" }, select: () => null, reduce: () => {} };
  builder.addVertex<unknown, string>({ id: "begin", ...quick });
  builder.addVertex<unknown, Answer>({
    id: "ask",
    waits: [Verdict],
    task: {
      execute: (question: unknown, ctx: TaskContext) => ctx.waitFor(Verdict, { info: { question } }),
    },
    select: (s) => s.question,
    reduce: (s, { note }) => void (s.note = note),
  });
  builder.addVertex<unknown, string>({
    id: "work",
    task: { execute: (_: unknown, { signal }: TaskContext) => opened(gates.work, signal, "worked") },
    select: () => null,
    reduce: () => {},
  });
  builder.addVertex<unknown, string>({ id: "end", join: "all", ...quick });
  for (const id of ["ask", "work"]) builder.addEdge("begin", id).addEdge(id, "end");
  return builder.build({ entry: "begin", finish: "end" }) as unknown as CompiledGraph<unknown>;
}

async function opened(gate: Gate, signal: AbortSignal, output: string): Promise<string> {
  await Promise.race([
    gate.promise,
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
  ]);
  return output;
}

function closed(): Gate {
  const made = gate();
  // Nobody may be there yet when a test makes it fail.
  made.promise.catch(() => {});
  return made;
}

/** A site that real browsers reach, with a worker beside it. */
export interface Desk extends AsyncDisposable {
  readonly site: Site;
  /** Where the dashboard is. */
  readonly url: string;
  readonly gates: Gates;
  /** Shuts a gate again. */
  shut(id: keyof Gates): void;
  /** Starts a run, past the page. */
  start(graph: "review" | "pair", input?: Partial<Question>, tags?: readonly string[]): Promise<string>;
  /** The address of the page of a run. */
  pageOf(runId: string): string;
}

/** How a {@link Desk} is set up. */
export interface DeskOptions extends SiteOptions {
  /** The path of another app that the app is mounted at. @default none */
  readonly mount?: string;
}

/** Opens a {@link Desk}. */
export async function desk({ mount, ...options }: DeskOptions = {}): Promise<Desk> {
  const gates: Gates = { price: closed(), legal: closed(), work: closed() };
  const opened = await site([review(gates), pair(gates)], { expose: { causes: true }, ...options });
  const app = mount === undefined ? opened.app : new Hono().route(mount, opened.app);
  const server = await listen(app, { port: 0, grace: 0 });
  const url = `${server.url}${mount ?? ""}/ui`;
  return {
    site: opened,
    url,
    gates,
    shut: (id) => void (gates[id] = closed()),
    start: async (graph, input = {}, tags = []) => {
      const started = await opened.post(`/v1/graphs/${graph}/runs`, {
        input: { question: "How much?", ...input },
        tags,
      });
      assert.equal(started.status, 202, JSON.stringify(started.body));
      return started.body["runId"] as string;
    },
    pageOf: (runId) => `${url}/runs/${runId}`,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await opened.close();
    },
  };
}

/** The row of a vertex in the table of a run's page. */
export function vertexRow(page: Page, id: string): Locator {
  return page.getByRole("table", { name: "Vertices" }).getByRole("row").filter({
    has: page.getByRole("rowheader", { name: id }),
  });
}

/** What a run is at, as its page says. */
export function statusOf(page: Page): Locator {
  return page.getByRole("status").first();
}

/** The choice of a yes in a form. */
export function yesTo(form: Page | Locator, field: string): Locator {
  return form.getByRole("radiogroup", { name: field }).getByLabel("Yes");
}

/** The id of the run that a page is about, once the browser is there. */
export async function runOn(page: Page): Promise<string> {
  const place = /\/ui\/runs\/([^/?]+)(\?done=\w+)?$/;
  await page.waitForURL(place);
  return place.exec(page.url())![1]!;
}

/** Waits until something is on a page: by itself, or, where no script runs, when the page is loaded again. */
export async function comes({ page, script }: Tab, what: Locator): Promise<void> {
  if (script) return await what.first().waitFor();
  await again(what, () => page.reload());
}

/**
 * Waits until something is on a page that looks for news at times: by itself, or, where no script runs, when the page is
 * loaded again. The clock of the page has to be the test's: `page.clock.install()`.
 */
export async function comesInTime({ page, script }: Tab, what: Locator): Promise<void> {
  await again(what, () => script ? page.clock.runFor("00:03") : page.reload());
}

async function again(what: Locator, act: () => Promise<unknown>): Promise<void> {
  for (const end = Date.now() + LIMIT_MS; Date.now() < end;) {
    if (await what.first().isVisible()) return;
    await act();
  }
  assert.fail(`${what} did not come`);
}
