import type { ExecutionRef } from "../model/checkpoint.ts";
import type { VertexFailure } from "../model/failure.ts";
import type { Halt, InterruptReason, Route, RunCaller, RunParent } from "../model/run.ts";
import type { WaitCloseReason, WaitOpening, WaitResult } from "../model/wait.ts";

/**
 * What a record says happened. Facts come from bodies, clocks and mailboxes; decisions (`folded`, `routed`, `halted`,
 * `closed`, `released`, `completed`, `cancelled`) are the engine's, made from the facts before them in the same record.
 */
export type RecordEvent =
  | Created
  | Forked
  | Updated
  | Claimed
  | Released
  | Retried
  | Mapped
  | AttemptFailed
  | OnceRecorded
  | WaitOpened
  | WaitResolved
  | WaitClosed
  | WaitReopened
  | Suspended
  | Returned
  | Done
  | Failed
  | Folded
  | Routed
  | Halted
  | Completed
  | Cancelled;

/**
 * Revision 0.
 *
 * @internal
 */
export interface Created {
  readonly type: "created";
  readonly runId: string;
  readonly graphId: string;
  readonly graphVersion: string;
  /** The canonical form that the version hashes: it tells what differs when versions do. */
  readonly form: string;
  readonly entry: string;
  readonly owner?: string;
  readonly maxSteps: number;
  readonly deadline?: number;
  readonly tags: readonly string[];
  readonly inputDigest: string;
  readonly caller?: RunCaller;
  readonly waitSalt?: string;
}

/**
 * Revision 0 of a run that was forked from another one; everything else stands in its snapshot.
 *
 * @internal
 */
export interface Forked {
  readonly type: "forked";
  readonly parent: RunParent;
  /** As in {@link Created}. */
  readonly form: string;
}

/**
 * The state that the current step began with was replaced; the record holds its change.
 *
 * @internal
 */
export interface Updated {
  readonly type: "updated";
  /** Map vertices of which nothing is settled and that have other items now; there is something to run then. */
  readonly maps?: readonly Split[];
}

/**
 * A process became the owner.
 *
 * @internal
 */
export interface Claimed {
  readonly type: "claimed";
  readonly owner: string;
  /** Whether a dead owner was replaced. */
  readonly recovery: boolean;
  readonly maxSteps?: number;
}

/**
 * The owner let go. `running` after an abort or to wait out a recovery delay, `interrupted` when nothing can run.
 *
 * @internal
 */
export interface Released {
  readonly type: "released";
  readonly status: "running" | "interrupted";
  readonly reason?: InterruptReason;
  /** Whether a dead owner was replaced by nobody yet. */
  readonly recovery?: boolean;
}

/**
 * A resume: these failed executions get fresh attempts, and a halt is lifted.
 *
 * @internal
 */
export interface Retried {
  readonly type: "retried";
  readonly executions: readonly ExecutionRef[];
}

/**
 * What a map vertex was split into; recorded with the first fact of any of its items.
 *
 * @internal
 */
export interface Mapped extends Split {
  readonly type: "mapped";
}

/** The items of a map vertex. */
export interface Split {
  readonly vertexId: string;
  readonly count: number;
  readonly digest: string;
}

/**
 * An attempt failed and another one follows at `nextAt`.
 *
 * @internal
 */
export interface AttemptFailed extends ExecutionRef {
  readonly type: "attempt_failed";
  readonly at: number;
  readonly failure: VertexFailure;
  readonly nextAt: number;
  readonly spentMs: number;
}

/**
 * The result of a `ctx.once`.
 *
 * @internal
 */
export interface OnceRecorded extends ExecutionRef {
  readonly type: "once";
  readonly name: string;
  readonly value: unknown;
}

/**
 * A wait, timer or interrupt was opened.
 *
 * @internal
 */
export interface WaitOpened extends ExecutionRef, WaitOpening {
  readonly type: "opened";
}

/**
 * A wait has its result; the order of these events numbers the results.
 *
 * @internal
 */
export interface WaitResolved extends ExecutionRef {
  readonly type: "resolved";
  readonly id: string;
  readonly result: WaitResult;
}

/**
 * A wait was closed without a result.
 *
 * @internal
 */
export interface WaitClosed extends ExecutionRef {
  readonly type: "closed";
  readonly id: string;
  readonly reason: WaitCloseReason;
}

/**
 * The code refused an accepted answer; the same opening is open again under a new id.
 *
 * @internal
 */
export interface WaitReopened extends ExecutionRef {
  readonly type: "reopened";
  readonly id: string;
  readonly newId: string;
  readonly at: number;
  readonly problem: string;
}

/**
 * The body waits for nothing but its open waits.
 *
 * @internal
 */
export interface Suspended extends ExecutionRef {
  readonly type: "suspended";
  readonly startedAt: number;
  readonly at: number;
  readonly spentMs: number;
}

/**
 * A suspended body went on by ordinary work of its own: where it is, or, when that was `posted` by a body whose run had
 * been released, by running again.
 *
 * @internal
 */
export interface Returned extends ExecutionRef {
  readonly type: "returned";
  readonly posted?: true;
  /** Bodies of the execution are given more time from then on, before they are suspended. */
  readonly slow?: true;
}

/**
 * An execution ended well. Its output is left out when `folded` follows in the same record.
 *
 * @internal
 */
export interface Done extends ExecutionRef {
  readonly type: "done";
  readonly attempt: number;
  readonly startedAt: number;
  readonly at: number;
  readonly output?: unknown;
}

/**
 * An execution, or the reduction of its output, failed for good.
 *
 * @internal
 */
export interface Failed extends ExecutionRef {
  readonly type: "failed";
  readonly startedAt: number;
  readonly at: number;
  readonly failure: VertexFailure;
  /** The error handler that takes over: its route, in records of earlier releases its index; absent under "pause". */
  readonly handler?: string | number;
}

/**
 * Every outcome of the step is part of the state; the record holds the state's change.
 *
 * @internal
 */
export interface Folded {
  readonly type: "folded";
  /** Whether a finish vertex is done in this step. */
  readonly finish: boolean;
}

/**
 * The step is over: where the run goes next.
 *
 * @internal
 */
export interface Routed {
  readonly type: "routed";
  readonly routes: readonly Route[];
  readonly frontier: readonly string[];
  /** The joins that go on waiting, with the sources that have arrived; absent when none does. */
  readonly arrivals?: ReadonlyMap<string, readonly string[]>;
}

/**
 * A run-level fault; the run is released.
 *
 * @internal
 */
export interface Halted {
  readonly type: "halted";
  readonly halt: Halt;
}

/**
 * The frontier is empty and a finish vertex is done.
 *
 * @internal
 */
export interface Completed {
  readonly type: "completed";
}

/**
 * The run was cancelled, by a caller or by its deadline.
 *
 * @internal
 */
export interface Cancelled {
  readonly type: "cancelled";
  readonly reason: string;
}
