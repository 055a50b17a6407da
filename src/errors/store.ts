import { SuperstepError } from "./base.ts";

/** A run that the store does not hold. */
export class CheckpointNotFoundError extends SuperstepError {
  static readonly errorName: string = "CheckpointNotFoundError";
  override readonly code = "CHECKPOINT_NOT_FOUND";
  /** @param first The first revision that is kept, of a run whose history was cut. */
  constructor(readonly runId: string, readonly revision?: number, readonly first?: number) {
    super(
      revision === undefined
        ? `superstep: there is no run ${runId} in this store; check the id and the store's path`
        : first === undefined
        ? `superstep: run ${runId} has no revision ${revision}`
        : `superstep: run ${runId} has no revision ${revision} any more; its history is kept from ${first} on`,
      {
        runId,
        ...(revision === undefined ? {} : { revision }),
        ...(first === undefined ? {} : { first }),
      },
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
