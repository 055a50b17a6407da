/**
 * The error family. Every error has a stable `code`, structured `fields` and, where there is one, a `cause`.
 * `instanceof` works within one copy of the package; {@link isSuperstepError} works across copies.
 */

const BRAND = Symbol.for("superstep.error");

/** The base of every error that superstep throws. */
export abstract class SuperstepError extends Error {
  /** A stable identifier, such as `RUN_BUSY`. */
  abstract readonly code: string;
  /** What the message is made of, for machines. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(message: string, fields: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    super(message, options);
    this.fields = fields;
    Object.defineProperty(this, BRAND, { value: true });
  }

  override get name(): string {
    return (this.constructor as unknown as { readonly errorName?: string }).errorName ?? "SuperstepError";
  }
}

/** Whether `error` is one of superstep's, whichever copy of the package made it; optionally of one code. */
export function isSuperstepError(error: unknown, code?: string): error is SuperstepError {
  return typeof error === "object" && error !== null && BRAND in error &&
    (code === undefined || (error as { code?: unknown }).code === code);
}

/** The text of anything thrown, without running user code that may throw again. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : typeof error === "string" ? error : String(error);
  } catch {
    return "an error without a readable message";
  }
}

// ---- build

/** A declaration that cannot become a graph. */
export class BuildError extends SuperstepError {
  static readonly errorName: string = "BuildError";
  override readonly code: string = "BUILD";
  constructor(
    readonly op: string,
    problem: string,
    fields: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(`superstep: ${op}: ${problem}`, { op, ...fields }, options);
  }
}

/** A vertex id that is bound already. */
export class DuplicateVertexError extends SuperstepError {
  static readonly errorName: string = "DuplicateVertexError";
  override readonly code = "DUPLICATE_VERTEX";
  constructor(readonly vertexId: string, places?: string) {
    super(
      `superstep: duplicate vertex ${vertexId}: it is bound already${
        places ? ` (${places})` : ""
      }; give one of them another id`,
      { vertexId, ...(places ? { places } : {}) },
    );
  }
}

/** A second condition on one vertex. */
export class DuplicateConditionalEdgeError extends SuperstepError {
  static readonly errorName: string = "DuplicateConditionalEdgeError";
  override readonly code = "DUPLICATE_CONDITIONAL_EDGE";
  constructor(readonly from: string) {
    super(`superstep: duplicate conditional edge for vertex ${from}; a vertex has at most one pick`, {
      from,
    });
  }
}

/** An id that no vertex of the graph has. */
export class UnknownVertexError extends SuperstepError {
  static readonly errorName: string = "UnknownVertexError";
  override readonly code = "UNKNOWN_VERTEX";
  constructor(readonly vertexId: string, where: string, closest?: string) {
    super(
      `superstep: unknown vertex ${JSON.stringify(vertexId)} in ${where}` +
        (closest === undefined ? "; add it or correct the id" : `; did you mean ${JSON.stringify(closest)}?`),
      { vertexId, where, ...(closest === undefined ? {} : { closest }) },
    );
  }
}

/** A vertex that no path from the entry reaches. */
export class UnreachableVertexError extends SuperstepError {
  static readonly errorName: string = "UnreachableVertexError";
  override readonly code = "UNREACHABLE_VERTEX";
  constructor(readonly vertexId: string) {
    super(
      `superstep: unreachable vertex ${vertexId}: no edge, target or error route leads to it from the entry; connect or remove it`,
      { vertexId },
    );
  }
}

/** A vertex with both static edges and a condition. */
export class AmbiguousRoutingError extends SuperstepError {
  static readonly errorName: string = "AmbiguousRoutingError";
  override readonly code = "AMBIGUOUS_ROUTING";
  constructor(readonly vertexId: string) {
    super(
      `superstep: ambiguous routing at vertex ${vertexId}: it has static edges and a condition; keep one of the two`,
      { vertexId },
    );
  }
}

/** A missing entry or finish. */
export class MissingEntryError extends SuperstepError {
  static readonly errorName: string = "MissingEntryError";
  override readonly code = "MISSING_ENTRY";
  constructor(readonly role: "entry" | "finish", readonly vertexId: string | undefined, closest?: string) {
    super(
      vertexId === undefined
        ? `superstep: the graph has no ${role}; mark one vertex with \`${role}: true\``
        : `superstep: the ${role} ${JSON.stringify(vertexId)} is not a vertex of the graph` +
          (closest === undefined
            ? "; add it or correct the id"
            : `; did you mean ${JSON.stringify(closest)}?`),
      { role, ...(vertexId === undefined ? {} : { vertexId }) },
    );
  }
}

/** Several faults of one build, all at once. */
export class BuildFaultsError extends SuperstepError {
  static readonly errorName: string = "BuildFaultsError";
  override readonly code = "BUILD_FAULTS";
  constructor(readonly faults: readonly Error[]) {
    super(`superstep: ${faults.length} faults:\n${faults.map((f) => `- ${f.message}`).join("\n")}`, {
      faults: faults.map((f) => f.message),
    }, { cause: faults[0] });
  }
}

// ---- vertices and waits

/** A vertex that failed, with the code that failed in it and the attempt it failed at. */
export class VertexError extends SuperstepError {
  static readonly errorName: string = "VertexError";
  override readonly code = "VERTEX";
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
        ` (step ${step}, attempt ${attempt}, vertex run ${vertexRunId}): ${messageOf(cause)}`,
      { vertexId, vertexRunId, step, attempt, phase, ...(item === undefined ? {} : { item }) },
      { cause },
    );
  }
}

/** Thrown by a task: never retried. */
export class FatalError extends SuperstepError {
  static readonly errorName: string = "FatalError";
  override readonly code = "FATAL";
  readonly data?: unknown;
  constructor(message: string, options?: ErrorOptions & { readonly data?: unknown }) {
    super(message, {}, options);
    if (options && "data" in options) this.data = options.data;
  }
}

/** Thrown by a task: the next attempt, if the policy allows one, begins after `delay`. */
export class RetryLater extends SuperstepError {
  static readonly errorName: string = "RetryLater";
  override readonly code = "RETRY_LATER";
  constructor(readonly delay: number | string, message?: string, options?: ErrorOptions) {
    super(message ?? `superstep: retry later, in ${delay}`, { delay }, options);
  }
}

/** An attempt or an execution took longer than its policy allows. */
export class VertexTimeoutError extends SuperstepError {
  static readonly errorName: string = "VertexTimeoutError";
  override readonly code = "VERTEX_TIMEOUT";
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
  static readonly errorName: string = "WaitExpiredError";
  override readonly code = "WAIT_EXPIRED";
  constructor(readonly waitName: string, readonly waitId: string) {
    super(`superstep: wait ${waitName} (${waitId}) expired before it was answered`, { waitName, waitId });
  }
}

/** A context used where it must not be: after its body settled, twice under one name, or for an undeclared wait. */
export class ContextError extends SuperstepError {
  static readonly errorName: string = "ContextError";
  override readonly code = "CONTEXT";
  constructor(problem: string, fields: Readonly<Record<string, unknown>> = {}) {
    super(`superstep: ${problem}`, fields);
  }
}

// ---- halts

/** A `pick` that threw. */
export class ConditionError extends SuperstepError {
  static readonly errorName: string = "ConditionError";
  override readonly code = "CONDITION";
  constructor(readonly from: string, cause: unknown) {
    super(`superstep: the pick of vertex ${from} failed: ${messageOf(cause)}; correct it and resume`, {
      from,
    }, { cause });
  }
}

/** A `pick` that returned nothing, or a target that was not declared. */
export class UndeclaredTargetError extends SuperstepError {
  static readonly errorName: string = "UndeclaredTargetError";
  override readonly code = "UNDECLARED_TARGET";
  constructor(readonly from: string, readonly target: string, declared: readonly string[]) {
    super(
      `superstep: the pick of vertex ${from} returned ` +
        (target === "" ? "an empty set of targets" : `the undeclared target ${JSON.stringify(target)}`) +
        `; it may return ${declared.join(", ")}`,
      { from, target, declared },
    );
  }
}

/** A run that drained without a finish vertex. */
export class DeadEndError extends SuperstepError {
  static readonly errorName: string = "DeadEndError";
  override readonly code = "DEAD_END";
  constructor(readonly step: number) {
    super(
      `superstep: nothing is left to run after step ${step} and no finish vertex has run; give the last vertices an edge`,
      {
        step,
      },
    );
  }
}

/** A run that used up its step budget. */
export class MaxStepsExceededError extends SuperstepError {
  static readonly errorName: string = "MaxStepsExceededError";
  override readonly code = "MAX_STEPS";
  constructor(readonly max: number, readonly step: number) {
    super(
      `superstep: the run has used its budget of ${max} steps; resume it with a larger maxSteps to go on`,
      { max, step },
    );
  }
}

/** A run halted by the engine itself: its processes died too often, or its code cannot load it. */
export class HaltError extends SuperstepError {
  static readonly errorName: string = "HaltError";
  override readonly code = "HALT";
  constructor(readonly kind: string, readonly step: number, message: string) {
    super(message, { kind, step });
  }
}

// ---- identity, store, ownership

/** A run that the store does not hold. */
export class CheckpointNotFoundError extends SuperstepError {
  static readonly errorName: string = "CheckpointNotFoundError";
  override readonly code = "CHECKPOINT_NOT_FOUND";
  constructor(readonly runId: string, readonly revision?: number) {
    super(
      revision === undefined
        ? `superstep: there is no run ${runId} in this store; check the id and the store's path`
        : `superstep: run ${runId} has no revision ${revision}`,
      { runId, ...(revision === undefined ? {} : { revision }) },
    );
  }
}

/** Stored bytes that are not what this engine wrote. */
export class CheckpointDecodeError extends SuperstepError {
  static readonly errorName: string = "CheckpointDecodeError";
  override readonly code = "CHECKPOINT_DECODE";
  constructor(readonly runId: string, readonly field: string, problem: string, options?: ErrorOptions) {
    super(`superstep: the checkpoint of run ${runId} cannot be read: ${field}: ${problem}`, {
      runId,
      field,
      problem,
    }, options);
  }
}

/** A record that does not follow the head. */
export class RevisionConflictError extends SuperstepError {
  static readonly errorName: string = "RevisionConflictError";
  override readonly code = "REVISION_CONFLICT";
  constructor(readonly runId: string, readonly expected: number, readonly actual: number) {
    super(
      `superstep: revision conflict on run ${runId}: the store needed revision ${expected} next, ${actual} was offered; ` +
        `another process has moved the run, read it again`,
      { runId, expected, actual },
    );
  }
}

/** A mailbox that changed since it was read. */
export class MailboxConflictError extends SuperstepError {
  static readonly errorName: string = "MailboxConflictError";
  override readonly code = "MAILBOX_CONFLICT";
  constructor(readonly runId: string) {
    super(`superstep: the mailbox of run ${runId} has changed since it was read`, { runId });
  }
}

/** A store that failed, or whose answer is not known. */
export class StoreError extends SuperstepError {
  static readonly errorName: string = "StoreError";
  override readonly code = "STORE";
  constructor(readonly op: string, problem: string, options?: ErrorOptions & { readonly runId?: string }) {
    super(
      `superstep: store ${op} failed${options?.runId ? ` for run ${options.runId}` : ""}: ${problem}`,
      { op, problem, ...(options?.runId ? { runId: options.runId } : {}) },
      options,
    );
  }
}

/** A run id that is taken by another run. */
export class RunExistsError extends SuperstepError {
  static readonly errorName: string = "RunExistsError";
  override readonly code = "RUN_EXISTS";
  constructor(readonly runId: string, difference: string) {
    super(
      `superstep: run ${runId} exists already with ${difference}; use another id, or start it with the same input`,
      {
        runId,
        difference,
      },
    );
  }
}

/** A run that a living process owns. */
export class RunBusyError extends SuperstepError {
  static readonly errorName: string = "RunBusyError";
  override readonly code = "RUN_BUSY";
  constructor(readonly runId: string, readonly owner: string) {
    super(`superstep: run ${runId} is at work in process ${owner}; wait for it, or claim it with takeover`, {
      runId,
      owner,
    });
  }
}

/** A process that has been replaced as the owner of its runs. */
export class OwnershipLostError extends SuperstepError {
  static readonly errorName: string = "OwnershipLostError";
  override readonly code = "OWNERSHIP_LOST";
  constructor(readonly runId: string, readonly owner: string) {
    super(
      `superstep: process ${owner} no longer owns run ${runId}: another one took it over; nothing was written`,
      {
        runId,
        owner,
      },
    );
  }
}

/** A call that ended before the run did; the run can be resumed. */
export class RunAbortedError extends SuperstepError {
  static readonly errorName: string = "RunAbortedError";
  override readonly code = "RUN_ABORTED";
  constructor(readonly runId: string, readonly revision: number, options?: ErrorOptions) {
    super(
      `superstep: the call was aborted at revision ${revision} of run ${runId}; resume the run to go on`,
      {
        runId,
        revision,
      },
      options,
    );
  }
}

/** A run that was cancelled; the reason of the signal that its bodies see. */
export class RunCancelledError extends SuperstepError {
  static readonly errorName: string = "RunCancelledError";
  override readonly code = "RUN_CANCELLED";
  constructor(readonly runId: string, readonly reason: string) {
    super(`superstep: run ${runId} was cancelled: ${reason}`, { runId, reason });
  }
}

/** A run whose deadline has passed; the reason of the signal that its bodies see. */
export class RunDeadlineError extends SuperstepError {
  static readonly errorName: string = "RunDeadlineError";
  override readonly code = "RUN_DEADLINE";
  constructor(readonly runId: string) {
    super(`superstep: the deadline of run ${runId} has passed`, { runId });
  }
}

/** A run that has ended. */
export class ResumeTerminalError extends SuperstepError {
  static readonly errorName: string = "ResumeTerminalError";
  override readonly code = "RESUME_TERMINAL";
  constructor(readonly runId: string, readonly status: string) {
    super(`superstep: run ${runId} is ${status} and cannot be resumed`, { runId, status });
  }
}

/** A run of another graph. */
export class GraphMismatchError extends SuperstepError {
  static readonly errorName: string = "GraphMismatchError";
  override readonly code = "GRAPH_MISMATCH";
  constructor(readonly runId: string, readonly expected: string, readonly actual: string) {
    super(
      `superstep: run ${runId} belongs to graph ${actual}, this runner serves ${expected}; use that graph's runner`,
      {
        runId,
        expected,
        actual,
      },
    );
  }
}

/** A run of another version of the graph. */
export class GraphVersionMismatchError extends SuperstepError {
  static readonly errorName: string = "GraphVersionMismatchError";
  override readonly code = "GRAPH_VERSION_MISMATCH";
  constructor(
    readonly runId: string,
    readonly expected: string,
    readonly actual: string,
    difference: string,
  ) {
    super(
      `superstep: run ${runId} was begun under version ${actual} of its graph, the code has ${expected}: ${difference}; ` +
        `resume it with the code it was begun with`,
      { runId, expected, actual, difference },
    );
  }
}

/** A checkpoint that names another run. */
export class GraphRunMismatchError extends SuperstepError {
  static readonly errorName: string = "GraphRunMismatchError";
  override readonly code = "GRAPH_RUN_MISMATCH";
  constructor(readonly requested: string, readonly actual: string) {
    super(
      `superstep: the checkpoint stored under run ${requested} names run ${actual}; the store has been tampered with`,
      {
        requested,
        actual,
      },
    );
  }
}

// ---- answers and values

/** Why an answer was not accepted. */
export type AnswerRefusal =
  | "unknown"
  | "foreign"
  | "closed"
  | "answered"
  | "expired"
  | "not_open"
  | "invalid"
  | "ambiguous";

/** An answer that was not accepted; nothing has changed. */
export class AnswerError extends SuperstepError {
  static readonly errorName: string = "AnswerError";
  override readonly code = "ANSWER";
  constructor(
    readonly reason: AnswerRefusal,
    readonly runId: string,
    readonly waitId: string | undefined,
    problem: string,
    readonly revision?: number,
    fields: Readonly<Record<string, unknown>> = {},
  ) {
    super(
      `superstep: the answer${
        waitId === undefined ? "" : ` to wait ${waitId}`
      } of run ${runId} was not accepted: ${problem}`,
      {
        reason,
        runId,
        ...(waitId === undefined ? {} : { waitId }),
        ...(revision === undefined ? {} : { revision }),
        ...fields,
      },
    );
  }
}

/** An input, state or answer that its schema refuses. */
export class ValidationError extends SuperstepError {
  static readonly errorName: string = "ValidationError";
  override readonly code = "VALIDATION";
  constructor(
    readonly what: string,
    readonly issues: readonly { readonly path: string; readonly message: string }[],
  ) {
    super(
      `superstep: ${what} does not satisfy its schema: ` +
        issues.map((i) => (i.path === "" ? i.message : `${i.path}: ${i.message}`)).join("; "),
      { what, issues },
    );
  }
}

/** A value that cannot be stored and read back equal. */
export class SerializationError extends SuperstepError {
  static readonly errorName: string = "SerializationError";
  override readonly code = "SERIALIZATION";
  constructor(
    readonly what: string,
    readonly path: string,
    readonly type: string,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(`superstep: ${what} cannot be stored: ${path === "" ? "the value" : path} is ${type}: ${problem}`, {
      what,
      path,
      type,
    }, options);
  }
}

/** A reducer that did what its draft does not allow. The state is as it was before. */
export class ReducerError extends SuperstepError {
  static readonly errorName: string = "ReducerError";
  override readonly code = "REDUCER";
  constructor(readonly what: string, problem: string, readonly path?: string, options?: ErrorOptions) {
    super(`superstep: ${what} ${problem}`, { what, ...(path === undefined ? {} : { path }) }, options);
  }
}

/** A state, output or record above its ceiling. */
export class StateSizeError extends SuperstepError {
  static readonly errorName: string = "StateSizeError";
  override readonly code = "STATE_SIZE";
  constructor(readonly what: string, readonly bytes: number, readonly max: number, readonly largest: string) {
    super(
      `superstep: ${what} takes ${bytes} bytes, at most ${max} are allowed; the largest field is ${largest}. ` +
        `Keep artifacts in a blob store and pass references, or raise maxStateBytes`,
      { what, bytes, max, largest },
    );
  }
}
