/** Where a run stands. There is no "failed": a failed vertex leaves the run `interrupted`, ready to be resumed. */
export type RunStatus = "running" | "completed" | "interrupted" | "cancelled";

/**
 * Why a run is `interrupted`; the first that holds: `halted` (a run-level fault), `errored` (a failed vertex),
 * `awaiting` (a person or an event), `sleeping` (only timers and backoff).
 */
export type InterruptReason = "halted" | "errored" | "awaiting" | "sleeping";

/** What the newest record of a run is: the start of a step, in the middle of it, paused in it, or halted. */
export type Phase = "routed" | "running" | "paused" | "halted";

/** The identity and bookkeeping of a run. Times are milliseconds since the epoch. */
export interface RunRecord {
  readonly runId: string;
  readonly graphId: string;
  readonly graphVersion: string;
  readonly status: RunStatus;
  readonly reason?: InterruptReason;
  readonly cancelReason?: string;
  /** The index of the newest super-step that has begun; 0 before the first one. */
  readonly step: number;
  readonly revision: number;
  /** The id of the process that owns the run, while one does. */
  readonly owner?: string;
  /** Takeovers from dead owners since the last record of real progress. */
  readonly recoveries: number;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly updatedAt: number;
  readonly interruptedAt?: number;
  readonly completedAt?: number;
  readonly cancelledAt?: number;
  readonly deadline?: number;
  readonly maxSteps: number;
  readonly tags: readonly string[];
  /** The canonical digest of the input as given to `start`. */
  readonly inputDigest: string;
  /** Where a fork comes from. Information only: the fork needs nothing of that run, which may be gone. */
  readonly parent?: RunParent;
}

/** The run and revision that a fork was made of. */
export interface RunParent {
  readonly runId: string;
  readonly revision: number;
}

/** One edge taken: from a vertex that finished to one that it activated. */
export interface Route {
  readonly from: string;
  readonly to: string;
  readonly kind: "static" | "conditional" | "error";
}

/** A run-level fault. */
export interface Halt {
  readonly kind: HaltKind;
  /** For `max_steps` the step that was refused, otherwise the step that had just run. */
  readonly step: number;
  readonly message: string;
  /** The vertex at fault, where there is one. */
  readonly vertexId?: string;
  /** The target that was refused, for `undeclared_target`; empty when nothing was picked. */
  readonly target?: string;
}

/** The kinds of {@link Halt}. */
export type HaltKind =
  | "condition"
  | "undeclared_target"
  | "dead_end"
  | "max_steps"
  | "max_recoveries"
  | "load_fault";
