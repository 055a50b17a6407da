import type { EventOf } from "../../checkpoint/records.ts";
import { CONFLICTS, isSuperstepError } from "../../errors.ts";
import { calledBy } from "../child_runs.ts";
import { purgeCalled } from "./purge.ts";
import type { RunnerDeps } from "../runner_deps.ts";

/**
 * Removes a run that worked for another one of its caller's id, or a fork that stands in the way of a start: one that was made for the very execution which starts the run, with
 * another input than it selects now, and in which nothing has been done. Whoever edited the state of the fork of the caller
 * wants it begun anew.
 *
 * @returns Whether the start can be tried again.
 */
export async function removeStaleFork<S>(
  deps: RunnerDeps<S>,
  created: EventOf<"created">,
  conflict: unknown,
): Promise<boolean> {
  const { runId, graphId, inputDigest, caller } = created;
  if (caller === undefined || !isSuperstepError(conflict, ...CONFLICTS)) return false;
  const found = await deps.log.load(runId, { state: false });
  if (found === undefined) return false;
  const { run } = found.checkpoint;
  const { epoch } = run.caller ?? {};
  if (epoch !== undefined && caller.epoch !== undefined && epoch !== caller.epoch) {
    // It works for a run that had the id of this caller before.
    await purgeCalled(deps, runId);
    return true;
  }
  const isInTheWay = run.revision === 0 && run.parent !== undefined && run.caller?.runId === caller.runId &&
    run.graphId === graphId && run.inputDigest !== inputDigest;
  if (!isInTheWay) return false;
  await sweepCalled(deps, runId);
  await deps.store.purge(runId, { epoch: found.position.epoch });
  return true;
}

/** Nothing has been done in a run that works for one in which nothing has. */
async function sweepCalled<S>(deps: RunnerDeps<S>, runId: string): Promise<void> {
  for await (const row of calledBy(deps.store, runId)) {
    await sweepCalled(deps, row.runId);
    await deps.store.purge(row.runId);
  }
}
