/** The user code in which a vertex failed. */
export type FaultPhase =
  | "select"
  | "execute"
  | "reduce"
  | "record"
  | "match"
  | "retry"
  | "serialize"
  | "timeout"
  | "wait";

/** A failure as plain data: what `record` receives, the same live and after a reload. */
export interface VertexFailure {
  /** The name of the error. */
  readonly name: string;
  /** The text of the error. Of every text at most 16 KiB are kept, a lone surrogate in it is U+FFFD. */
  readonly message: string;
  /** The `code` of the error, where it is a text. */
  readonly code?: string;
  /** The attempt that failed for good, from 1. */
  readonly attempt: number;
  /** The `data` field of the error, where it can be stored; a text in its place says where it was above 64 KiB. */
  readonly data?: unknown;
  /** The user code that failed. */
  readonly phase: FaultPhase;
  /** The failed items of a map vertex, in item order. */
  readonly failures?: readonly ItemFailure[];
  /** Where `record` failed itself: what it was to record. */
  readonly cause?: VertexFailure;
}

/** The failure of one item of a map vertex. */
export interface ItemFailure extends VertexFailure {
  /** The index of the item. */
  readonly item: number;
}
