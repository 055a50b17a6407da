import { SuperstepError } from "./base.ts";

/** An argument of a call that cannot be meant. */
export class ArgumentError extends SuperstepError {
  static readonly errorName: string = "ArgumentError";
  override readonly code = "ARGUMENT";
  constructor(readonly op: string, problem: string) {
    super(`superstep: ${op}: ${problem}`, { op });
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
    super(`superstep: run ${runId} is ${status} and cannot be resumed; read it with get(runId)`, {
      runId,
      status,
    });
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
      `superstep: run ${runId} was begun under version ${short(actual)} of its graph, the code has ${
        short(expected)
      }: ` +
        `${difference}; ` +
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

/** A graph version for people: the beginning of its hash, and the user's part. */
function short(version: string): string {
  return version.replace(/^([0-9a-f]{8})[0-9a-f]+/, "$1");
}
