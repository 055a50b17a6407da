import type { HistoryRecord } from "../checkpoint/cursor.ts";
import { type CheckpointLog, MAX_DELTAS } from "../checkpoint/log.ts";
import { defaultCodec } from "../checkpoint/codec.ts";
import { evolve, firstCheckpoint } from "../checkpoint/evolve.ts";
import type { RecordEvent } from "../checkpoint/records.ts";
import { ArgumentError, CheckpointDecodeError, CheckpointNotFoundError } from "../errors.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { InterruptReason, Phase, Route, RunStatus } from "../model/run.ts";
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
}

/** A page of a run's history; its cursor is the next revision. The fold begins at the newest snapshot before the page. */
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
  const start = Math.max(0, from - SNAPSHOT_REACH);
  const records = await log.history(runId, start, from - start + limit + 1);
  if (records.length === 0 && start === 0) throw new CheckpointNotFoundError(runId);
  const first = records[0]?.revision ?? start;
  const asked = query.from ?? (cursor === undefined ? first : from);
  if (asked < first && first > start) throw new CheckpointNotFoundError(runId, asked, first);
  const entries: HistoryEntry[] = [];
  const fold = new HistoryFold(runId);
  for (const record of records) {
    fold.take(record);
    if (record.revision < from) continue;
    if (entries.length === limit) return { rows: entries, cursor: String(record.revision) };
    entries.push(fold.entry(record));
  }
  return { rows: entries };
}

/** Tells of records, taken in one after another, what the run was after each. */
export class HistoryFold {
  readonly #runId: string;
  #checkpoint: Checkpoint | undefined;

  constructor(runId: string) {
    this.#runId = runId;
  }

  /** Whether the run had ended with the record taken in last. */
  get isOver(): boolean {
    const status = this.#checkpoint?.run.status;
    return status === "completed" || status === "cancelled";
  }

  take(record: HistoryRecord): void {
    const created = record.events[0];
    if (record.snapshot !== undefined) this.#checkpoint = record.snapshot.checkpoint;
    else if (this.#checkpoint !== undefined) {
      this.#checkpoint = evolve(this.#checkpoint, record.events, record.revision, record.at);
    } else if (created?.type === "created") this.#checkpoint = firstCheckpoint(created, record.at);
  }

  /** The entry of the record taken in last. */
  entry(record: HistoryRecord): HistoryEntry {
    if (this.#checkpoint === undefined) {
      throw new CheckpointDecodeError(this.#runId, "Record", "no snapshot before the page");
    }
    const { run, phase, frontier, routes } = this.#checkpoint;
    return {
      revision: record.revision,
      at: record.at,
      bytes: record.bytes,
      status: run.status,
      ...(run.reason === undefined ? {} : { reason: run.reason }),
      phase,
      step: run.step,
      ...(run.owner === undefined ? {} : { owner: run.owner }),
      frontier,
      routes: record.events.some((e) => e.type === "routed") ? routes : [],
      events: record.events,
    };
  }
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
export const SNAPSHOT_REACH = MAX_DELTAS + 1;

/** Rows of the inbox with their bodies decoded. */
export function inboxOf(page: Page<WaitRow>): Page<InboxEntry> {
  const rows = page.rows.map(({ body, ...row }): InboxEntry => {
    const more = defaultCodec.decode(body) as {
      readonly kind?: unknown;
      readonly key?: unknown;
      readonly info?: unknown;
      readonly schema?: unknown;
    };
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
