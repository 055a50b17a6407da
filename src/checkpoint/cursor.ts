import type { Checkpoint } from "../model/checkpoint.ts";
import type { RunRecord } from "../model/run.ts";
import type { CellChange, ClosedWait, MailboxState, Position } from "../store/store.ts";
import type { Patch } from "./delta.ts";
import type { Ledger } from "./ledger.ts";
import type { Mailbox, Post } from "./mailbox.ts";
import type { Layout } from "./parts.ts";
import type { RecordEvent } from "./records.ts";
import type { Places } from "./view.ts";
import type { LogRecord } from "./wire.ts";

/** A run at a revision, with what is needed to append the next one. */
export interface Cursor<S> {
  readonly checkpoint: Checkpoint;
  readonly state: S;
  readonly position: Position;
  readonly mailbox: { readonly version: string | null; readonly content: Mailbox };
  readonly written: Written;
  /** The schema completed the state when it was loaded: the next record writes it whole. */
  readonly isCompleted?: boolean;
}

/** What is stored of a run, as far as the next record depends on it. */
export interface Written {
  /** Where the state of the newest snapshot is; `undefined` when the run was loaded without it. */
  readonly layout: Layout | undefined;
  /** Where its executions are; `undefined` when they stand in the snapshot. */
  readonly ledger: Ledger | undefined;
  /** The records since that snapshot, and their bytes. */
  readonly deltas: number;
  readonly deltaBytes: number;
  /** What it took to write the snapshot. */
  readonly snapshotBytes: number;
  readonly places: Places;
}

/** Who writes, and whom it replaces. */
export interface Ownership {
  /** The process that writes; absent when it owns nothing. */
  readonly writer?: string | undefined;
  /** The dead owner that a claim replaces. */
  readonly absent?: string | undefined;
  /** When the run is to be woken, should the record leave it unowned. */
  readonly wake?: number | undefined;
  /** How far the callers of the run are, the nearest first; see {@link LogRecord.callers}. */
  readonly callers?: readonly number[] | undefined;
  /** The cells that the record demands and changes. */
  readonly cells?: readonly CellChange[] | undefined;
  /** Aborting it ends the call; a record that is on its way then may appear all the same. */
  readonly signal?: AbortSignal | undefined;
  /** The JSON Schema of each wait by vertex and name, for the rows of waits that the record opens. */
  readonly schemas?: ((vertexId: string, name: string) => unknown) | undefined;
}

/** The content of the next record. */
export interface RecordWrite<S> extends Ownership {
  readonly events: readonly RecordEvent[];
  /** The run after these events: its revision and time are those of the record. */
  readonly checkpoint: Checkpoint;
  /** The state that the record leads to, when it changes it. */
  readonly next?: { readonly state: S; readonly patch: Patch | undefined } | undefined;
  /** The cursor was loaded without its state. Such a record ends the run: there is room for one more than for others. */
  readonly stateless?: boolean;
}

/** What to load. */
export interface LoadOptions {
  /** Whether the state is decoded. @default true */
  readonly state?: boolean;
  /** Judges which run it is before anything else of it is decoded. */
  readonly verify?: (run: RunRecord) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/** A mailbox as the store holds it, with or without what stands beside it. */
export type FoundMailbox = MailboxState;

/** Makes the next mailbox of a run from the current one, of which nothing that stands beside it is known. */
export type MailboxChange = (mailbox: Mailbox) => ChangedMailbox | Promise<ChangedMailbox>;

interface ChangedMailbox {
  readonly mailbox: Mailbox;
  /** What is to stand beside it in addition. */
  readonly posted?: readonly Post[];
  readonly closed: readonly ClosedWait[];
  readonly graphId: string;
  readonly cells?: readonly CellChange[];
}

/** A record with its place and size. */
export interface HistoryRecord extends LogRecord {
  readonly revision: number;
  readonly bytes: number;
}
