import type { Runtime } from "../runtime/runtime.ts";
import { HttpFault } from "./faults.ts";

/** What a request asks for, as far as its path and method tell; nothing of the store has been read yet. */
export interface ApiCall {
  /** The request, its body unread. */
  readonly request: Request;
  /** The name of the route, such as `startRun`; absent where there is none. */
  readonly operation?: string;
  /** Whether it only reads. */
  readonly reads: boolean;
  /** The graph that it is about, if it names one. */
  readonly graphId?: string;
  /** The run that it is about, if it names one. */
  readonly runId?: string;
  /** Aborted when the answer is no longer waited for. */
  readonly signal: AbortSignal;
}

/** Whoever may send a request. */
export interface Caller {
  /** Who it is: the scope of idempotency keys, and the name in audit events. */
  readonly id: string;
  /** Whether states, outputs and answers are shown. @default what `expose` says */
  readonly state?: boolean;
  /** Whether what was thrown is shown. @default what `expose` says */
  readonly causes?: boolean;
}

/**
 * Tells who sends a request. Asked before anything else is done with it, on every route and on paths that are none.
 *
 * @returns The caller; `"forbidden"` for one that is known and may not do this (403). Anything else, an error, and no
 * answer in time deny it (401).
 */
export type Authenticate = (
  call: ApiCall,
) => Caller | "forbidden" | undefined | null | Promise<Caller | "forbidden" | undefined | null>;

/** The caller where there is no authentication. */
export const ANYONE: Caller = Object.freeze({ id: "" });

/** Asks who sends a request. */
export async function callerOf(
  authenticate: Authenticate,
  call: Omit<ApiCall, "signal">,
  timeoutMs: number,
  runtime: Runtime,
  failed: (error: unknown) => void,
): Promise<Caller> {
  const patience = new AbortController();
  const timer = runtime.wakeIn(
    timeoutMs,
    () => patience.abort(new Error(`no answer within ${timeoutMs} ms`)),
  );
  try {
    const answer: unknown = await answerOrAbort(authenticate, { ...call, signal: patience.signal });
    if (answer === "forbidden") throw new HttpFault("FORBIDDEN");
    const caller = callerFrom(answer);
    if (caller !== undefined) return caller;
  } catch (error) {
    if (error instanceof HttpFault) throw error;
    failed(error);
  } finally {
    timer.cancel();
  }
  throw new HttpFault("UNAUTHORIZED", { headers: { "WWW-Authenticate": 'Bearer realm="superstep"' } });
}

function answerOrAbort(authenticate: Authenticate, call: ApiCall): Promise<unknown> {
  return new Promise((resolve, reject) => {
    call.signal.addEventListener("abort", () => reject(call.signal.reason));
    Promise.resolve().then(() => authenticate(call)).then(resolve, reject);
  });
}

/** What was answered, read once; what is shown on the word of anything but `true` is not shown. */
function callerFrom(answer: unknown): Caller | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  const { id, state, causes } = answer as Readonly<Record<keyof Caller, unknown>>;
  if (typeof id !== "string") return undefined;
  return {
    id,
    ...(state === undefined || state === null ? {} : { state: state === true }),
    ...(causes === undefined || causes === null ? {} : { causes: causes === true }),
  };
}
