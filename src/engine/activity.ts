import { defaultCodec } from "../checkpoint/codec.ts";
import type { Cursor } from "../checkpoint/log.ts";
import { decodeMailbox, type Mailbox } from "../checkpoint/mailbox.ts";
import { isSuperstepError, UNREADABLE } from "../errors.ts";
import { defined } from "../model/defined.ts";
import type { InterruptReason, RunStatus } from "../model/run.ts";
import type { CatalogQuery, CatalogRow, Page, Store } from "../store/store.ts";
import type { InboxEntry } from "./history.ts";
import { type Fleet, fleetOf } from "./workers.ts";

/**
 * What becomes of a run that is not over:
 *
 * - `queued`: it is due, and waits for a worker, or for its turn
 * - `working`: a process owns it
 * - `waiting`: for an answer, a time, or a `resume` after a fault
 * - `stranded`: workers live, but none that serves its version; deploy that version again, or cancel the run
 */
export type Activity = "queued" | "working" | "waiting" | "stranded";

/** A run in a list. */
export interface RunRow extends CatalogRow {
  /** What becomes of it; absent when it is over. */
  readonly activity?: Activity;
}

/** Which runs to list. */
export interface ListQuery extends CatalogQuery {
  /** Runs of which that becomes. */
  readonly activity?: Activity;
}

/** Which runs to list. Every field given must hold. */
export interface RunQuery extends Omit<ListQuery, "graphId" | "status" | "reason"> {
  /** What the run is at. */
  readonly status?: RunStatus;
  /** Why it is interrupted; `queued` of one that is running and waits for a permit. */
  readonly reason?: InterruptReason | "queued";
}

/** What is known of a run beside its row. */
export interface Standing {
  readonly graphId: string;
  readonly status: string;
  readonly revision: number;
  readonly mailbox: Pick<Mailbox, "graphVersion" | "owner" | "wake">;
}

/** What becomes of a run. */
export function activityOf(run: Standing, fleet: Fleet, now: number): Activity | undefined {
  const { graphId, revision, mailbox: { graphVersion, owner, wake } } = run;
  if (isOver(run.status)) return undefined;
  if (owner !== undefined) return "working";
  // One that nobody has touched moves to whoever serves a later version.
  const moves = () => fleet.versionsOf(graphId).some((to) => fleet.mayMove(graphId, graphVersion, to));
  const isServed = fleet.serves(graphId, graphVersion) || (revision === 0 && moves());
  if (!fleet.isEmpty && !isServed) return "stranded";
  return run.status === "running" || (wake !== undefined && wake <= now) ? "queued" : "waiting";
}

/** Tells what becomes of runs of a store; who lives is read once. */
export class Activities {
  readonly #store: Store;
  readonly #now: number;
  #fleet: Promise<Fleet> | undefined;

  constructor(store: Store, now: number) {
    this.#store = store;
    this.#now = now;
  }

  /** Of one run; its status is needed only where it may be over. */
  async of(runId: string, graphId: string, status: string = "interrupted"): Promise<Activity | undefined> {
    if (isOver(status)) return undefined;
    try {
      const { head, mailbox } = await this.#store.inspect(runId, 0, undefined);
      if (head === null || mailbox === null) return undefined;
      const { revision } = head.position;
      const content = decodeMailbox(mailbox, defaultCodec, runId);
      return await this.#judge({ graphId, status, revision, mailbox: content });
    } catch (error) {
      // One that is damaged keeps none of the others from being listed.
      if (isSuperstepError(error, ...UNREADABLE)) return undefined;
      throw error;
    }
  }

  /** Of a run that was read. */
  ofCursor({ checkpoint: { run }, mailbox }: Cursor<unknown>): Promise<Activity | undefined> {
    const { graphId, status, revision } = run;
    return this.#judge({ graphId, status, revision, mailbox: mailbox.content });
  }

  async #judge(run: Standing): Promise<Activity | undefined> {
    return activityOf(run, await (this.#fleet ??= fleetOf(this.#store, this.#now)), this.#now);
  }
}

/** A page of runs with what becomes of each; with `activity` it may be shorter, but is empty at the end only. */
export async function listRuns(
  store: Store,
  { activity, ...query }: ListQuery,
  now: number,
): Promise<Page<RunRow>> {
  const activities = new Activities(store, now);
  for (let next: CatalogQuery = query;;) {
    const page = await store.list(next);
    const rows = await Promise.all(page.rows.map(async (row): Promise<RunRow> => {
      return { ...row, ...defined({ activity: await activities.of(row.runId, row.graphId, row.status) }) };
    }));
    const found = activity === undefined ? rows : rows.filter((row) => row.activity === activity);
    if (found.length > 0 || page.cursor === undefined) return { ...page, rows: found };
    next = { ...query, cursor: page.cursor };
  }
}

/** Waits with what becomes of their runs. */
export async function withActivity(
  store: Store,
  page: Page<InboxEntry>,
  now: number,
): Promise<Page<InboxEntry>> {
  const activities = new Activities(store, now);
  const known = new Map<string, Promise<Activity | undefined>>();
  const rows = await Promise.all(page.rows.map(async (row) => {
    const { runId, graphId } = row;
    if (!known.has(runId)) known.set(runId, activities.of(runId, graphId));
    return { ...row, ...defined({ activity: await known.get(runId) }) };
  }));
  return { ...page, rows };
}

function isOver(status: string): boolean {
  return status === "completed" || status === "cancelled";
}
