import { cursorAt, type Place } from "./query.ts";
import type {
  CatalogRow,
  ClosedWait,
  Cut,
  EmitBatch,
  MailboxState,
  MailboxWrite,
  Page,
  PartRef,
  Position,
  StoredMailbox,
  StoredRecord,
  WaitRow,
} from "./store.ts";

/** A run in the memory of a process, and how it is read. Whatever leaves is a copy. */

export interface MemoryRecord {
  readonly appendId: string;
  readonly bytes: Uint8Array;
  readonly parts: readonly Uint8Array[];
  /** The version of the mailbox that this append set. */
  readonly mailbox: string | undefined;
  /** The version of the cells that this append set. */
  readonly cells: string | undefined;
}

export interface Mailbox {
  readonly version: string;
  readonly value: Uint8Array;
  readonly postId: string;
  /** The version of the cells that its post set. */
  readonly cells?: string | undefined;
}

export interface Run {
  position: Position;
  owner: string | null;
  snapshot: number;
  /** The revision of the first record that is kept. */
  first: number;
  readonly records: MemoryRecord[];
  /** Parts of records that are not kept, by revision and index. */
  kept: Map<string, Uint8Array>;
  mailbox: Mailbox | null;
  /** What stands beside it, by id. */
  readonly entries: Map<string, Uint8Array>;
  /** What bodies emitted, in order. */
  emits: EmitBatch[];
  catalog: CatalogRow | undefined;
  readonly open: Map<string, WaitRow>;
  readonly closed: Map<string, ClosedWait>;
}

export function headOf(run: Run | undefined): { position: Position; owner: string | null } | null {
  return run === undefined ? null : { position: run.position, owner: run.owner };
}

export function mailboxOf(run: Run | undefined): MailboxState | null {
  return run?.mailbox ? { version: run.mailbox.version, value: run.mailbox.value.slice() } : null;
}

export function wholeMailboxOf(run: Run | undefined): StoredMailbox | null {
  const mailbox = mailboxOf(run);
  return mailbox && {
    ...mailbox,
    entries: [...run!.entries].map(([id, value]) => ({ id, value: value.slice() })),
  };
}

/** Sets a mailbox under a version that no other one has; ids of entries are made of it. */
export function setMailbox(
  run: Run,
  { value, posted = [], taken = [] }: MailboxWrite,
  by: Pick<Mailbox, "version" | "postId" | "cells">,
): void {
  run.mailbox = { ...by, value: value.slice() };
  for (const id of taken) run.entries.delete(id);
  posted.forEach((entry, i) => run.entries.set(`${by.version}.${i}`, entry.slice()));
}

export function recordAt(run: Run | undefined, revision: number): MemoryRecord | undefined {
  return run?.records[revision - run.first];
}

export function partOf(run: Run, ref: PartRef): Uint8Array | undefined {
  return recordAt(run, ref.revision)?.parts[ref.index] ?? run.kept.get(partName(ref));
}

/** Drops the records before a cut, and their parts but for those that are to be kept. */
export function trimRun(run: Run, { before, keep }: Cut): void {
  if (before <= run.first) return;
  const kept = new Map<string, Uint8Array>();
  for (const ref of keep) {
    const part = ref.revision < before ? partOf(run, ref) : undefined;
    if (part !== undefined) kept.set(partName(ref), part);
  }
  run.kept = kept;
  run.records.splice(0, before - run.first);
  run.first = before;
}

const partName = ({ revision, index }: PartRef) => `${revision}/${index}`;

/** Records `from` ≤ revision < `to`, of which none is before the first that is kept. */
export function recordsOf(run: Run, from: number, to: number): readonly StoredRecord[] {
  return run.records.slice(from - run.first, to - run.first).map((record, i) => ({
    revision: from + i,
    appendId: record.appendId,
    bytes: record.bytes.slice(),
  }));
}

export function copyCatalog(row: CatalogRow): CatalogRow {
  return { ...row, tags: [...row.tags] };
}

export function copyWait(row: WaitRow): WaitRow {
  return { ...row, body: row.body.slice() };
}

export function pageOf<T>(
  rows: readonly T[],
  limit: number,
  place: (row: T) => Place,
  copy: (row: T) => T,
): Page<T> {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: page.map(copy),
    ...(rows.length > limit && last !== undefined ? { cursor: cursorAt(place(last)) } : {}),
  };
}
