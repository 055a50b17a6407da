import type { CallOptions } from "./call_options.ts";
import type { WakeRow } from "./wake.ts";

/** Which due runs to hand out. */
export interface LeaseQuery {
  /** Runs of these versions of graphs. */
  readonly keys: readonly Pick<WakeRow, "graphId" | "graphVersion">[];
  /** Runs whose wake is due at this time or before. */
  readonly until: number;
  /** At most so many. */
  readonly limit: number;
  /** For how long nobody else is handed them, in milliseconds of the store's own clock. */
  readonly forMs: number;
  /** What was handed out before and is not wanted any more. */
  readonly back?: readonly Pick<WakeRow, "runId" | "due">[];
}

/** What was handed out. */
export interface Leased {
  /** The runs, earliest due first. */
  readonly rows: readonly WakeRow[];
  /** When the next run of these versions falls due, behind `until`. */
  readonly next?: number;
}

/**
 * Due runs, handed to one process at a time, so that workers do not race for them. A lease is no claim: whoever claims a run has
 * it, and a store may do without leases.
 *
 * Obligations, cited by tests as LEASE-1 to LEASE-3:
 *
 * 1. `take` answers due runs of these versions alone, earliest first. None of them is answered again, to any process, before
 *    `forMs` of the store's own clock have passed, unless it was given back, or has got another wake since.
 * 2. Takes at the same time are handed different runs, and none waits for another.
 * 3. What is given back under a wake that it has no more stays as it is. An answer that is lost delays what it handed out by
 *    `forMs`, no longer.
 */
export interface Leases {
  /** Hands out due runs, and takes others back. */
  take(query: LeaseQuery, options?: CallOptions): Promise<Leased>;
}
