import type { CallOptions } from "./call_options.ts";
import type { Position } from "./position.ts";

/** Where a batch stands among what a run emitted. */
export interface EmitPlace {
  /** The revision of the head when it was added. */
  readonly revision: number;
  /** Tells the batches of one revision apart, in order. */
  readonly number: number;
}

/** Some of what bodies of a run emitted, encoded by the engine. */
export interface EmitBatch extends EmitPlace {
  /** At most 61 440. The engine writes at most 60 000; a store around a store may add a little. */
  readonly bytes: Uint8Array;
}

/** What is added to a channel, and what goes from it. */
export interface EmitsWrite {
  /** A batch of the revision of the head. */
  readonly batch?: EmitBatch | undefined;
  /** Batches that are kept no more. */
  readonly dropped?: readonly EmitPlace[] | undefined;
}

/**
 * A channel beside the records of a run, for what its bodies emit. It is no part of the history: batches are kept as long
 * as the engine says, and a store may do without the channel.
 *
 * Obligations, cited by tests as EMITS-1 to EMITS-4:
 *
 * 1. `add` is one atomic step and succeeds only while `at` is the head, so that a process that was replaced adds nothing.
 *    Otherwise it fails with `RevisionConflictError`, or `CheckpointNotFoundError` where there is no such run.
 * 2. A batch that is there already is added again without effect.
 * 3. `read` gives batches in order of revision and number, whichever process added them.
 * 4. No append and no trim touches them; a purge removes them, and a later run of the id sees none of them.
 */
export interface Emits {
  /** Adds a batch, and removes others. */
  add(runId: string, at: Position, write: EmitsWrite, options?: CallOptions): Promise<void>;
  /** At most `limit` batches of the run of that epoch, behind `after`. */
  read(
    runId: string,
    epoch: string,
    after: EmitPlace | undefined,
    limit: number,
    options?: CallOptions,
  ): Promise<readonly EmitBatch[]>;
}
