import type { HistoryRecord } from "../checkpoint/cursor.ts";
import { type CheckpointLog, MAX_DELTAS } from "../checkpoint/log.ts";
import { viewOf } from "../checkpoint/wire.ts";
import { defaultCodec } from "../checkpoint/codec.ts";
import { firstCheckpoint } from "../checkpoint/beginning.ts";
import { evolve } from "../checkpoint/evolve.ts";
import type { EventOf, RecordEvent } from "../checkpoint/records.ts";
import { ArgumentError, CheckpointDecodeError, CheckpointNotFoundError, messageOf } from "../errors.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import { defined } from "../model/defined.ts";
import { type InterruptReason, isOver, type Phase, type Route, type RunStatus } from "../model/run.ts";
import type { Page, WaitRow } from "../store/store.ts";

export type { RecordEvent };

/** Which records to read. */
export interface HistoryQuery {
  /** The first revision. @default 0 */
  readonly from?: number;
  /** The cursor of the page before, in the place of `from`. @default none */
  readonly cursor?: string;
  /** How many records at most. @default 100 */
  readonly limit?: number;
}

/** One record of a run: what happened, and what the run was after it. */
export interface HistoryEntry {
  /** The number of the record, from 0. */
  readonly revision: number;
  /** When it was written, in milliseconds since the epoch. */
  readonly at: number;
  /** The size of the record as stored, without its parts. */
  readonly bytes: number;
  /** What the run was after it. */
  readonly status: RunStatus;
  /** Why it was interrupted, if it was. */
  readonly reason?: InterruptReason;
  /** Whether a step had begun, was under way, paused, or halted. */
  readonly phase: Phase;
  /** The index of the newest step. */
  readonly step: number;
  /** The process that owned the run, if one did. */
  readonly owner?: string;
  /** In `routed` the vertices that run next, otherwise those of the current step. */
  readonly frontier: readonly string[];
  /** The routes taken by the step that this record ends. */
  readonly routes: readonly Route[];
  /** What happened, in order. */
  readonly events: readonly RecordEvent[];
}

/** An open wait as listed across runs. */
export interface InboxEntry {
  /** What `answer` takes. */
  readonly waitId: string;
  /** The run that waits. */
  readonly runId: string;
  /** Its graph. */
  readonly graphId: string;
  /** The vertex that waits. */
  readonly vertexId: string;
  /** The index of the item that waits, in a map vertex. */
  readonly item?: number;
  /** The name of the wait; `interrupt` for `ctx.interrupt`. */
  readonly name: string;
  /** The key that the body gave it, if it did. */
  readonly key?: string;
  /** Whether its definition checks the answer, or any answer is accepted. */
  readonly kind: "answer" | "interrupt";
  /** When it was opened, in milliseconds since the epoch. */
  readonly openedAt: number;
  /** When it expires, in milliseconds since the epoch. @default never */
  readonly deadline?: number;
  /** What the body shows to whoever answers. */
  readonly info?: unknown;
  /** The JSON Schema of the answer, where one exists. */
  readonly schema?: unknown;
  /** Why info, kind and schema are not shown: what is stored of the wait is damaged, or its key is not there. */
  readonly unreadable?: string;
  /** Why it cannot be answered here: its run needs other code, and nothing that is stored can judge an answer. */
  readonly unanswerable?: string;
  /** What becomes of its run: it waits, or is at work beside, or goes on with another answer, or nobody serves it. */
  readonly activity?: "queued" | "working" | "waiting" | "stranded";
}

/** A page of a run's history; its cursor is the next revision. */
export async function historyOf<S>(
  log: CheckpointLog<S>,
  runId: string,
  query: HistoryQuery,
): Promise<Page<HistoryEntry>> {
  const { cursor, from = cursor === undefined ? 0 : revisionOf(cursor), limit = 100 } = query;
  if (!Number.isSafeInteger(from) || from < 0) {
    throw new ArgumentError("history", `from is ${from}; give a revision from 0`);
  }
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new ArgumentError("history", `limit is ${limit}; give a number from 1`);
  }
  const records = await log.history(runId, from, limit);
  const first = records[0]?.revision;
  const head = first === undefined || records.length === limit ? await log.head(runId) : undefined;
  if (first === undefined && head === undefined) throw new CheckpointNotFoundError(runId);
  const asked = query.from !== undefined || cursor !== undefined;
  if (asked && first !== undefined && first > from) {
    throw new CheckpointNotFoundError(runId, from, first);
  }
  const fold = new HistoryFold(log, runId);
  const rows: HistoryEntry[] = [];
  for (const record of records) rows.push(await fold.take(record));
  const last = records.at(-1)?.revision ?? Infinity;
  return head !== undefined && head.revision > last ? { rows, cursor: String(last + 1) } : { rows };
}

/** What a run was after a record. */
type Shown = Pick<HistoryEntry, "status" | "reason" | "phase" | "step" | "owner" | "frontier" | "routes">;

/** Tells of records, taken in one after another, what the run was after each; of those before them it reads what it needs. */
export class HistoryFold<S> {
  readonly #log: CheckpointLog<S>;
  readonly #runId: string;
  /** Kept while records do not say it themselves: those of earlier code. */
  #checkpoint: Checkpoint | undefined;
  #shown: Shown | undefined;

  constructor(log: CheckpointLog<S>, runId: string) {
    this.#log = log;
    this.#runId = runId;
  }

  /** Whether the run had ended with the record taken in last. */
  get isOver(): boolean {
    return this.#shown !== undefined && isOver(this.#shown.status);
  }

  /** The entry of the next record. */
  async take(record: HistoryRecord): Promise<HistoryEntry> {
    const { revision, at, bytes, events } = record;
    this.#shown = await this.#after(record);
    const routes = events.some((e) => e.type === "routed") ? this.#shown.routes : [];
    return { revision, at, bytes, ...this.#shown, routes, events };
  }

  async #after(record: HistoryRecord): Promise<Shown> {
    const { events, revision, snapshot } = record;
    const view = viewOf(record, revision);
    const created = events[0];
    if (snapshot !== undefined) this.#checkpoint = snapshot.checkpoint;
    else if (this.#checkpoint !== undefined) {
      this.#checkpoint = evolve(this.#checkpoint, events, revision, record.at);
    } else if (created?.type === "created") this.#checkpoint = firstCheckpoint(created, record.at);
    else if (view === undefined) await this.#reach(record);
    if (view === undefined) return shownOf(this.#checkpoint!);
    const { owned, status, phase, step, reason, routed, claimed } = view;
    const { frontier, routes } = eventOf(events, "routed") ?? this.#shown ?? await this.#told(routed);
    const owner = !owned
      ? undefined
      : eventOf(events, "claimed")?.owner ?? this.#shown?.owner ?? (await this.#told(claimed)).owner;
    return defined({ status, reason, phase, step, owner, frontier, routes });
  }

  /** What a record says of frontier and owner by itself. */
  async #told(revision: number): Promise<Pick<Shown, "frontier" | "routes" | "owner">> {
    const [record] = await this.#log.history(this.#runId, revision, 1);
    if (record?.revision !== revision) {
      throw new CheckpointNotFoundError(this.#runId, revision, record?.revision);
    }
    if (record.snapshot !== undefined) return shownOf(record.snapshot.checkpoint);
    const { frontier = [], routes = [] } = eventOf(record.events, "routed") ?? {};
    const owner = eventOf(record.events, "claimed")?.owner;
    return { frontier, routes, ...(owner === undefined ? {} : { owner }) };
  }

  /** The checkpoint of a record of earlier code, from the newest snapshot before it. */
  async #reach({ revision }: HistoryRecord): Promise<void> {
    const from = Math.max(0, revision - SNAPSHOT_REACH);
    const fold = new HistoryFold(this.#log, this.#runId);
    const records = await this.#log.history(this.#runId, from, revision - from + 1);
    const base = records.findLastIndex((r) => r.snapshot !== undefined);
    if (base < 0) throw new CheckpointDecodeError(this.#runId, "Record", "no snapshot before the page");
    for (const record of records.slice(base)) await fold.take(record);
    this.#checkpoint = fold.#checkpoint;
  }
}

function shownOf({ run, phase, frontier, routes }: Checkpoint): Shown {
  const { status, reason, step, owner } = run;
  return defined({ status, reason, phase, step, owner, frontier, routes });
}

function eventOf<T extends RecordEvent["type"]>(
  events: readonly RecordEvent[],
  type: T,
): EventOf<T> | undefined {
  return events.findLast((e): e is EventOf<T> => e.type === type);
}

function revisionOf(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ArgumentError(
    "history",
    `the cursor ${
      JSON.stringify(cursor)
    } was not given by this listing; leave it out to begin with the first page`,
  );
}

/** How far before a record its snapshot may lie: the record that ends a run may be one more than the others. */
const SNAPSHOT_REACH = MAX_DELTAS + 1;

/** Rows of the inbox with their bodies decoded. */
export function inboxOf(page: Page<WaitRow>): Page<InboxEntry> {
  const rows = page.rows.map(({ body, ...row }): InboxEntry => {
    let more: {
      readonly kind?: unknown;
      readonly key?: unknown;
      readonly info?: unknown;
      readonly schema?: unknown;
    };
    try {
      more = Object(defaultCodec.decode(body));
    } catch (error) {
      return { ...row, kind: "answer", unreadable: messageOf(error) };
    }
    return {
      ...row,
      kind: more.kind === "interrupt" ? "interrupt" : "answer",
      ...(typeof more.key === "string" ? { key: more.key } : {}),
      ...(more.info === undefined ? {} : { info: more.info }),
      ...(more.schema === undefined ? {} : { schema: more.schema }),
    };
  });
  return page.cursor === undefined ? { rows } : { rows, cursor: page.cursor };
}
