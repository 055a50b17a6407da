import type { Grant, Queued, RunFlow } from "./flow.ts";
import { END } from "./ids.ts";

/** Where a run stands. There is no "failed": a failed vertex leaves the run `interrupted`, ready to be resumed. */
export type RunStatus = "running" | "completed" | "interrupted" | "cancelled";

/** Whether a run of this status does nothing any more. */
export function isOver(status: RunStatus): status is "completed" | "cancelled" {
  return status === "completed" || status === "cancelled";
}

/**
 * Why a run is `interrupted`; the first that holds: `halted` (a run-level fault), `errored` (a failed vertex),
 * `awaiting` (a person or an event), `sleeping` (only timers and backoff).
 */
export type InterruptReason = "halted" | "errored" | "awaiting" | "sleeping";

/** What the newest record of a run is: the start of a step, in the middle of it, paused in it, or halted. */
export type Phase = "routed" | "running" | "paused" | "halted";

/** The identity and bookkeeping of a run. Times are milliseconds since the epoch. */
export interface RunRecord {
  /** A UUIDv7, or the id given to `start`. */
  readonly runId: string;
  /** The graph that it runs. */
  readonly graphId: string;
  /** The version of the graph that it was begun under, or has moved to. */
  readonly graphVersion: string;
  /** What it is at. */
  readonly status: RunStatus;
  /** Why it is interrupted, if it is. */
  readonly reason?: InterruptReason;
  /** Why it was cancelled, if it was. */
  readonly cancelReason?: string;
  /** The index of the newest super-step that has begun; 0 before the first one. */
  readonly step: number;
  /** The number of its newest record, from 0. */
  readonly revision: number;
  /** The id of the process that owns the run, while one does. */
  readonly owner?: string;
  /** Takeovers from dead owners since the last record of real progress. */
  readonly recoveries: number;
  /** When it was started or submitted. */
  readonly createdAt: number;
  /** When a process first began to work on it. */
  readonly startedAt?: number;
  /** When its newest record was written. */
  readonly updatedAt: number;
  /** When it was last interrupted. */
  readonly interruptedAt?: number;
  /** When it completed. */
  readonly completedAt?: number;
  /** When it was cancelled. */
  readonly cancelledAt?: number;
  /** When it is cancelled if it is not over. @default never */
  readonly deadline?: number;
  /** The most super-steps. */
  readonly maxSteps: number;
  /** Words by which `list` finds it, sorted. */
  readonly tags: readonly string[];
  /** The canonical digest of the input as given to `start`. */
  readonly inputDigest: string;
  /** What the ids of its waits are made of beside its own, where that may be used again for another run. */
  readonly waitSalt?: string;
  /** Where a fork comes from. Information only: the fork needs nothing of that run, which may be gone. */
  readonly parent?: RunParent;
  /** The execution that this run works for, and by which it is asked: see `caller` of `start`. */
  readonly caller?: RunCaller;
  /** What limits it, where its workflow declares limits. */
  readonly flow?: RunFlow;
  /** The permits that it holds. */
  readonly permits?: readonly Grant[];
  /** What it waits for in a queue, while it does. Its status is `running` then. */
  readonly queued?: Queued;
  /** The revision that moved it to its version, where one did. */
  readonly versionSince?: number;
}

/** The execution of a vertex that started a run to work for it. */
export interface RunCaller {
  /** The graph of the run that calls. */
  readonly graphId: string;
  /** The run that calls. */
  readonly runId: string;
  /** The vertex that calls. */
  readonly vertexId: string;
  /** The index of the item that calls, in a map vertex. */
  readonly item?: number;
  /** The step that calls, where the run was called with the context of a body. */
  readonly step?: number;
  /** Tells the run that calls from one that had its id before, or has it later; given as `step` is. */
  readonly epoch?: string;
}

/** The run and revision that a fork was made of. */
export interface RunParent {
  /** The run that was forked. */
  readonly runId: string;
  /** The record that it was forked after. */
  readonly revision: number;
}

/** One edge taken: from a vertex that finished to one that it activated. */
export interface Route {
  /** The vertex that finished. */
  readonly from: string;
  /** The vertex that it activated, or `END`. */
  readonly to: string;
  /** Whether the edge is static, was picked, or leads on from a failure. */
  readonly kind: "static" | "conditional" | "error";
}

/** Whether a branch has ended. */
export function hasEnded(routes: readonly Route[]): boolean {
  return routes.some(({ to }) => to === END);
}

/** A run-level fault. */
export interface Halt {
  /** What went wrong. */
  readonly kind: HaltKind;
  /** For `max_steps` the step that was refused, otherwise the step that had just run. */
  readonly step: number;
  /** In words. */
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
