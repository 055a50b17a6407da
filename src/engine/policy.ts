import { canonical } from "../checkpoint/canonical.ts";
import { sizeOf } from "../checkpoint/canonical_tag.ts";
import { ignorePromises } from "../checkpoint/promises.ts";
import { ContextError, isSuperstepError, recordedMessage, VertexTimeoutError } from "../errors.ts";
import { defined } from "../model/defined.ts";
import type { CompiledRetry, CompiledVertex, ErrorMatch } from "../model/definition.ts";
import { MAX_TIME, toMs } from "../model/durations.ts";
import type { FaultPhase, VertexFailure } from "../model/failure.ts";
import { errorText } from "../model/texts.ts";
import { handlerRef } from "./handlers.ts";
import { stackOf } from "./stacks.ts";
import { ignore, isThenable, synchronous } from "./thenable.ts";

/**
 * What becomes of a fault: another attempt, an error route, or a pause. Pure: time and chance are arguments.
 *
 * 1. Only faults of the body are retried; a selector, reducer or serialization fault would only repeat itself.
 * 2. On the last attempt neither `retryIf` nor the backoff is asked.
 * 3. The handler is chosen on the live error, once; what is stored is its route.
 * 4. A fault of `retryIf` or of the backoff takes the place of the one it was to judge, and is not retried; the handlers
 *    are asked about it as about any other. A fault of a `match` leaves nobody to ask: the run pauses.
 */
export function judge<S>(vertex: CompiledVertex<S>, fault: Fault, when: Moment): Verdict {
  const { retry, timeout } = vertex;
  if (isRetryable(fault) && fault.attempt < retry.maxAttempts) {
    try {
      if (retry.retryIf === undefined || decided(retry.retryIf(fault.error), "retryIf")) {
        const delay = backoff(retry, fault, when.random);
        if (timeout.totalMs !== undefined && when.spentMs + delay >= timeout.totalMs) {
          const late = new VertexTimeoutError(vertex.id, "total", timeout.totalMs);
          late.cause = fault.error;
          return giveUp(vertex, { ...fault, error: late, phase: "timeout" });
        }
        return {
          kind: "retry",
          ...recordOf(fault),
          nextAt: Math.min(when.now + delay, MAX_TIME),
          spentMs: when.spentMs + delay,
        };
      }
    } catch (error) {
      return giveUp(vertex, { ...fault, error, phase: "retry" });
    }
  }
  return giveUp(vertex, fault);
}

/** Something that went wrong in a vertex. */
export interface Fault {
  readonly error: unknown;
  readonly phase: FaultPhase;
  /** From 1. */
  readonly attempt: number;
  /** What a faulty `record` was to record. */
  readonly first?: VertexFailure;
}

/** What {@link judge} may know of the world. */
export interface Moment {
  readonly now: number;
  /** In [0, 1). */
  readonly random: number;
  /** Milliseconds of the total timeout that are used up. */
  readonly spentMs: number;
}

/** What {@link judge} decides. */
export type Verdict =
  | {
    readonly kind: "retry";
    readonly failure: VertexFailure;
    readonly stack?: string;
    readonly nextAt: number;
    readonly spentMs: number;
  }
  | {
    readonly kind: "failed";
    readonly failure: VertexFailure;
    readonly stack?: string;
    /** The handler that takes over, as it is recorded; absent when the run pauses. */
    readonly handler?: string;
    readonly error: unknown;
  };

/** The verdict on a fault that no further attempt can mend. */
export function giveUp<S>(vertex: CompiledVertex<S>, fault: Fault): Extract<Verdict, { kind: "failed" }> {
  // A faulty `record` has had its route; taking it again would loop.
  if (fault.phase === "record") return { kind: "failed", ...recordOf(fault), error: fault.error };
  try {
    const handler = vertex.handlers.find((h) => h.match === undefined || matches(h.match, fault.error));
    return {
      kind: "failed",
      ...recordOf(fault),
      error: fault.error,
      ...(handler === undefined ? {} : { handler: handlerRef(vertex, handler) }),
    };
  } catch (error) {
    return { kind: "failed", ...recordOf({ ...fault, error, phase: "match" }), error };
  }
}

/** A fault as it is recorded: `record` is not given the stack, so that no state depends on where code lies. */
function recordOf(fault: Fault): { readonly failure: VertexFailure; readonly stack?: string } {
  return { failure: failureOf(fault), ...defined({ stack: stackOf(fault.error) }) };
}

/** A fault as plain data, the same live and after a reload. */
export function failureOf(fault: Fault): VertexFailure {
  const { error, attempt, phase, first } = fault;
  const { name, code, data } = described(error);
  return defined({
    name,
    message: errorText(recordedMessage(error)),
    code,
    attempt,
    data,
    phase,
    cause: first,
  });
}

function isRetryable(fault: Fault): boolean {
  if (fault.phase !== "execute" && fault.phase !== "timeout") return false;
  const { error } = fault;
  if (isSuperstepError(error, "FATAL", "CONTEXT")) return false;
  return !(isSuperstepError(error, "VERTEX_TIMEOUT") && (error as VertexTimeoutError).scope === "total");
}

function backoff(retry: CompiledRetry, fault: Fault, random: number): number {
  if (isSuperstepError(fault.error, "RETRY_LATER")) {
    return span((fault.error as unknown as { delay: unknown }).delay, "the delay of RetryLater");
  }
  const { backoff } = retry;
  if (backoff === undefined) return 0;
  if (typeof backoff === "function") {
    return span(backoff(fault.attempt, fault.error), "the backoff function's result");
  }
  const growth = Math.min(MAX_TIME, backoff.factor ** (fault.attempt - 1));
  const full = Math.min(MAX_TIME, backoff.maxMs, backoff.initialMs * growth);
  return Math.round(backoff.jitter ? full / 2 + random * full / 2 : full);
}

function span(value: unknown, what: string): number {
  if (isThenable(value)) ignore(value);
  const ms = toMs(value);
  if (ms === undefined) {
    throw new ContextError(
      `${what} is ${String(value)}, not a duration; return milliseconds or a text such as "30s"`,
    );
  }
  return Math.max(0, ms);
}

function matches(match: ErrorMatch, error: unknown): boolean {
  if (isErrorClass(match)) return error instanceof match || sameKind(match, error);
  return decided((match as (error: unknown) => boolean)(error), "match");
}

function isErrorClass(match: ErrorMatch): match is abstract new (...args: never[]) => Error {
  const prototype: unknown = match.prototype;
  return prototype === Error.prototype || (typeof prototype === "object" && prototype instanceof Error);
}

/** One of our own errors made by another copy of the package. */
function sameKind(match: abstract new (...args: never[]) => Error, error: unknown): boolean {
  const { errorName } = match as { readonly errorName?: string };
  return errorName !== undefined && isSuperstepError(error) && error.name === errorName;
}

function decided(answer: unknown, what: string): boolean {
  return Boolean(
    synchronous(
      answer,
      `${what} returned a promise; it must decide synchronously, do asynchronous work in a vertex`,
    ),
  );
}

function described(error: unknown): { name: string; code: string | undefined; data: unknown } {
  const field = <T>(name: "name" | "code" | "data", read: (value: unknown) => T): T | undefined => {
    try {
      if (error instanceof Error) return read((error as unknown as Record<string, unknown>)[name]);
      ignorePromises(error);
    } catch {
      // A getter that throws, or data that cannot be stored: the rest is kept.
    }
    return undefined;
  };
  const text = (value: unknown) => typeof value === "string" ? errorText(value) : undefined;
  return { name: field("name", text) ?? "Error", code: field("code", text), data: field("data", storedData) };
}

/** The data of an error as it is stored; a text in its place says what was cut. */
function storedData(data: unknown): unknown {
  const stored = canonical(data, "the data of an error");
  const bytes = sizeOf(stored);
  if (bytes <= MAX_ERROR_DATA) return stored;
  return `[cut: data of ${bytes} bytes, at most ${MAX_ERROR_DATA} are kept]`;
}

const MAX_ERROR_DATA = 64 * 1024;
