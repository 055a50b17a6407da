import type { CheckpointLog } from "../checkpoint/log.ts";
import { isSuperstepError } from "../errors.ts";
import type { TaskContext } from "../model/context.ts";
import type { RunCaller, RunRecord } from "../model/run.ts";
import { sha256Hex } from "../runtime/hash.ts";
import type { CatalogRow, Store } from "../store/store.ts";

/**
 * Runs that work for an execution of another run, as those of `Subgraph` do.
 *
 * 1. They are asked through their caller: their waits are in no inbox, expire only when the caller says so, and nothing
 *    but the caller wakes them. So an answer is accepted in one place, and counts from there.
 * 2. They end with the run of their caller at the latest: cancelling or purging that one finds them by a tag.
 * 3. Each of their records tells how far their callers were when it was written, so that a fork of a caller at a revision
 *    finds where they stood then. What a caller records of them, and what they get from it, is later than what it refers to.
 */

/** The newest revisions of a run that calls, of the one that called it, and so on. */
export type Callers = () => readonly number[];

/** Under this the context of a body tells its {@link Callers}; also to another copy of this package. */
export const CALLERS: unique symbol = Symbol.for("superstep.callers") as never;

/** How far callers are whom `caller` is the live context of; `undefined` for one that only names them. */
export function callersOf(caller: RunCaller | undefined): Callers | undefined {
  if (caller === undefined || !(CALLERS in caller)) return undefined;
  return () => caller[CALLERS] as readonly number[];
}

/** Keeps the caller of a run from being suspended while `work` for it goes on, where `caller` is its live context. */
export function heldBy<T>(caller: RunCaller | undefined, work: Promise<T>): Promise<T> {
  if (callersOf(caller) !== undefined) (caller as Partial<TaskContext>).hold?.(work.catch(() => {}));
  return work;
}

/** How far the callers of a run are by what is stored of them: for work that no live context of theirs has asked for. */
export async function storedCallers<S>(log: CheckpointLog<S>, caller: RunCaller): Promise<readonly number[]> {
  const revisions: number[] = [];
  for (let next: RunCaller | undefined = caller; next !== undefined && revisions.length < DEEPEST;) {
    try {
      const run: RunRecord | undefined = (await log.load(next.runId, { state: false }))?.checkpoint.run;
      if (run === undefined) break;
      revisions.push(run.revision);
      next = run.caller;
    } catch (error) {
      // A caller that is damaged is for those who work on it; this run can go on.
      if (!isSuperstepError(error, "CHECKPOINT_DECODE")) throw error;
      break;
    }
  }
  return revisions;
}

/** Only records that nobody of this package wrote go on for ever. */
const DEEPEST = 100;

/** The caller, without whatever else the context of a body holds. */
export function callerOf({ graphId, runId, vertexId, item }: RunCaller): RunCaller {
  return { graphId, runId, vertexId, ...(item === undefined ? {} : { item }) };
}

/** The tag of the runs that work for a run. */
export function calledTag(runId: string): string {
  const tag = `${CALLED_BY}${runId}`;
  return tag.length <= LONGEST_TAG ? tag : `${CALLED_BY}${sha256Hex(runId)}`;
}

/** Whether a tag is one of those that find the runs that work for another one. */
export function isCalledTag(tag: string): boolean {
  return tag.startsWith(CALLED_BY);
}

const CALLED_BY = "called-by:";

const LONGEST_TAG = 128;

/** The runs that work for a run, of whatever graph. */
export async function* calledBy(store: Store, runId: string): AsyncIterable<CatalogRow> {
  let cursor: string | undefined;
  do {
    const page = await store.list({
      tag: calledTag(runId),
      ...(cursor === undefined ? {} : { cursor }),
    });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
