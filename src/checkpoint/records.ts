import type { ExecutionRef } from "../model/checkpoint.ts";
import type { VertexFailure } from "../model/failure.ts";
import type { Grant, Queued, RunFlow } from "../model/flow.ts";
import type { Halt, InterruptReason, Route, RunCaller, RunParent } from "../model/run.ts";
import type { WaitCloseReason, WaitOpening, WaitResult } from "../model/wait.ts";

/**
 * What a record says happened. Facts come from bodies, clocks and mailboxes; decisions (`folded`, `routed`, `halted`,
 * `closed`, `released`, `completed`, `cancelled`) are the engine's, made from the facts before them in the same record.
 */
export type RecordEvent =
  /** Revision 0. */
  | {
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
    readonly flow?: RunFlow;
  }
  /** Revision 0 of a run that was forked from another one; everything else stands in its snapshot. */
  | { readonly type: "forked"; readonly parent: RunParent; readonly form: string }
  /**
   * The state that the current step began with was replaced; the record holds its change. `maps` are map vertices of which
   * nothing is settled and that have other items now; there is something to run then.
   */
  | { readonly type: "updated"; readonly maps?: readonly Split[] }
  /** A run moved to another version of its graph; the record holds its state anew. */
  | {
    readonly type: "adopted";
    readonly from: string;
    readonly to: string;
    /** As in `created`. */
    readonly form: string;
    /** Where it begins anew, since it had begun no body; absent where it goes on as it stands. */
    readonly entry?: string;
  }
  /** As `adopted`, by migrations: `vertices` are the ids that vertices have since, `null` for those that are gone. */
  | {
    readonly type: "migrated";
    readonly from: string;
    readonly to: string;
    readonly form: string;
    readonly vertices: ReadonlyMap<string, string | null>;
    readonly entry?: string;
  }
  /** A process became the owner; `recovery`: whether a dead owner was replaced. */
  | {
    readonly type: "claimed";
    readonly owner: string;
    readonly recovery: boolean;
    readonly maxSteps?: number;
  }
  /**
   * The owner let go. `running` after an abort or to wait out a recovery delay, `interrupted` when nothing can run.
   * `recovery`: whether a dead owner was replaced by nobody yet.
   */
  | {
    readonly type: "released";
    readonly status: "running" | "interrupted";
    readonly reason?: InterruptReason;
    readonly recovery?: boolean;
  }
  /** A resume: these failed executions get fresh attempts, and a halt is lifted. */
  | { readonly type: "retried"; readonly executions: readonly ExecutionRef[] }
  /** What a map vertex was split into; recorded with the first fact of any of its items. */
  | ({ readonly type: "mapped" } & Split)
  /** An attempt failed and another one follows at `nextAt`. */
  | ({
    readonly type: "attempt_failed";
    readonly at: number;
    readonly failure: VertexFailure;
    readonly nextAt: number;
    readonly spentMs: number;
    readonly stack?: string;
  } & ExecutionRef)
  /** The result of a `ctx.once`. */
  | ({ readonly type: "once"; readonly name: string; readonly value: unknown } & ExecutionRef)
  /** A wait, timer or interrupt was opened. */
  | ({ readonly type: "opened" } & ExecutionRef & WaitOpening)
  /** A wait has its result; the order of these events numbers the results. */
  | ({ readonly type: "resolved"; readonly id: string; readonly result: WaitResult } & ExecutionRef)
  /** A wait was closed without a result. */
  | ({ readonly type: "closed"; readonly id: string; readonly reason: WaitCloseReason } & ExecutionRef)
  /** The code refused an accepted answer; the same opening is open again under a new id. */
  | ({
    readonly type: "reopened";
    readonly id: string;
    readonly newId: string;
    readonly at: number;
    readonly problem: string;
  } & ExecutionRef)
  /** The body waits for nothing but its open waits. */
  | ({
    readonly type: "suspended";
    readonly startedAt: number;
    readonly at: number;
    readonly spentMs: number;
  } & ExecutionRef)
  /**
   * A suspended body went on by ordinary work of its own: where it is, or, when that was `posted` by a body whose run had
   * been released, by running again. `slow`: bodies of the execution are given more time from then on, before they are
   * suspended.
   */
  | ({ readonly type: "returned"; readonly posted?: true; readonly slow?: true } & ExecutionRef)
  /** An execution ended well. Its output is left out when `folded` follows in the same record. */
  | ({
    readonly type: "done";
    readonly attempt: number;
    readonly startedAt: number;
    readonly at: number;
    readonly output?: unknown;
  } & ExecutionRef)
  /** An execution, or the reduction of its output, failed for good. */
  | ({
    readonly type: "failed";
    readonly startedAt: number;
    readonly at: number;
    readonly failure: VertexFailure;
    /** The error handler that takes over: its route, in records of earlier releases its index; absent under "pause". */
    readonly handler?: string | number;
    /** Where the error was thrown, with what caused it. */
    readonly stack?: string;
  } & ExecutionRef)
  /** Every outcome of the step is part of the state; the record holds its change. `finish`: whether a finish is done. */
  | { readonly type: "folded"; readonly finish: boolean }
  /** The step is over: where the run goes next. */
  | {
    readonly type: "routed";
    readonly routes: readonly Route[];
    readonly frontier: readonly string[];
    /** The joins that go on waiting, with the sources that have arrived; absent when none does. */
    readonly arrivals?: ReadonlyMap<string, readonly string[]>;
  }
  /** A run-level fault; the run is released. */
  | { readonly type: "halted"; readonly halt: Halt }
  /** The frontier is empty and a finish vertex is done. */
  | { readonly type: "completed" }
  /** The run was cancelled, by a caller or by its deadline. */
  | { readonly type: "cancelled"; readonly reason: string }
  /** The run waits for a permit in a queue, or, with `until`, for a time. */
  | ({ readonly type: "queued" } & Queued)
  /** The run got a permit. */
  | ({ readonly type: "granted" } & Grant)
  /** The run gave a permit back; `n` is the number of that. */
  | ({ readonly type: "freed" } & Grant);

/** The event of one type. */
export type EventOf<T extends RecordEvent["type"]> = Extract<RecordEvent, { type: T }>;

/**
 * The items of a map vertex.
 *
 * @internal
 */
export interface Split {
  readonly vertexId: string;
  readonly count: number;
  readonly digest: string;
}
