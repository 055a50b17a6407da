import type { CatalogRow, CellName, WaitRow, WakeRow } from "../store.ts";
import type { Key, KeyPart } from "./driver.ts";

/**
 * The keys of a store, all under one prefix so that the file may hold other things beside it. Whatever belongs to the
 * history of a run is under its epoch, which no two runs share, also not two of the same id.
 */
const ROOT = "ss1";

/** The layout of the keys and values of the file. */
export const layoutKey: Key = [ROOT, "layout"];
/** Every key of a store. */
export const everything = { start: [ROOT], end: [ROOT, true] } as const;

// ---- one run

/** Where the run is: epoch, revision, snapshot, owner, append id. Its versionstamp is the token of the head. */
export const headKey = (runId: string): Key => [ROOT, "h", runId];

/**
 * What changes with the head stands behind it, so that an operation changes few pages of the file. Runs of the first layout
 * (`isEarlier`) have each kind of key apart from the others.
 */
const beside = (kind: string, earlier: string) => (runId: string, isEarlier: boolean): Key =>
  isEarlier ? [ROOT, earlier, runId] : [...headKey(runId), kind];

export const mailboxKey = beside("m", "m");
/** What stands beside a mailbox, in one range with it, so that both are read at one moment. */
export const entryKey = (runId: string, n: number, isEarlier: boolean): Key => [
  ...mailboxKey(runId, isEarlier),
  n,
];
/** The row of a run in the catalog. */
export const catalogKey = beside("c", "c");
/** The waits of a run: those that are open, and their tombstones. */
export const waitsOf = beside("w", "w");
/** An open wait, or its tombstone. */
export const waitKey = (runId: string, waitId: string, isEarlier: boolean): Key => [
  ...waitsOf(runId, isEarlier),
  waitId,
];
/** Open waits of one run in their order. */
export const runInboxIndex = beside("o", "wr");

export const recordKey = (epoch: string, revision: number): Key => [ROOT, "r", epoch, revision];
export const partKey = (
  epoch: string,
  revision: number,
  index: number,
): Key => [ROOT, "p", epoch, revision, index];
/** A slice of bytes too long for a value; `blob` is unique to one try of an append. */
export const chunkKey = (epoch: string, blob: string, slot: KeyPart, i: number): Key => [
  ROOT,
  "b",
  epoch,
  blob,
  slot,
  i,
];
/** A batch of what bodies emitted. */
export const emitsKey = (epoch: string, revision: number, number: number): Key => [
  ROOT,
  "e",
  epoch,
  revision,
  number,
];
/** Index rows that did not fit into the operation they belong to. */
export const restKey = (runId: string): Key => [ROOT, "t", runId];
export const restRoot: Key = [ROOT, "t"];
/** The first revision that is kept of a history whose beginning was cut off. */
export const cutKey = (runId: string): Key => [ROOT, "f", runId];
/** A purge that has begun, so that whoever sweeps finds it. */
export const goneKey = (runId: string): Key => [ROOT, "g", runId];
export const goneRoot: Key = [ROOT, "g"];
/** When the run is to be woken, where its mailbox does not say it. */
export const wakeOfKey = (runId: string): Key => [ROOT, "kr", runId];

// ---- indices: everything is in the key

/** Runs of one graph, tag, and, in the first layout, status or reason. */
export const catalogIndex = (field: "all" | "graph" | "status" | "reason" | "tag", value = ""): Key => [
  ROOT,
  "ci",
  field,
  value,
];
export const graphIndex: Key = [ROOT, "ci", "graph"];
export const pokeIndex = (ownerId: string): Key => [ROOT, "q", ownerId];

/**
 * What changes while runs are at work stands side by side: the runs that are at work or wait, open waits, wakes and owners.
 * So an operation changes few pages of the file. The first layout has the last three apart from each other.
 */
const LIVE: Key = [ROOT, "l"];
/** Runs by status and reason. */
export const stateIndex: Key = [...LIVE, "state"];
/** Open waits of every run. */
export const inboxIndex = (isEarlier: boolean): Key => isEarlier ? [ROOT, "wa"] : [...LIVE, "waits"];
export const wakeIndex = (isEarlier: boolean): Key => isEarlier ? [ROOT, "k"] : [...LIVE, "wakes"];
export const ownedIndex = (ownerId: string, isEarlier: boolean): Key =>
  isEarlier ? [ROOT, "o", ownerId] : [...LIVE, "works", ownerId];

/** Every index key of a row of the catalog. */
export function catalogKeys(row: CatalogRow, isEarlier: boolean): Key[] {
  const prefixes = [catalogIndex("graph", row.graphId)];
  if (isEarlier) {
    prefixes.push(catalogIndex("all"), catalogIndex("status", row.status));
    if (row.reason !== undefined) prefixes.push(catalogIndex("reason", row.reason));
  } else {
    prefixes.push([...stateIndex, row.status, row.reason ?? ""]);
  }
  for (const tag of new Set(row.tags)) prefixes.push(catalogIndex("tag", tag));
  return prefixes.map((prefix) => [...prefix, row.createdAt, row.runId]);
}

/** Every index key of an open wait; a tombstone knows enough to delete them. */
export function inboxKeys(row: Pick<WaitRow, "runId" | "waitId" | "openedAt">, isEarlier: boolean): Key[] {
  const place = [row.openedAt, row.runId, row.waitId];
  return [[...inboxIndex(isEarlier), ...place], [...runInboxIndex(row.runId, isEarlier), ...place]];
}

export const wakeKey = ({ due, runId }: Pick<WakeRow, "due" | "runId">, isEarlier: boolean): Key => [
  ...wakeIndex(isEarlier),
  due,
  runId,
];

/** The cells of a space. */
export const cellSpace = (space: string): Key => [ROOT, "x", space];
export const cellKey = ({ space, name }: CellName): Key => [...cellSpace(space), name];

// ---- processes

/** Written once; its absence is final. */
export const ownerKey = (ownerId: string): Key => [ROOT, "owner", ownerId];
export const ownerRoot: Key = [ROOT, "owner"];
export const beatKey = (ownerId: string): Key => [ROOT, "beat", ownerId];
export const beatRoot: Key = [ROOT, "beat"];

// ---- staging

/** Names the chunks of an append in preparation; the append succeeds only while it exists. */
export const manifestKey = (blob: string): Key => [ROOT, "s", blob];
export const manifestRoot: Key = [ROOT, "s"];
/** A manifest that was swept: its chunks are being deleted. */
export const deadKey = (blob: string): Key => [ROOT, "d", blob];
export const deadRoot: Key = [ROOT, "d"];

/** The range of every key below a prefix. */
export function below(prefix: Key): { readonly start: Key; readonly end: Key } {
  return { start: prefix, end: [...prefix, true] };
}

const utf8 = new TextEncoder();

/** How many bytes a key takes, rounded up. */
export function keyBytes(key: Key): number {
  let bytes = 0;
  for (const part of key) {
    bytes += typeof part === "string" ? 2 + (isAscii(part) ? part.length : utf8.encode(part).length) : 9;
  }
  return bytes;
}

function isAscii(text: string): boolean {
  // deno-lint-ignore no-control-regex
  return /^[\x00-\x7f]*$/.test(text);
}
