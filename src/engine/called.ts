import type { RunCaller } from "../model/run.ts";
import { sha256Hex } from "../runtime/hash.ts";
import type { CatalogRow, Store } from "../store/store.ts";

/**
 * Runs that work for an execution of another run, as those of `Subgraph` do.
 *
 * 1. They are asked through their caller: their waits are in no inbox, expire only when the caller says so, and nothing
 *    but the caller wakes them. So an answer is accepted in one place, and counts from there.
 * 2. They end with the run of their caller at the latest: cancelling or purging that one finds them by a tag.
 */

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
