import type { Cursor } from "../checkpoint/log.ts";
import type { RecordEvent } from "../checkpoint/records.ts";

/** The facts that take a run over. */
export interface Claim extends FormerOwner {
  readonly facts: readonly RecordEvent[];
}

/** Whom a claim replaces. */
export interface FormerOwner {
  /** A dead owner, whose key must be gone. */
  readonly absent?: string;
  /** A living owner. */
  readonly replaced?: string;
}

/** How a run left its coordinator. */
export interface Ending<S> {
  readonly cursor: Cursor<S>;
  /** Live errors by execution key; under the empty key that of a halt. */
  readonly errors: ReadonlyMap<string, unknown>;
}
