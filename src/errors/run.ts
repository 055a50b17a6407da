import { messageOf, SuperstepError } from "./base.ts";

/** An argument of a call that cannot be meant. */
export class ArgumentError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "ArgumentError";
  /** The stable code. */
  override readonly code = "ARGUMENT";
  /** `op`: the method that was called. */
  constructor(readonly op: string, problem: string) {
    super(`superstep: ${op}: ${problem}`, { op });
  }
}

/** A run id that is taken by another run. */
export class RunExistsError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "RunExistsError";
  /** The stable code. */
  override readonly code = "RUN_EXISTS";
  /** `runId`: the id that is taken; `fields.difference` says by what. */
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
  /** @internal */
  static readonly errorName: string = "RunBusyError";
  /** The stable code. */
  override readonly code = "RUN_BUSY";
  /** `owner`: the id of the process that is at work on `runId`. */
  constructor(readonly runId: string, readonly owner: string) {
    super(`superstep: run ${runId} is at work in process ${owner}; wait for it, or claim it with takeover`, {
      runId,
      owner,
    });
  }
}

/** A process that has been replaced as the owner of its runs. */
export class OwnershipLostError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "OwnershipLostError";
  /** The stable code. */
  override readonly code = "OWNERSHIP_LOST";
  /** `owner`: the id of the process that owned `runId` before; `cause`: why it does not, unless another one took it over. */
  constructor(readonly runId: string, readonly owner: string, cause?: unknown) {
    super(
      `superstep: process ${owner} no longer owns run ${runId}: ${
        cause === undefined ? "another one took it over" : messageOf(cause)
      }; nothing was written`,
      { runId, owner },
      cause === undefined ? {} : { cause },
    );
  }
}

/** A call that ended before the run did; the run can be resumed. */
export class RunAbortedError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "RunAbortedError";
  /** The stable code. */
  override readonly code = "RUN_ABORTED";
  /**
   * `revision`: the newest one of `runId`, or -1 when nothing had been read; the cause is the reason of the
   * signal.
   */
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
  /** @internal */
  static readonly errorName: string = "RunCancelledError";
  /** The stable code. */
  override readonly code = "RUN_CANCELLED";
  /** `reason`: as given to `cancel`. */
  constructor(readonly runId: string, readonly reason: string) {
    super(`superstep: run ${runId} was cancelled: ${reason}; start another run to do it again`, {
      runId,
      reason,
    });
  }
}

/** A run whose deadline has passed; the reason of the signal that its bodies see. */
export class RunDeadlineError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "RunDeadlineError";
  /** The stable code. */
  override readonly code = "RUN_DEADLINE";
  /** `runId`: the run that is cancelled. */
  constructor(readonly runId: string) {
    super(
      `superstep: the deadline of run ${runId} has passed, it is cancelled; start one with a later deadline`,
      { runId },
    );
  }
}

/** A run that has ended. */
export class ResumeTerminalError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "ResumeTerminalError";
  /** The stable code. */
  override readonly code = "RESUME_TERMINAL";
  /** `status`: what `runId` has come to. */
  constructor(readonly runId: string, readonly status: string) {
    super(`superstep: run ${runId} is ${status} and cannot be resumed; read it with get(runId)`, {
      runId,
      status,
    });
  }
}

/** A run of another graph. */
export class GraphMismatchError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "GraphMismatchError";
  /** The stable code. */
  override readonly code = "GRAPH_MISMATCH";
  /** `expected`: the runner's graph; `actual`: the graph of `runId`. */
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
  /** @internal */
  static readonly errorName: string = "GraphVersionMismatchError";
  /** The stable code. */
  override readonly code = "GRAPH_VERSION_MISMATCH";
  /**
   * `expected`: the version of the code; `actual`: that of `runId`; `fields.difference` names what differs
   * first, and `thrown` says what user code threw over it.
   */
  constructor(
    readonly runId: string,
    readonly expected: string,
    readonly actual: string,
    difference: string,
    thrown?: string,
  ) {
    super(
      `superstep: run ${runId} was begun under version ${short(actual)} of its graph, the code has ${
        short(expected)
      }: ` +
        `${difference}${thrown === undefined ? "" : `: ${thrown}`}; ` +
        `resume it with the code it was begun with`,
      { runId, expected, actual, difference },
    );
  }
}

/** A checkpoint that names another run. */
export class GraphRunMismatchError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "GraphRunMismatchError";
  /** The stable code. */
  override readonly code = "GRAPH_RUN_MISMATCH";
  /** `requested`: the run that was read; `actual`: the run that its checkpoint names. */
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

/** A migration that cannot be carried out for a run; nothing of the run has changed. */
export class MigrationError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "MigrationError";
  /** The stable code. */
  override readonly code = "MIGRATION";
  /** `from`: the user version that the migration leads on from; `runId`: the run; the cause is what was thrown. */
  constructor(readonly runId: string, readonly from: number, problem: string, options?: ErrorOptions) {
    super(
      `superstep: run ${runId} cannot be migrated from version ${from} to ${
        from + 1
      }: ${problem}; mend the migration ` +
        "and resume the run",
      { runId, from, problem },
      options,
    );
  }
}
