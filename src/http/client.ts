/**
 * A typed client of an app that serves runs. It needs nothing of a server, so that pages can use it too.
 *
 * @example
 * ```ts ignore
 * const api = createClient("https://example.com/superstep", { headers: { authorization: `Bearer ${token}` } });
 * const run = await bodyOf(api.v1.graphs[":graph_id"].runs.$post({ param: { graph_id: "approval" }, json: { input } }));
 * for await (const event of events(api, run.runId)) {
 *   if (event.type === "checkpoint") console.log(event.revision, event.status);
 *   else if (event.type === "emit") console.log(event.name, event.data);
 * }
 * ```
 *
 * @module
 */
import { EventSourceParserStream } from "eventsource-parser/stream";
import { hc } from "hono/client";
import { isOver } from "../model/run.ts";
import type { AppType } from "./contract.ts";
import type { ErrorBody, Issue, StreamEvent } from "./wire.ts";

export { fromJson, toJson } from "../model/json.ts";
export type { Json } from "../model/json.ts";
export type { AppType, Routes } from "./contract.ts";
export type {
  Accepted,
  CancelledRun,
  Capabilities,
  Cause,
  Checkpoint,
  CheckpointEvent,
  Emit,
  ErrorBody,
  Failure,
  GraphBody,
  GraphList,
  HaltInfo,
  HistoryPage,
  InboxWait,
  Issue,
  RunBody,
  RunInfo,
  RunPage,
  RunRef,
  RunRow,
  RunWait,
  StreamEvent,
  WaitPage,
  WorkerList,
} from "./wire.ts";
export type {
  AnswerRequest,
  CancelRequest,
  ForkRequest,
  ResumeRequest,
  StartRequest,
  StateRequest,
} from "./wire_requests.ts";

/** Options of {@link createClient}. */
export interface ClientOptions {
  /** Headers of every request, or what makes them. */
  readonly headers?:
    | Record<string, string>
    | (() => Record<string, string> | Promise<Record<string, string>>);
  /** What makes requests. @default the global one */
  readonly fetch?: typeof fetch;
}

/** A client: the routes as properties, their parameters in brackets, and their methods as functions. */
export type Client = ReturnType<typeof hc<AppType>>;

/** Makes a client of the app at `url`, which is where it is mounted. */
export function createClient(url: string, options: ClientOptions = {}): Client {
  const { headers, fetch } = options;
  return hc<AppType>(url, {
    ...(headers === undefined ? {} : { headers }),
    ...(fetch === undefined ? {} : { fetch }),
  });
}

/** An answer that is an error. */
export class ResponseError extends Error {
  /** The name of the class, which minifying leaves as it is. */
  override readonly name = "ResponseError";
  /** The stable code, where there is one. */
  readonly code: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** What is wrong with what was sent. */
  readonly issues: readonly Issue[];
  /** `status`: that of the answer; `body`: the error in it. */
  constructor(readonly status: number, readonly body: ErrorBody["error"]) {
    const { code, message, retryable, issues = [] } = body;
    super(
      [`${message} (${code})`, ...issues.map((i) => i.path === "" ? i.message : `${i.path}: ${i.message}`)]
        .join("; "),
    );
    this.code = code;
    this.retryable = retryable;
    this.issues = issues;
  }
}

/**
 * The body of an answer that is a success.
 *
 * @throws {ResponseError} it is an error
 */
export async function bodyOf<R extends Answer<unknown, number>>(
  response: R | Promise<R>,
): Promise<R extends Answer<infer Body, infer Status> ? Status extends 200 | 202 ? Body : never : never> {
  const answer = await response;
  if (!answer.ok) throw await errorOf(answer as unknown as Response);
  return await answer.json() as never;
}

/**
 * What is needed of a typed response.
 *
 * @internal
 */
interface Answer<Body, Status extends number> {
  readonly ok: boolean;
  readonly status: Status;
  json(): Promise<Body>;
}

async function errorOf(response: Response): Promise<ResponseError> {
  let error: ErrorBody["error"] | undefined;
  try {
    error = (await response.json() as Partial<ErrorBody>).error;
  } catch {
    // Whatever is in between may answer with anything.
  }
  const code = typeof error?.code === "string" ? error.code : "HTTP";
  return new ResponseError(response.status, {
    message: `HTTP ${response.status}`,
    retryable: false,
    ...error,
    code,
  });
}

/** Options of {@link events}. */
export interface EventsOptions {
  /** The id of the last event that was seen. @default the beginning of the run */
  readonly after?: string;
  /** Aborting it ends the iteration. */
  readonly signal?: AbortSignal;
  /** How long to wait before a stream that broke off is taken up again, in milliseconds. @default 1000 */
  readonly retry?: number;
}

/**
 * What happens to a run, and what its bodies emit, each once and in order, up to the record that ends it. A stream that breaks
 * off is taken up where it did.
 *
 * @throws {ResponseError} the server refuses the stream, and would again
 */
export async function* events(
  client: Client,
  runId: string,
  options: EventsOptions = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const { signal, retry = 1_000 } = options;
  let { after } = options;
  while (signal?.aborted !== true) {
    try {
      const response = await client.v1.runs[":run_id"].events.$get(
        { param: { run_id: runId }, query: {} },
        {
          ...(after === undefined ? {} : { headers: { "Last-Event-ID": after } }),
          init: signal === undefined ? {} : { signal },
        },
      );
      if (response.status === 204) return;
      if (!response.ok) throw await errorOf(response as unknown as Response);
      for await (const event of messages(response.body!, signal)) {
        if (after !== undefined && isSeen(event, after)) continue;
        after = event.id;
        yield event;
        if (event.type === "checkpoint" && isOver(event.status)) return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof ResponseError && !error.retryable) throw error;
    }
    await pause(retry, signal);
  }
}

/** Whether a server tells again what was seen up to `after`. */
function isSeen({ type, id }: StreamEvent, after: string): boolean {
  const [revision = 0, number = -1] = id.split(".").map(Number);
  const [seen = 0, upTo = -1] = after.split(".").map(Number);
  if (revision !== seen) return revision < seen;
  // What tells of missing or replaced emits has the id of what came before.
  return number < upTo || number === upTo && (type === "checkpoint" || type === "emit");
}

const TYPES: ReadonlySet<string> = new Set<StreamEvent["type"]>(["checkpoint", "emit", "replaced", "gap"]);

async function* messages(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent, void, undefined> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  const leave = () => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", leave);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || signal?.aborted) return;
      if (TYPES.has(value.event ?? "")) yield { type: value.event, id: value.id, ...JSON.parse(value.data) };
    }
  } finally {
    signal?.removeEventListener("abort", leave);
    leave();
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener("abort", wake);
    if (signal?.aborted) wake();
  });
}
