import type { CallOptions } from "./call_options.ts";
import type { CellChange, Cells } from "./cells.ts";
import type { Emits } from "./emits.ts";
import type { Leases } from "./leases.ts";
import type { WakeRow } from "./wake.ts";
import type { MailboxState, MailboxWrite, StoredMailbox } from "./mailbox.ts";
import type { Owners } from "./owners.ts";
import type { Position } from "./position.ts";

export type { CallOptions } from "./call_options.ts";
export type { Cell, CellChange, CellName, CellQuery, Cells, CellsEntry } from "./cells.ts";
export type { EmitBatch, EmitPlace, Emits, EmitsWrite } from "./emits.ts";
export type { WakeRow } from "./wake.ts";
export type { Leased, LeaseQuery, Leases } from "./leases.ts";
export type { MailboxEntry, MailboxState, MailboxWrite, StoredMailbox } from "./mailbox.ts";
export type { OwnedOptions, OwnerRow, Owners } from "./owners.ts";
export type { Position } from "./position.ts";

/**
 * What the engine asks of a store. A store keeps opaque bytes and a few index rows; it knows nothing of states, graphs
 * or deltas. Every adapter passes the published suite in `superstep/testing`.
 *
 * Obligations, cited by tests as STORE-1 to STORE-11:
 *
 * 1. `append` accepts a record iff its revision is the latest + 1 (0 for a new run) and `at` is still the head. It is
 *    one atomic step: record, parts, head, mailbox and index rows all appear, or none do.
 * 2. An append whose id is already that of the record at its revision succeeds again and changes nothing, also when the
 *    head has moved on or its writer was buried since; so does a post whose id is that of the newest mailbox.
 * 3. `append` with `mailbox` and every `post` succeed only while the mailbox has the version given.
 * 4. `append` succeeds only while the owner key of `writer` exists and that of `absent` does not.
 * 5. A reader sees the old or the new revision, never a mixture; records are stored unchanged and never edited.
 * 6. A run that was purged and begun anew has another epoch; nothing of the old one is ever seen in it.
 * 7. Every fault is a typed error: `RevisionConflictError`, `MailboxConflictError`, `OwnershipLostError`,
 *    `RunBusyError`, `CheckpointNotFoundError`, `CellConflictError`, or `StoreError` when the outcome is not known or the store failed.
 * 8. Every call honours its signal: an aborted one rejects with a `StoreError` that names the operation.
 * 9. `trim` moves neither head nor mailbox, so nobody who writes notices it. Once it has begun, no record before the cut is
 *    read any more; records from the cut on and the parts that were to be kept are read as before, always.
 * 10. `append` and `post` with `cells` succeed only while every cell has the version that it demands, and set the cells in
 *    the same step. A store that merges ops never puts one that sets a cell into an op with another that names that cell.
 * 11. What is posted to a mailbox stands in entries of its own beside the value: an append or a post adds some and takes some
 *    away in the same step with the mailbox, and costs what it adds and takes, whatever else is there. Whoever reads entries
 *    reads those of the version that comes with them, in the order in which they were added. A refused try leaves none.
 */
export interface Store {
  /** What it is and can do. */
  readonly info: StoreInfo;

  /** Adds the next record of a run, with everything that changes with it. */
  append(runId: string, revision: number, entry: AppendEntry, options?: CallOptions): Promise<Appended>;
  /** Sets the mailbox of a run, and what changes with it; no record is added. Returns its new version. */
  post(runId: string, entry: PostEntry, options?: CallOptions): Promise<Posted>;

  /** Head, mailbox and the records since the newest snapshot (it included), or `undefined` for an unknown run. */
  tail(runId: string, options?: CallOptions): Promise<Tail | undefined>;
  /**
   * At most `limit` records in order, from revision `from` on, or from the first that a trim has left. Empty for an unknown
   * run.
   */
  range(runId: string, from: number, limit: number, options?: CallOptions): Promise<readonly StoredRecord[]>;
  /** The bytes of the parts named, in that order; `CheckpointNotFoundError` when the run is not of that epoch. */
  parts(
    runId: string,
    epoch: string,
    refs: readonly PartRef[],
    options?: CallOptions,
  ): Promise<readonly Uint8Array[]>;
  /** What is needed to judge an append whose outcome is in doubt, read in one go. */
  inspect(
    runId: string,
    revision: number,
    writer: string | undefined,
    options?: CallOptions,
  ): Promise<Inspection>;
  /** One wait with the mailbox and the head, read in one go, whatever entries stand beside that mailbox. */
  wait(runId: string, waitId: string, options?: CallOptions): Promise<WaitLookup>;

  /** Catalog rows, newest created first. */
  list(query: CatalogQuery, options?: CallOptions): Promise<Page<CatalogRow>>;
  /** Open waits, oldest opened first. */
  waits(query: WaitQuery, options?: CallOptions): Promise<Page<WaitRow>>;
  /** Runs whose wake is due at `until` or before, earliest first. */
  wakes(until: number, limit: number, options?: WakeOptions): Promise<readonly WakeRow[]>;

  /** The processes that own runs. */
  readonly owners: Owners;
  /** Small named values beside the runs. */
  readonly cells: Cells;
  /** What bodies emit, for readers in any process; absent in a store that has no such channel. */
  readonly emits?: Emits;
  /** Due runs for one process at a time; absent in a store whose workers look at `wakes`. */
  readonly leases?: Leases;
  /**
   * Calls the listener soon after something has become due, or an owner was poked, by whatever process; absent in a store that
   * cannot. Hints come late, twice, or not at all: nothing may rely on one.
   *
   * @returns how to listen no more
   */
  hints?(listener: (hint: StoreHint) => void): () => void;

  /** Removes the beginning of a history. Resumable: whoever trims or purges the run next finishes the work. */
  trim(runId: string, cut: Cut, options?: CallOptions): Promise<void>;
  /** Removes a run and everything of it. Resumable: calling it again after a crash finishes the work. */
  purge(runId: string, options?: PurgeOptions): Promise<void>;
  /** Lets go of files and handles; no call may follow. */
  close(): Promise<void>;
}

/** What another process may have done. */
export interface StoreHint {
  /** The owner that was poked; absent where runs may be due. */
  readonly ownerId?: string;
}

/** What a store is and can do. */
export interface StoreInfo {
  /** A short name for messages, such as `memory` or `deno-kv`. */
  readonly name: string;
  /** Whether an acknowledged append survives the end of the process. */
  readonly durable: boolean;
}

/** Options of `wakes`. */
export interface WakeOptions extends CallOptions {
  /** Begins behind this row, whether or not it is still there. */
  readonly after?: Pick<WakeRow, "due" | "runId">;
}

/** Options of `purge`. */
export interface PurgeOptions extends CallOptions {
  /** Removes the run only if it is the one of this epoch. @default whichever there is */
  readonly epoch?: string;
}

/** What is cut off the history of a run. */
export interface Cut {
  /** The run must be of this epoch. */
  readonly epoch: string;
  /** The first revision that stays; not after the newest snapshot. */
  readonly before: number;
  /** Parts of earlier revisions that stay, because later records refer to them. */
  readonly keep: readonly PartRef[];
}

/** One record to append. */
export interface AppendEntry {
  /** Unique to this append; a retry of it carries the same. */
  readonly appendId: string;
  /** The head that this record follows; `null` for a new run. */
  readonly at: Position | null;
  /** The record, encoded. */
  readonly record: Uint8Array;
  /** Large pieces of the state, read back by revision and index. */
  readonly parts: readonly Uint8Array[];
  /** The newest revision that is a snapshot, this record included. */
  readonly snapshot: number;
  /** The process that writes; its owner key must exist. Absent when a process that owns nothing writes. */
  readonly writer?: string | undefined;
  /** The owner that the head names afterwards. */
  readonly owner: string | null;
  /** An owner whose key must not exist: the dead one that a claim replaces. */
  readonly absent?: string | undefined;
  /** The mailbox to set, if one. */
  readonly mailbox?: MailboxWrite | undefined;
  /** The index rows to change, if any. */
  readonly index?: IndexChanges | undefined;
  /** The cells to demand and to change, if any. */
  readonly cells?: readonly CellChange[] | undefined;
}

/** What an append changes beside the record. Every `from` is what the row holds now, so nothing need be read. */
export interface IndexChanges {
  /** The row of the run in the catalog. */
  readonly catalog?: { readonly from?: CatalogRow; readonly to: CatalogRow };
  /** Waits that open. */
  readonly opened?: readonly WaitRow[];
  /** Waits that close. */
  readonly closed?: readonly ClosedWait[];
  /** When the run is to be woken. */
  readonly wake?: { readonly from?: WakeRow; readonly to?: WakeRow };
  /** Whom the run belongs to. */
  readonly owned?: { readonly from?: string; readonly to?: string };
}

/** What became of an append. */
export interface Appended {
  /** Where the head is now. */
  readonly position: Position;
  /** The new version of the mailbox, when the append set it. */
  readonly mailbox?: string;
  /** The version that this append gave to every cell that it set. */
  readonly cells?: string;
}

/** A change of a mailbox that moves no head: an accepted answer, a cancellation. */
export interface PostEntry {
  /** Unique to this post; a retry of it carries the same. */
  readonly postId: string;
  /** The run must be of this epoch. */
  readonly epoch: string;
  /** The mailbox to set. */
  readonly mailbox: MailboxWrite;
  /** Waits that close. */
  readonly closed?: readonly ClosedWait[];
  /** When the run is to be woken. */
  readonly wake?: { readonly from?: WakeRow; readonly to?: WakeRow };
  /** The owner to poke, so that it reads the mailbox soon. */
  readonly poke?: string;
  /** The cells to demand and to change, if any. */
  readonly cells?: readonly CellChange[];
}

/** What became of a post. */
export interface Posted {
  /** The new version of the mailbox. */
  readonly mailbox: string;
  /** The version that this post gave to every cell that it set. */
  readonly cells?: string;
}

/** A record as it was appended. */
export interface StoredRecord {
  /** Its number, from 0. */
  readonly revision: number;
  /** The id of the append that wrote it. */
  readonly appendId: string;
  /** The record, encoded. */
  readonly bytes: Uint8Array;
}

/** A part of a record. */
export interface PartRef {
  /** The record that it belongs to. */
  readonly revision: number;
  /** Its place among the parts of the record, from 0. */
  readonly index: number;
}

/** The end of a run's history. */
export interface Tail {
  /** Where the head is. */
  readonly position: Position;
  /** The owner that the head names. */
  readonly owner: string | null;
  /** The mailbox, if there is one. */
  readonly mailbox: StoredMailbox | null;
  /** The newest snapshot and what follows it, in order. */
  readonly records: readonly StoredRecord[];
}

/** What `inspect` found. */
export interface Inspection {
  /** The head, if the run exists. */
  readonly head: { readonly position: Position; readonly owner: string | null } | null;
  /** The append id of the record at the revision asked for. */
  readonly appendId: string | null;
  /** The mailbox, if there is one. */
  readonly mailbox: StoredMailbox | null;
  /** Whether the owner key of the writer exists; true when no writer was named. */
  readonly writer: boolean;
}

/** What `wait` found. */
export interface WaitLookup {
  /** The head, if the run exists. */
  readonly head: { readonly position: Position; readonly owner: string | null } | null;
  /** The mailbox, if there is one. */
  readonly mailbox: MailboxState | null;
  /** The row of the wait while it is open. */
  readonly open: WaitRow | null;
  /** Its tombstone once it is closed. */
  readonly closed: ClosedWait | null;
}

/** A run in the catalog; written when the status changes. */
export interface CatalogRow {
  /** The id of the run. */
  readonly runId: string;
  /** The graph that it runs. */
  readonly graphId: string;
  /** The version of that graph. */
  readonly graphVersion: string;
  /** What it is at. */
  readonly status: string;
  /** Why it is interrupted, if it is, or `queued`. */
  readonly reason?: string;
  /** What it waits for in a queue, if it does. */
  readonly queued?: string;
  /** Words by which it is found, sorted. */
  readonly tags: readonly string[];
  /** When it was started, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** When its status changed last, in milliseconds since the epoch. */
  readonly updatedAt: number;
  /** The index of its newest step then. */
  readonly step: number;
  /** Its newest revision then. */
  readonly revision: number;
  /** How many waits were open then. */
  readonly openWaits: number;
}

/** Which runs to list. Every field given must hold. */
export interface CatalogQuery extends PageQuery {
  /** Runs of this graph. */
  readonly graphId?: string;
  /** Runs of this status. */
  readonly status?: string;
  /** Runs that are interrupted for this reason. */
  readonly reason?: string;
  /** Runs with this tag. */
  readonly tag?: string;
}

/** An open wait. */
export interface WaitRow {
  /** The run that waits. */
  readonly runId: string;
  /** The id of the opening. */
  readonly waitId: string;
  /** The graph that the run runs. */
  readonly graphId: string;
  /** The vertex that waits. */
  readonly vertexId: string;
  /** The index of the item that waits, in a map vertex. */
  readonly item?: number;
  /** The name of the wait. */
  readonly name: string;
  /** When it was opened, in milliseconds since the epoch. */
  readonly openedAt: number;
  /** When it expires, in milliseconds since the epoch. */
  readonly deadline?: number;
  /** Encoded by the checkpoint log: info and JSON Schema. */
  readonly body: Uint8Array;
}

/** The tombstone of a wait. */
export interface ClosedWait {
  /** The run that waited. */
  readonly runId: string;
  /** The id of the opening. */
  readonly waitId: string;
  /** When it was opened: the place of the row that this one replaces. */
  readonly openedAt: number;
  /** Why it is closed. */
  readonly reason: string;
  /** The revision of the run when it was closed. */
  readonly revision: number;
}

/** Which open waits to list. Every field given must hold. */
export interface WaitQuery extends PageQuery {
  /** Waits of this run. */
  readonly runId?: string;
  /** Waits of runs of this graph. */
  readonly graphId?: string;
  /** Waits of this name. */
  readonly name?: string;
}

/** Where a page begins and how long it may be. */
export interface PageQuery {
  /** Where the page before ended. @default the first page */
  readonly cursor?: string;
  /**
   * At most 1000; a page may be asked to be longer but is not.
   * @default 100
   */
  readonly limit?: number;
}

/** One page of rows; `cursor` is absent on the last one. */
export interface Page<T> {
  /** The rows, in order. */
  readonly rows: readonly T[];
  /** What the query of the next page takes. */
  readonly cursor?: string;
}
