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
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  /** The attempt that failed for good, from 1. */
  readonly attempt: number;
  /** The `data` field of the error that was thrown, where it had a serialisable one. */
  readonly data?: unknown;
  readonly phase: FaultPhase;
  /** The failed items of a map vertex, in item order. */
  readonly failures?: readonly ItemFailure[];
}

/** The failure of one item of a map vertex. */
export interface ItemFailure extends VertexFailure {
  readonly item: number;
}
