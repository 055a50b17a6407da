import type { Ownership } from "../../checkpoint/cursor.ts";
import { digest } from "../../checkpoint/digest.ts";
import type { CheckpointLog } from "../../checkpoint/log.ts";
import type { EventOf } from "../../checkpoint/records.ts";
import { CONFLICTS, isSuperstepError, RunExistsError } from "../../errors.ts";
import type { Checkpoint } from "../../model/checkpoint.ts";

/**
 * Stores revision 0 of a fork, or finds that it is there.
 *
 * @throws {RunExistsError} the id is taken by another run
 */
export async function beginFork<S>(
  log: CheckpointLog<S>,
  checkpoint: Checkpoint,
  event: EventOf<"forked">,
  state: S,
  write: Ownership,
): Promise<void> {
  const { runId, inputDigest, parent, caller } = checkpoint.run;
  try {
    await log.begin(checkpoint, [event], state, write);
  } catch (conflict) {
    if (!isSuperstepError(conflict, ...CONFLICTS)) throw conflict;
    const found = (await log.load(runId, { state: false }))?.checkpoint;
    if (found === undefined) throw conflict;
    const { run } = found;
    const isSame = run.inputDigest === inputDigest && run.parent?.runId === parent?.runId &&
      run.parent?.revision === parent?.revision && run.caller?.runId === caller?.runId;
    // What works for a fork may differ in the answers that were handed down to it.
    if (!isSame || (caller !== undefined && run.revision === 0 && !areSame(found, checkpoint))) {
      throw new RunExistsError(runId, "another beginning, and is not this fork");
    }
  }
}

function areSame(one: Checkpoint, other: Checkpoint): boolean {
  return digest(one.executions) === digest(other.executions);
}
