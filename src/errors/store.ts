import { isSuperstepError, SuperstepError } from "./base.ts";

/** A run that the store does not hold. */
export class CheckpointNotFoundError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "CheckpointNotFoundError";
  /** The stable code. */
  override readonly code = "CHECKPOINT_NOT_FOUND";
  /** `revision`: the one that was asked for; `first`: the first one that is kept, where the history was cut. */
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
  /** @internal */
  static readonly errorName: string = "CheckpointDecodeError";
  /** The stable code. */
  override readonly code = "CHECKPOINT_DECODE";
  /** `field`: the part of the checkpoint of `runId` that cannot be read. */
  constructor(readonly runId: string, readonly field: string, problem: string, options?: ErrorOptions) {
    super(
      `superstep: the checkpoint of run ${runId} cannot be read: ${field}: ${problem}; run the code that wrote it, or ` +
        "restore the store",
      {
        runId,
        field,
        problem,
      },
      options,
    );
  }
}

/** A stored value that is not the one that was written there, or that cannot be decrypted here. */
export class IntegrityError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "IntegrityError";
  /** The stable code. */
  override readonly code = "INTEGRITY";
  /** `slot`: what the value is, its run, and which one of that run. */
  constructor(slot: readonly [kind: string, runId: string, ...which: (string | number)[]], problem: string) {
    const [kind, runId, ...which] = slot;
    super(`superstep: run ${runId}: its ${[kind, ...which].join(" ")} cannot be trusted: ${problem}`, {
      kind,
      runId,
      which,
      problem,
    });
  }
}

/** The codes of faults of what is stored of a run, whoever reads it. */
export const UNREADABLE: readonly string[] = ["CHECKPOINT_DECODE", "INTEGRITY"];

/** A record that does not follow the head. */
export class RevisionConflictError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "RevisionConflictError";
  /** The stable code. */
  override readonly code = "REVISION_CONFLICT";
  /** `expected`: the revision that would have followed; `actual`: the one that was offered. */
  constructor(readonly runId: string, readonly expected: number, readonly actual: number) {
    super(
      `superstep: revision conflict on run ${runId}: the store needed revision ${expected} next, ${actual} was offered; ` +
        `another process has moved the run, read it again`,
      { runId, expected, actual },
    );
  }
}

/** The codes of faults of a write that say that somebody else was first. */
export const CONFLICTS: readonly string[] = ["REVISION_CONFLICT", "MAILBOX_CONFLICT"];

/** A mailbox that changed since it was read. */
export class MailboxConflictError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "MailboxConflictError";
  /** The stable code. */
  override readonly code = "MAILBOX_CONFLICT";
  /** `runId`: the run whose mailbox was to be set. */
  constructor(readonly runId: string) {
    super(`superstep: the mailbox of run ${runId} has changed since it was read; read it again`, { runId });
  }
}

/** A cell that changed since it was read. */
export class CellConflictError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "CellConflictError";
  /** The stable code. */
  override readonly code = "CELL_CONFLICT";
  /** `space`, `cell`: where the first one is that has not the version demanded; `runId`: whose append or post demanded it. */
  constructor(readonly space: string, readonly cell: string, readonly runId?: string) {
    super(`superstep: the cell ${space} ${cell} has changed since it was read; read it again`, {
      space,
      cell,
      ...(runId === undefined ? {} : { runId }),
    });
  }
}

/** A store that failed, or whose answer is not known. */
export class StoreError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "StoreError";
  /** The stable code. */
  override readonly code = "STORE";
  /**
   * `op`: the call of the store that failed; `layout`: that of the data, where this version of superstep has none such;
   * `lost`: the data are no longer where they were opened.
   */
  constructor(
    readonly op: string,
    problem: string,
    options: ErrorOptions & { readonly runId?: string; readonly layout?: number; readonly lost?: true } = {},
  ) {
    const { runId, layout, lost } = options;
    super(
      `superstep: store ${op} failed${runId ? ` for run ${runId}` : ""}: ${problem}`,
      {
        op,
        problem,
        ...(runId ? { runId } : {}),
        ...(layout === undefined ? {} : { layout }),
        ...(lost ? { lost } : {}),
      },
      options,
    );
  }
}

/** Whether this process can do nothing more with a store: a newer version of superstep changed it, or its data are gone. */
export function isStoreOver(error: unknown): boolean {
  return isSuperstepError(error, "STORE") && (error.fields["layout"] ?? error.fields["lost"]) !== undefined;
}
