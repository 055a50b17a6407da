import type { Topology } from "../graph/mod.ts";
import type { ExecutionStatus } from "../model/checkpoint.ts";
import type { HaltKind, InterruptReason, Phase, Route, RunStatus } from "../model/run.ts";

/**
 * What travels over HTTP. Times are milliseconds since the epoch. Inputs, states, answers and infos are values: JSON in
 * which what JSON does not have is tagged, such as `{"$date": "2026-01-01T00:00:00.000Z"}`; `toJson` and `fromJson` of
 * `superstep/client` write and read them.
 */

/** What this server is and can do. */
export interface Capabilities {
  /** Tells it from other servers. */
  readonly protocol: "superstep";
  /** The version of the routes. */
  readonly version: 1;
  /** What it can do beyond what every server can. */
  readonly features: readonly string[];
}

/** The graphs that are served, each with its versions. */
export interface GraphList {
  /** Each graph once. */
  readonly graphs: readonly { readonly graphId: string; readonly versions: readonly string[] }[];
}

/** A graph as plain data, and what its runs are started with. */
export interface GraphBody extends Topology {
  /** The JSON Schema of the input, where one exists. */
  readonly input?: unknown;
}

/** A run that was taken in or moved; it goes on by itself. */
export interface RunRef {
  /** The run. */
  readonly runId: string;
  /** The graph that it runs. */
  readonly graphId: string;
  /** The version of that graph. */
  readonly graphVersion: string;
  /** What it is at. */
  readonly status: RunStatus;
}

/** The identity and bookkeeping of a run. */
export interface RunInfo extends RunRef {
  /** Why it is interrupted, if it is. */
  readonly reason?: InterruptReason;
  /** Why it was cancelled, if it was. */
  readonly cancelReason?: string;
  /** The index of the newest step. */
  readonly step: number;
  /** The number of the newest record, from 0. */
  readonly revision: number;
  /** The process that is at work on it. */
  readonly owner?: string;
  /** Takeovers from dead owners since the last real progress. */
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
  /** When it is cancelled or expires. @default never */
  readonly deadline?: number;
  /** The most super-steps. */
  readonly maxSteps: number;
  /** Words by which it is found. */
  readonly tags: readonly string[];
  /** Where a fork comes from. */
  readonly parent?: { readonly runId: string; readonly revision: number };
  /** The execution that the run works for, where there is one; its waits are those of that run. */
  readonly caller?: {
    readonly graphId: string;
    readonly runId: string;
    readonly vertexId: string;
    readonly item?: number;
  };
}

/** A run as it is stored now. */
export interface RunBody extends RunRef {
  /** Its identity and bookkeeping. */
  readonly run: RunInfo;
  /** A value; absent where it was not asked for or is not allowed. */
  readonly state?: unknown;
  /** The vertices that ran, in order; the newest 1 000 of them. */
  readonly path: readonly string[];
  /** How the vertices that have begun stand, by id; those of steps before the newest are done. */
  readonly vertices: Readonly<Record<string, ExecutionStatus>>;
  /** Why it is interrupted, if it is. */
  readonly reason?: InterruptReason;
  /** When it goes on by itself, if it does. */
  readonly due?: number;
  /** The ids of the waits whose answer is accepted, and taken in by whoever goes on with the run. */
  readonly answered?: readonly string[];
  /** The waits that are open. */
  readonly waits?: readonly RunWait[];
  /** What failed for good. */
  readonly failures?: readonly Failure[];
  /** The run-level fault, if there is one. */
  readonly halt?: HaltInfo;
  /** Why it was cancelled, if it was. */
  readonly cancelReason?: string;
}

/** A wait that is open in a run. */
export interface RunWait {
  /** The id of the wait. */
  readonly waitId: string;
  /** The run. */
  readonly runId: string;
  /** The vertex. */
  readonly vertexId: string;
  /** The index of the item, in a map vertex. */
  readonly item?: number;
  /** The name. */
  readonly name: string;
  /** What tells it from others of its name that are open beside it. */
  readonly key?: string;
  /** What sort it is. */
  readonly kind: "answer" | "timer" | "interrupt";
  /** When it was opened. */
  readonly openedAt: number;
  /** When it expires, or, for a timer, when it fires. */
  readonly due?: number;
  /** A value. */
  readonly info?: unknown;
}

/** A vertex that failed for good and pauses the run. */
export interface Failure {
  /** The vertex. */
  readonly vertexId: string;
  /** The index of the item, in a map vertex. */
  readonly item?: number;
  /** The index of the newest step. */
  readonly step: number;
  /** Why. */
  readonly failure: Cause;
}

/** Why something failed. */
export interface Cause {
  /** The name of the error. */
  readonly name: string;
  /** The user code that failed. */
  readonly phase: string;
  /** The attempt, from 1. */
  readonly attempt: number;
  /** The stable code, where there is one. */
  readonly code?: string;
  /** What was thrown; absent where causes are not allowed. */
  readonly message?: string;
  /** A value; absent where causes are not allowed. */
  readonly data?: unknown;
  /** What failed for good. */
  readonly failures?: readonly (Omit<Cause, "failures"> & { readonly item: number })[];
}

/** A run-level fault. */
export interface HaltInfo {
  /** What sort it is. */
  readonly kind: HaltKind;
  /** The index of the newest step. */
  readonly step: number;
  /** The vertex. */
  readonly vertexId?: string;
  /** The target that was refused. */
  readonly target?: string;
  /** Absent where causes are not allowed. */
  readonly message?: string;
}

/** One record of a run: what happened, and what the run was after it. */
export interface Checkpoint {
  /** The number of the newest record, from 0. */
  readonly revision: number;
  /** When it was written. */
  readonly at: number;
  /** The size of the record as stored. */
  readonly bytes: number;
  /** What it is at. */
  readonly status: RunStatus;
  /** Why it is interrupted, if it is. */
  readonly reason?: InterruptReason;
  /** Whether a step had begun, was under way, paused, or halted. */
  readonly phase: Phase;
  /** The index of the newest step. */
  readonly step: number;
  /** The process that owned the run, if one did. */
  readonly owner?: string;
  /** The vertices of the step. */
  readonly frontier: readonly string[];
  /** The edges taken. */
  readonly routes: readonly Route[];
  /** What happened, in order. */
  readonly events: readonly CheckpointEvent[];
  /** A value; absent where it was not asked for or is not allowed. */
  readonly state?: unknown;
}

/** What happened to a run, by its `type`; the other fields depend on that. */
export interface CheckpointEvent {
  /** What sort of event it is. */
  readonly type: string;
  /** The vertex. */
  readonly vertexId?: string;
  /** The index of the item, in a map vertex. */
  readonly item?: number;
  /** Whatever else it says. */
  readonly [field: string]: unknown;
}

/** A page of a run's history. */
export interface HistoryPage {
  /** The records, in order. */
  readonly checkpoints: readonly Checkpoint[];
  /** The `from_revision` of the next page. */
  readonly next_revision: number;
  /** Whether there was nothing more when the page was made. */
  readonly done: boolean;
}

/** A run in the list. */
export interface RunRow extends RunRef {
  /** Why it is interrupted, if it is. */
  readonly reason?: InterruptReason;
  /** Words by which it is found. */
  readonly tags: readonly string[];
  /** When it was started or submitted. */
  readonly createdAt: number;
  /** When its newest record was written. */
  readonly updatedAt: number;
  /** The index of the newest step. */
  readonly step: number;
  /** The number of the newest record, from 0. */
  readonly revision: number;
  /** How many waits were open then. */
  readonly openWaits: number;
}

/** A page of runs, newest created first. */
export interface RunPage {
  /** The rows, in order. */
  readonly runs: readonly RunRow[];
  /** The `cursor` of the next page, if there is one. */
  readonly next_cursor?: string;
  /** Whether there was nothing more when the page was made. */
  readonly done: boolean;
}

/** An open wait in the inbox. */
export interface InboxWait {
  /** The id of the wait. */
  readonly waitId: string;
  /** The run. */
  readonly runId: string;
  /** The graph that it runs. */
  readonly graphId: string;
  /** The vertex. */
  readonly vertexId: string;
  /** The index of the item, in a map vertex. */
  readonly item?: number;
  /** The name. */
  readonly name: string;
  /** What tells it from others of its name that are open beside it. */
  readonly key?: string;
  /** What sort it is. */
  readonly kind: "answer" | "interrupt";
  /** When it was opened. */
  readonly openedAt: number;
  /** When it is cancelled or expires. @default never */
  readonly deadline?: number;
  /** A value. */
  readonly info?: unknown;
  /** The JSON Schema of the answer, where one exists. */
  readonly schema?: unknown;
}

/** A page of open waits, oldest opened first. */
export interface WaitPage {
  /** The waits that are open. */
  readonly waits: readonly InboxWait[];
  /** The `cursor` of the next page, if there is one. */
  readonly next_cursor?: string;
  /** Whether there was nothing more when the page was made. */
  readonly done: boolean;
}

/** An answer that was accepted. */
export interface Accepted {
  /** The run. */
  readonly runId: string;
  /** The id of the wait. */
  readonly waitId: string;
}

/** What became of a run that was to be cancelled. */
export interface CancelledRun {
  /** The run. */
  readonly runId: string;
  /** The graph that it runs. */
  readonly graphId: string;
  /** The version of that graph. */
  readonly graphVersion: string;
  /** `completed` when the cancellation came too late. */
  readonly status: "cancelled" | "completed";
  /** Why it is interrupted, if it is. */
  readonly reason?: string;
}

/** Every error. `code` is stable; `message` is for people. */
export interface ErrorBody {
  /** What went wrong. */
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** Whether the same request may succeed later. */
    readonly retryable: boolean;
    /** What is wrong with what was sent. */
    readonly issues?: readonly Issue[];
    /** Why an answer was not accepted. */
    readonly reason?: string;
    /** The revision at which another answer was accepted. */
    readonly revision?: number;
    /** The first revision that is kept, where an earlier one was asked for. */
    readonly first?: number;
    /** The open waits that an answer must choose from. */
    readonly waits?: readonly string[];
  };
}

/** One thing that is wrong, and where. */
export interface Issue {
  /** Where in the value or among the parameters, such as `items.0.name`; empty for all of it. */
  readonly path: string;
  /** In words. */
  readonly message: string;
}
