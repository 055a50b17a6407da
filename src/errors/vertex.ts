import { SuperstepError, userFault } from "./base.ts";

/** A vertex that failed, with the code that failed in it and the attempt it failed at. */
export class VertexError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "VertexError";
  /** The stable code. */
  override readonly code = "VERTEX";
  /** `phase`: the user code that failed; `attempt`: from 1; the cause is what was thrown. */
  constructor(
    readonly vertexId: string,
    readonly vertexRunId: string,
    readonly step: number,
    readonly attempt: number,
    readonly phase: string,
    cause: unknown,
    readonly item?: number,
  ) {
    super(
      `superstep: vertex ${vertexId}${item === undefined ? "" : ` item ${item}`} failed in ${phase}` +
        ` (step ${step}, attempt ${attempt}, vertex run ${vertexRunId}): ${userFault(cause)}`,
      { vertexId, vertexRunId, step, attempt, phase, ...(item === undefined ? {} : { item }) },
      { cause },
    );
  }
}

/**
 * Thrown by a task: never retried.
 *
 * @example
 * ```ts
 * @Retry({ maxAttempts: 5 })
 * class Charge {
 *   execute(sum: number): void {
 *     if (sum <= 0) throw new FatalError(`nothing to charge: ${sum}`, { data: { sum } });
 *   }
 * }
 * ```
 */
export class FatalError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "FatalError";
  /** The stable code. */
  override readonly code = "FATAL";
  /** Storable data about the failure; `record` and `failure.data` have it. */
  readonly data?: unknown;
  /** `options.data`: storable data for `record` and for whoever reads the failure. */
  constructor(message: string, options?: ErrorOptions & { readonly data?: unknown }) {
    super(message, {}, options);
    if (options && "data" in options) this.data = options.data;
  }
}

/**
 * Thrown by a task: the next attempt, if the policy allows one, begins after `delay`, in milliseconds or as a text such as
 * `"30s"`.
 *
 * @example
 * ```ts
 * @Retry({ maxAttempts: 5, backoff: { initial: "1s" } })
 * class Download {
 *   async execute(url: string): Promise<string> {
 *     const response = await fetch(url);
 *     if (response.status === 429) throw new RetryLater("30s", `${url} is busy`);
 *     return await response.text();
 *   }
 * }
 * ```
 */
export class RetryLater extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "RetryLater";
  /** The stable code. */
  override readonly code = "RETRY_LATER";
  /** Storable data about the failure; `record` and `failure.data` have it. */
  readonly data?: unknown;
  /** `delay`: milliseconds, or a text such as `"30s"`; `options.data`: storable data about the failure. */
  constructor(
    readonly delay: number | `${number}${string}`,
    message?: string,
    options?: ErrorOptions & { readonly data?: unknown },
  ) {
    super(message ?? `superstep: retry later, in ${delay}`, { delay }, options);
    if (options && "data" in options) this.data = options.data;
  }
}

/** An attempt or an execution took longer than its policy allows. */
export class VertexTimeoutError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "VertexTimeoutError";
  /** The stable code. */
  override readonly code = "VERTEX_TIMEOUT";
  /** `ms`: the limit of one attempt, or of all attempts together. */
  constructor(readonly vertexId: string, readonly scope: "attempt" | "total", readonly ms: number) {
    super(
      `superstep: vertex ${vertexId} timed out: ${
        scope === "attempt" ? "one attempt" : "all attempts together"
      } took longer than ${ms} ms`,
      { vertexId, scope, ms },
    );
  }
}

/** A wait whose deadline passed before an answer came. */
export class WaitExpiredError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "WaitExpiredError";
  /** The stable code. */
  override readonly code = "WAIT_EXPIRED";
  /** `waitName`: the name of the wait; `waitId`: the id of its opening. */
  constructor(readonly waitName: string, readonly waitId: string) {
    super(`superstep: wait ${waitName} (${waitId}) expired before it was answered`, { waitName, waitId });
  }
}

/** A context used where it must not be: after its body settled, twice under one name, or for an undeclared wait. */
export class ContextError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "ContextError";
  /** The stable code. */
  override readonly code = "CONTEXT";
  /** Says what was done and what to do instead. */
  constructor(problem: string, fields: Readonly<Record<string, unknown>> = {}) {
    super(`superstep: ${problem}`, fields);
  }
}
