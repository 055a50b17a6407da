import { ArgumentError, GraphMismatchError, isSuperstepError, reasonOf, UNREADABLE } from "../../errors.ts";
import type { Duration } from "../../model/durations.ts";
import { defined } from "../../model/defined.ts";
import { rowsOf } from "../../model/pages.ts";
import type { InterruptReason, RunRecord, RunStatus } from "../../model/run.ts";
import { calledBy } from "../child_runs.ts";
import type { Position, Store } from "../../store/store.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { checkedRunId, span } from "../options.ts";
import { cancelRun } from "./cancel.ts";

/** Which runs of a graph to purge. Every field given must hold. */
export interface PurgeQuery {
  /** This run alone. */
  readonly runId?: string;
  /** Runs of this status. */
  readonly status?: RunStatus;
  /** Runs that are interrupted for this reason. */
  readonly reason?: InterruptReason;
  /** Runs with this tag. */
  readonly tag?: string;
  /** Runs of which nothing was recorded for so long, or since a date. @default whenever */
  readonly olderThan?: Duration | Date;
  /** Whether runs that are not over are cancelled and purged, too. @default false */
  readonly force?: boolean;
}

/**
 * Removes runs with everything of them; answers how many.
 *
 * 1. Only a run that is over is removed, and only the one that was found over: a run begun anew under its id is another.
 * 2. Each run is removed by itself. One that was left in the middle is gone for every reader, and whoever purges next, begins
 *    it anew or sweeps the store removes the rest.
 */
export async function purgeRuns<S>(deps: RunnerDeps<S>, query: PurgeQuery): Promise<number> {
  const { runId, status, reason, force = false } = query;
  if (!force && (status === "running" || status === "interrupted" || reason !== undefined)) {
    throw new ArgumentError(
      "purge",
      "runs that are not over are asked for; give `force` to cancel them first",
    );
  }
  const until = untilOf(query, deps.runtime.now());
  if (runId !== undefined) {
    checkedRunId(runId, "purge");
    return await purgeOne(deps, runId, query, until) ? 1 : 0;
  }
  let purged = 0;
  for await (const id of matching(deps, query)) {
    try {
      if (await purgeOne(deps, id, query, until)) purged++;
    } catch (error) {
      // One run that is damaged keeps none of the others.
      if (!isSuperstepError(error, ...UNREADABLE)) throw error;
      const message = `superstep: run ${id} was not purged; give \`force\` to remove it unread: ${
        reasonOf(error)
      }`;
      deps.logger.warn(message, { runId: id });
    }
  }
  return purged;
}

function untilOf({ olderThan }: PurgeQuery, now: number): number {
  if (olderThan === undefined) return Infinity;
  if (!(olderThan instanceof Date)) return now - span(olderThan, 0, "purge", "olderThan");
  if (Number.isNaN(olderThan.getTime())) throw new ArgumentError("purge", "olderThan is no date");
  return olderThan.getTime();
}

/** The runs of the catalog that may be asked for; each is judged again by its own record. */
async function* matching<S>({ store, graph }: RunnerDeps<S>, query: PurgeQuery): AsyncIterable<string> {
  const { status, reason, tag, force } = query;
  const statuses = status !== undefined ? [status] : force === true ? [undefined] : OVER;
  for (const status of statuses) {
    const query = defined({ graphId: graph.id, status, reason, tag });
    for await (const row of rowsOf((start) => store.list({ ...query, ...start }))) yield row.runId;
  }
}

const OVER: readonly RunStatus[] = ["completed", "cancelled"];

async function purgeOne<S>(
  deps: RunnerDeps<S>,
  runId: string,
  query: PurgeQuery,
  until: number,
): Promise<boolean> {
  const { store } = deps;
  const found = await find(deps, runId, query);
  if (found === undefined) {
    // It may have been left in the middle, or be a fork of which only what works for it was stored.
    await purgeAllCalled(deps, runId);
    await store.purge(runId);
    return false;
  }
  const { run, epoch } = found;
  if (run !== undefined) {
    if (run.graphId !== deps.graph.id) throw new GraphMismatchError(runId, deps.graph.id, run.graphId);
    if (!fits(run, query, until)) return false;
    if (!OVER.includes(run.status)) {
      if (query.force !== true) {
        if (query.runId === undefined) return false;
        throw new ArgumentError("purge", `run ${runId} is ${run.status}; cancel it first, or give \`force\``);
      }
      if (!await cancelled(deps, runId)) return false;
    }
  }
  // They would be taken for the work of a run that is begun anew under this id.
  await purgeAllCalled(deps, runId);
  await store.purge(runId, epoch === undefined ? {} : { epoch });
  return true;
}

async function purgeAllCalled<S>(deps: RunnerDeps<S>, runId: string): Promise<void> {
  for await (const row of calledBy(deps.store, runId)) await purgeCalled(deps, row.runId);
}

/** Removes a run that works for one that is over, and those that work for it. */
export async function purgeCalled<S>(deps: RunnerDeps<S>, runId: string): Promise<void> {
  await cancelRun(deps, runId, "purged");
  await purgeAllCalled(deps, runId);
  await deps.store.purge(runId);
}

/** The run with its record, or without one when that cannot be read and force is given. */
async function find<S>(
  { log, store }: RunnerDeps<S>,
  runId: string,
  { force }: PurgeQuery,
): Promise<{ readonly run: RunRecord | undefined; readonly epoch: string | undefined } | undefined> {
  try {
    const cursor = await log.load(runId, { state: false });
    return cursor && { run: cursor.checkpoint.run, epoch: cursor.position.epoch };
  } catch (error) {
    if (force !== true || !isSuperstepError(error, ...UNREADABLE)) throw error;
    return { run: undefined, epoch: (await positionOf(store, runId))?.epoch };
  }
}

/** Where a run is whose records cannot be read; `undefined` also when nothing of it can be. */
async function positionOf(store: Store, runId: string): Promise<Position | undefined> {
  try {
    return (await store.inspect(runId, 0, undefined)).head?.position;
  } catch (error) {
    if (!isSuperstepError(error, ...UNREADABLE)) throw error;
    return undefined;
  }
}

function fits(run: RunRecord, { status, reason, tag }: PurgeQuery, until: number): boolean {
  return (status ?? run.status) === run.status && (reason ?? run.reason) === run.reason &&
    (tag === undefined || run.tags.includes(tag)) && run.updatedAt <= until;
}

/** Cancels a run; false when it is gone. */
async function cancelled<S>(deps: RunnerDeps<S>, runId: string): Promise<boolean> {
  try {
    await cancelRun(deps, runId, "purged");
    return true;
  } catch (error) {
    if (isSuperstepError(error, "CHECKPOINT_NOT_FOUND")) return false;
    throw error;
  }
}
