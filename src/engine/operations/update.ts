import type { Cursor } from "../../checkpoint/log.ts";
import type { RecordEvent } from "../../checkpoint/records.ts";
import { revise } from "../../checkpoint/revise.ts";
import { CONFLICTS, isSuperstepError, RunBusyError } from "../../errors.ts";
import { storedCallers } from "../child_runs.ts";
import { runTime } from "../run_time.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { notify } from "../events.ts";
import type { Loader } from "../loader.ts";
import { checkedRunId } from "../options.ts";
import { changedMaps, edited, type StateEdit } from "./edit.ts";

/**
 * Replaces the state with which the current step of an unowned run began, by a record of its own.
 *
 * 1. Outcomes that are recorded stand, and are folded over the new state; whatever runs again selects from it.
 * 2. Waits stay open under their ids, and accepted answers stay accepted: items of which such are recorded stay as they are.
 * 3. A claim and an update at one instant are one after the other: whoever is second finds what the first has made.
 */
export async function updateRun<S>(
  deps: RunnerDeps<S>,
  loader: Loader<S>,
  runId: string,
  edit: StateEdit<S>,
): Promise<Cursor<S>> {
  checkedRunId(runId, "update");
  for (;;) {
    const cursor = await loader.load(runId, { unfinished: true });
    const { owner } = cursor.checkpoint.run;
    if (owner !== undefined) throw new RunBusyError(runId, owner);
    const next = edited(cursor.state, edit, deps.rules, "update");
    if (next.patch === undefined) return cursor;
    try {
      return await record(deps, cursor, { state: next.value, patch: next.patch });
    } catch (error) {
      if (!isSuperstepError(error, ...CONFLICTS)) throw error;
    }
  }
}

async function record<S>(
  deps: RunnerDeps<S>,
  cursor: Cursor<S>,
  next: NonNullable<Parameters<typeof revise<S>>[4]["next"]>,
): Promise<Cursor<S>> {
  const { graph, log, runtime } = deps;
  const { checkpoint: before, mailbox } = cursor;
  const at = runTime(runtime, before.run);
  const states = { before: cursor.state, after: next.state };
  const maps = changedMaps(graph, before, states, "update", (x) => x.once.size > 0 || x.waits.size > 0);
  const events: readonly RecordEvent[] = [{ type: "updated", ...(maps.length === 0 ? {} : { maps }) }];
  // A paused run has something to run then.
  const wake = maps.length > 0 && before.phase === "paused" ? 0 : mailbox.content.wake;
  const callers = before.run.caller && await storedCallers(log, before.run.caller);
  const updated = await revise(log, cursor, at, events, { next, wake, callers });
  const { runId, revision, step } = updated.checkpoint.run;
  notify(deps.hooks, deps.logger, { type: "checkpoint", runId, revision, step, at });
  if (maps.length > 0) deps.ownership.poke(runId);
  return updated;
}
