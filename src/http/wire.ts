import type { HaltKind, InterruptReason, Phase, Route, RunStatus } from "../model/run.ts";

/**
 * What travels over HTTP. Times are milliseconds since the epoch. Inputs, states, answers and infos are values: JSON in
 * which what JSON does not have is tagged, such as `{"$date": "2026-01-01T00:00:00.000Z"}`; `toJson` and `fromJson` of
 * `superstep/client` write and read them.
 */

/** What this server is and can do. */
export interface Capabilities {
  readonly protocol: "superstep";
  readonly version: 1;
  readonly features: readonly string[];
}

/** The graphs that are served, each with its versions. */
export interface GraphList {
  readonly graphs: readonly { readonly graphId: string; readonly versions: readonly string[] }[];
}

/** A run that was taken in or moved; it goes on by itself. */
export interface RunRef {
  readonly runId: string;
  readonly graphId: string;
  readonly graphVersion: string;
  readonly status: RunStatus;
}

/** The identity and bookkeeping of a run. */
export interface RunInfo extends RunRef {
  readonly reason?: InterruptReason;
  readonly cancelReason?: string;
  readonly step: number;
  readonly revision: number;
  /** The process that is at work on it. */
  readonly owner?: string;
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
  readonly parent?: { readonly runId: string; readonly revision: number };
}

/** A run as it is stored now. */
export interface RunBody {
  readonly run: RunInfo;
  readonly status: RunStatus;
  /** A value; absent where it was not asked for or is not allowed. */
  readonly state?: unknown;
  /** The vertices that ran, in order; the newest 1 000 of them. */
  readonly path: readonly string[];
  readonly reason?: InterruptReason;
  readonly waits?: readonly RunWait[];
  readonly failures?: readonly Failure[];
  readonly halt?: HaltInfo;
  readonly cancelReason?: string;
}

/** A wait that is open in a run. */
export interface RunWait {
  readonly waitId: string;
  readonly runId: string;
  readonly vertexId: string;
  readonly item?: number;
  readonly name: string;
  readonly kind: "answer" | "timer" | "interrupt";
  readonly openedAt: number;
  readonly due?: number;
  /** A value. */
  readonly info?: unknown;
}

/** A vertex that failed for good and pauses the run. */
export interface Failure {
  readonly vertexId: string;
  readonly item?: number;
  readonly step: number;
  readonly failure: Cause;
}

/** Why something failed. */
export interface Cause {
  readonly name: string;
  readonly phase: string;
  readonly attempt: number;
  readonly code?: string;
  /** What was thrown; absent where causes are not allowed. */
  readonly message?: string;
  /** A value; absent where causes are not allowed. */
  readonly data?: unknown;
  readonly failures?: readonly (Omit<Cause, "failures"> & { readonly item: number })[];
}

/** A run-level fault. */
export interface HaltInfo {
  readonly kind: HaltKind;
  readonly step: number;
  readonly vertexId?: string;
  readonly target?: string;
  /** Absent where causes are not allowed. */
  readonly message?: string;
}

/** One record of a run: what happened, and what the run was after it. */
export interface Checkpoint {
  readonly revision: number;
  readonly at: number;
  readonly bytes: number;
  readonly status: RunStatus;
  readonly reason?: InterruptReason;
  readonly phase: Phase;
  readonly step: number;
  readonly owner?: string;
  readonly frontier: readonly string[];
  readonly routes: readonly Route[];
  readonly events: readonly CheckpointEvent[];
  /** A value; absent where it was not asked for or is not allowed. */
  readonly state?: unknown;
}

/** What happened to a run, by its `type`; the other fields depend on that. */
export interface CheckpointEvent {
  readonly type: string;
  readonly vertexId?: string;
  readonly item?: number;
  readonly [field: string]: unknown;
}

/** A page of a run's history. */
export interface HistoryPage {
  readonly checkpoints: readonly Checkpoint[];
  /** The `from_revision` of the next page. */
  readonly next_revision: number;
  /** Whether there was nothing more when the page was made. */
  readonly done: boolean;
}

/** A run in the list. */
export interface RunRow extends RunRef {
  readonly reason?: InterruptReason;
  readonly tags: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly step: number;
  readonly revision: number;
  readonly openWaits: number;
}

/** A page of runs, newest created first. */
export interface RunPage {
  readonly runs: readonly RunRow[];
  readonly next_cursor?: string;
  readonly done: boolean;
}

/** An open wait in the inbox. */
export interface InboxWait {
  readonly waitId: string;
  readonly runId: string;
  readonly graphId: string;
  readonly vertexId: string;
  readonly item?: number;
  readonly name: string;
  readonly kind: "answer" | "interrupt";
  readonly openedAt: number;
  readonly deadline?: number;
  /** A value. */
  readonly info?: unknown;
  /** The JSON Schema of the answer, where one exists. */
  readonly schema?: unknown;
}

/** A page of open waits, oldest opened first. */
export interface WaitPage {
  readonly waits: readonly InboxWait[];
  readonly next_cursor?: string;
  readonly done: boolean;
}

/** An answer that was accepted. */
export interface Accepted {
  readonly runId: string;
  readonly waitId: string;
}

/** What became of a run that was to be cancelled. */
export interface CancelledRun {
  readonly runId: string;
  readonly graphId: string;
  readonly graphVersion: string;
  /** `completed` when the cancellation came too late. */
  readonly status: "cancelled" | "completed";
  readonly reason?: string;
}

/** Every error. `code` is stable; `message` is for people. */
export interface ErrorBody {
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
    /** The open waits that an answer must choose from. */
    readonly waits?: readonly string[];
  };
}

/** One thing that is wrong, and where. */
export interface Issue {
  /** Where in the value or among the parameters, such as `items.0.name`; empty for all of it. */
  readonly path: string;
  readonly message: string;
}

/** How to start a run. */
export interface StartRequest {
  /** A value that the workflow's schema takes. @default {} */
  readonly input?: unknown;
  /** @default a new one, or one derived from `Idempotency-Key` */
  readonly runId?: string;
  readonly tags?: readonly string[];
  /** When the run is cancelled if it is not over: a duration from now, or an ISO 8601 time. @default never */
  readonly deadline?: number | string;
  /** @default 10000 */
  readonly maxSteps?: number;
}

/** How to go on with a run. */
export interface ResumeRequest {
  /** A value: the answer to the one open wait, or with `all` to every one. */
  readonly payload?: unknown;
  readonly all?: boolean;
  /** Values by wait id: all are accepted, or none is. */
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly maxSteps?: number;
  /** Claims the run even though a living process owns it. @default false */
  readonly takeover?: boolean;
}

/** How to cancel a run. */
export interface CancelRequest {
  /** At most 1 000 characters. @default "requested" */
  readonly reason?: string;
}

/** How to fork a run. */
export interface ForkRequest {
  readonly revision: number;
  /** A value: another state for the step to begin with. @default the one that it began with */
  readonly state?: unknown;
  /** @default a new one */
  readonly runId?: string;
  /** @default those of the run that is forked */
  readonly tags?: readonly string[];
}

/** How to edit the state of a paused run: a whole one, or some of its fields. */
export interface StateRequest {
  /** A value in place of the whole state. */
  readonly state?: unknown;
  /** Values by field. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** Fields to remove. */
  readonly unset?: readonly string[];
}

/** How to answer a wait. */
export interface AnswerRequest {
  /** A value that the schema of the wait takes. */
  readonly value?: unknown;
}
