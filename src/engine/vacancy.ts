import { RunBusyError } from "../errors.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { OwnerRow } from "../store/store.ts";
import type { FormerOwner } from "./coordinator.ts";
import type { Engine } from "./engine.ts";
import { LEASE_MS } from "./ownership.ts";

/**
 * Makes sure that nobody is at work on a run, and finds whom a write in its owner's place replaces: nobody, a dead owner
 * that must be gone, or, in a takeover, a living one.
 *
 * @throws {RunBusyError} a living process owns it
 */
export async function vacate<S>(
  engine: Engine<S>,
  checkpoint: Checkpoint,
  takeover = false,
): Promise<FormerOwner> {
  const { owner, runId } = checkpoint.run;
  const { ownership, runtime, store } = engine;
  if (owner === undefined) return {};
  const atWork = ownership.atWork(owner, runId).length > 0;
  if (atWork && !takeover) throw new RunBusyError(runId, owner);
  // An owner of this process that has no loop for the run any more has let it go without being able to say so.
  if (!atWork && ownership.isOwn(owner)) return {};
  const row = (await store.owners.list()).find((o) => o.ownerId === owner);
  if (row === undefined || row.buried) return { absent: owner };
  if (takeover) return { replaced: owner };
  if (isAlive(row, runtime.now())) throw new RunBusyError(runId, owner);
  if (!await store.owners.bury(owner, row.beatVersion)) throw new RunBusyError(runId, owner);
  return { absent: owner };
}

/** Whether an owner may still be at work. */
export function isAlive(owner: OwnerRow, now: number): boolean {
  return !owner.buried && now - owner.beatAt <= LEASE_MS;
}
