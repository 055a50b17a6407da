import type { Cursor } from "../../checkpoint/log.ts";
import type { RecordEvent, Split, WaitClosed } from "../../checkpoint/records.ts";
import { revise } from "../../checkpoint/revise.ts";
import { isSuperstepError, RunBusyError } from "../../errors.ts";
import type { Checkpoint } from "../../model/checkpoint.ts";
import { storedCallers } from "../called.ts";
import { runTime } from "../run_time.ts";
import type { Engine } from "../engine.ts";
import { notify } from "../events.ts";
import type { Loader } from "../loader.ts";
import { checkedRunId } from "../options.ts";
import { closings } from "../step.ts";
import { changedMaps, edited, type StateEdit } from "./edit.ts";

/**
 * Replaces the state with which the current step of an unowned run began, by a record of its own.
 *
 * 1. Outcomes that are recorded stand, and are folded over the new state; whatever runs again selects from it.
 * 2. Waits stay open under their ids, and accepted answers stay accepted. Only items that a map has no more lose theirs.
 * 3. A claim and an update at one instant are one after the other: whoever is second finds what the first has made.
 */
export async function updateRun<S>(
  engine: Engine<S>,
  loader: Loader<S>,
  runId: string,
  edit: StateEdit<S>,
): Promise<Cursor<S>> {
  checkedRunId(runId, "update");
  for (;;) {
    const cursor = await loader.load(runId, { unfinished: true });
    const { owner } = cursor.checkpoint.run;
    if (owner !== undefined) throw new RunBusyError(runId, owner);
    const next = edited(cursor.state, edit, engine.rules, "update");
    if (next.patch === undefined) return cursor;
    try {
      return await record(engine, cursor, { state: next.value, patch: next.patch });
    } catch (error) {
      if (!isSuperstepError(error, "REVISION_CONFLICT") && !isSuperstepError(error, "MAILBOX_CONFLICT")) {
        throw error;
      }
    }
  }
}

async function record<S>(
  engine: Engine<S>,
  cursor: Cursor<S>,
  next: NonNullable<Parameters<typeof revise<S>>[4]["next"]>,
): Promise<Cursor<S>> {
  const { graph, log, runtime } = engine;
  const { checkpoint: before, mailbox } = cursor;
  const at = runTime(runtime, before.run);
  const maps = changedMaps(graph, before, next.state, "update");
  const events: readonly RecordEvent[] = maps.length === 0
    ? [{ type: "updated" }]
    : [...goneItems(before, maps), { type: "updated", maps }];
  // A paused run has something to run then.
  const wake = maps.length > 0 && before.phase === "paused" ? 0 : mailbox.content.wake;
  const callers = before.run.caller && await storedCallers(log, before.run.caller);
  const updated = await revise(log, cursor, at, events, { next, wake, callers });
  const { runId, revision, step } = updated.checkpoint.run;
  notify(engine.hooks, engine.logger, { type: "checkpoint", runId, revision, step, at });
  if (maps.length > 0) engine.ownership.poke(runId);
  return updated;
}

/** What closes the waits of items that there are no more. */
function goneItems(checkpoint: Checkpoint, maps: readonly Split[]): readonly WaitClosed[] {
  const counts = new Map(maps.map(({ vertexId, count }) => [vertexId, count]));
  return closings(checkpoint, (x) => (x.item ?? -1) >= (counts.get(x.vertexId) ?? Infinity), "superseded");
}
