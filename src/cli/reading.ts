import { withActivity } from "../engine/activity.ts";
import { withAnswerable } from "../engine/change/answerable.ts";
import { CheckpointLog, type Cursor } from "../checkpoint/log.ts";
import { CheckpointNotFoundError } from "../errors.ts";
import { type InboxEntry, inboxOf } from "../engine/history.ts";
import { checkedRunId } from "../engine/options.ts";
import type { RunRecord } from "../model/run.ts";
import { systemRuntime } from "../runtime/system.ts";
import type { Store } from "../store/store.ts";
import { defined } from "../model/defined.ts";
import { rowsOf } from "../model/pages.ts";

/** The history of the runs in a store, whatever their graphs: reading it needs no code of theirs. */
export function logOf(store: Store): CheckpointLog<unknown> {
  return new CheckpointLog(store, systemRuntime);
}

/** What to read of a run. */
interface ReadOptions {
  /** Whether the state is decoded. @default true */
  readonly state?: boolean;
  /** @default the newest */
  readonly revision?: number;
}

/** A run as it is stored. */
export async function cursorOf(
  store: Store,
  runId: string,
  options: ReadOptions = {},
): Promise<Cursor<unknown>> {
  const { state = true, revision } = options;
  const log = logOf(store);
  checkedRunId(runId, "get");
  const cursor =
    await (revision === undefined ? log.load(runId, { state }) : log.at(runId, revision, { state }));
  if (cursor === undefined) throw new CheckpointNotFoundError(runId);
  return cursor;
}

/** The record of a run. */
export async function runRecord(store: Store, runId: string): Promise<RunRecord> {
  return (await cursorOf(store, runId, { state: false })).checkpoint.run;
}

/** Which open waits to read. */
interface OpenWaitsQuery {
  readonly run?: string;
  readonly name?: string;
  /** Only those of these graphs. */
  readonly graphs?: readonly string[] | undefined;
  readonly limit?: number;
  /** Whether a version of a graph is at hand; waits that cannot be answered without it are marked. */
  readonly has?: (graphId: string, graphVersion: string) => boolean;
}

/** Open waits, oldest first. */
export function openWaits(store: Store, query: OpenWaitsQuery): AsyncGenerator<InboxEntry> {
  const { run, name, graphs, limit = Infinity, has = () => true } = query;
  const runId = run === undefined ? undefined : checkedRunId(run, "waits");
  const fixed = defined({ runId, name, graphId: graphs?.length === 1 ? graphs[0] : undefined, limit: PAGE });
  return rowsOf(
    async (start) => {
      const page = inboxOf(await store.waits({ ...fixed, ...start }));
      return await withAnswerable(store, await withActivity(store, page, systemRuntime.now()), has);
    },
    (row) => graphs?.includes(row.graphId) ?? true,
    limit,
  );
}

const PAGE = 500;
