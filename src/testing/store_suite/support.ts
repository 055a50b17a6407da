import assert from "node:assert/strict";
import type { AppendEntry, CatalogRow, Position, PostEntry, Store, WaitRow } from "../../store/store.ts";

/** A store opened for one test, on data of its own. */
export interface OpenedStore {
  /** A store that holds nothing. */
  readonly store: Store;
  /** Closes the store and opens its data again; a store that is not durable answers itself. */
  reopen(): Promise<Store>;
  /** Another handle on the same data, as another process has it. */
  second(): Promise<Store>;
  /** Closes every handle and removes the data. */
  cleanup(): Promise<void>;
}

/** One behaviour that every store has. */
export interface StoreCase {
  /** The statements it covers, and what it says. */
  readonly title: string;
  /** Rejects when the store does otherwise. */
  readonly run: (opened: OpenedStore) => Promise<void>;
}

let ids = 0;

/** An id that no other call has answered. */
export function freshId(prefix: string): string {
  return `${prefix}-${++ids}-${crypto.randomUUID()}`;
}

/** The bytes of a text. */
export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The text of bytes. */
export function text(value: Uint8Array): string {
  return new TextDecoder().decode(value);
}

/** Bytes that no two seeds share and no mix-up of slices leaves equal. */
export function noise(length: number, seed: number): Uint8Array {
  const out = new Uint8Array(length);
  let x = (seed * 2654435761 + 1) >>> 0;
  for (let i = 0; i < length; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    out[i] = x >>> 24;
  }
  return out;
}

/** Whether two byte arrays are equal; a plain loop, because assertion diffs of megabytes take minutes. */
export function sameBytes(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** An entry to append at a position. */
export function entryAt(at: Position | null, patch: Partial<AppendEntry> = {}): AppendEntry {
  return {
    appendId: freshId("append"),
    at,
    record: bytes(`record ${at === null ? 0 : at.revision + 1}`),
    parts: [],
    snapshot: 0,
    owner: null,
    ...patch,
  };
}

/** Appends the next record; answers where the head is then. */
export async function push(
  store: Store,
  runId: string,
  at: Position | null,
  patch: Partial<AppendEntry> = {},
): Promise<Position> {
  const appended = await store.append(runId, at === null ? 0 : at.revision + 1, entryAt(at, patch));
  return appended.position;
}

/** A mailbox in the place of the one with that version. */
export function mail(version: string | null, value: string): PostEntry["mailbox"] {
  return { version, value: bytes(value) };
}

/** Sets the mailbox of a run. */
export async function post(
  store: Store,
  runId: string,
  epoch: string,
  mailbox: PostEntry["mailbox"],
  more: Partial<PostEntry> = {},
): Promise<{ readonly mailbox: string }> {
  return await store.post(runId, { postId: freshId("post"), epoch, mailbox, ...more });
}

/** Appends records until the run has `count` of them. */
export async function grow(store: Store, runId: string, count: number): Promise<Position> {
  let at: Position | null = null;
  for (let i = 0; i < count; i++) at = await push(store, runId, at);
  return at!;
}

/** The records of a run as text. */
export async function historyOf(store: Store, runId: string): Promise<string[]> {
  return (await store.range(runId, 0, 10_000)).map((record) => text(record.bytes));
}

/** A row of the catalog. */
export function catalogRow(runId: string, patch: Partial<CatalogRow> = {}): CatalogRow {
  return {
    runId,
    graphId: "graph",
    graphVersion: "v1",
    status: "running",
    tags: [],
    createdAt: 1000,
    updatedAt: 1000,
    step: 0,
    revision: 0,
    openWaits: 0,
    ...patch,
  };
}

/** A row of the inbox. */
export function waitRow(runId: string, waitId: string, patch: Partial<WaitRow> = {}): WaitRow {
  return {
    runId,
    waitId,
    graphId: "graph",
    vertexId: "review",
    name: "verdict",
    openedAt: 1000,
    body: bytes("info"),
    ...patch,
  };
}

/** Asserts that a call rejects with an error of that code and, where given, those fields. */
export async function rejects(
  call: Promise<unknown>,
  code: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<Error> {
  const error = await call.then(
    (value) =>
      assert.fail(`expected an error ${code}, the call answered ${JSON.stringify(value)?.slice(0, 200)}`),
    (error: unknown) =>
      error as Error & { readonly code?: unknown; readonly fields?: Record<string, unknown> },
  );
  assert.equal(error.code, code, error.stack ?? String(error));
  for (const [field, value] of Object.entries(fields)) {
    assert.deepEqual(error.fields?.[field], value, `field ${field}`);
  }
  assert.doesNotMatch(error.message, /database is locked|Stack backtrace|Too(Many|Large)|SQLITE/);
  return error;
}
