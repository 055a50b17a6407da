import type { Activity } from "../engine/activity.ts";
import type { Emitted } from "../engine/emits.ts";
import type { HistoryEntry, InboxEntry } from "../engine/history.ts";
import type { Cancellation } from "../engine/operations/cancel.ts";
import type { FailedVertex, OpenWait, ResultBase } from "../engine/result.ts";
import type * as engine from "../engine/stream.ts";
import type { WorkerRow } from "../engine/workers.ts";
import type { Topology } from "../graph/mod.ts";
import type { Halt, InterruptReason, RunRecord, RunStatus } from "../model/run.ts";
import type { CatalogRow } from "../store/store.ts";

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
export type RunRef = Pick<RunRecord, "runId" | "graphId" | "graphVersion" | "status">;

/** The identity and bookkeeping of a run, without what values or ids of waits could be guessed from. */
export type RunInfo = Omit<RunRecord, "inputDigest" | "waitSalt">;

/** A run as it is stored now. */
export interface RunBody extends RunRef, Pick<ResultBase<unknown>, "path" | "vertices"> {
  /** Its identity and bookkeeping. */
  readonly run: RunInfo;
  /** A value; absent where it was not asked for or is not allowed. */
  readonly state?: unknown;
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
  /** What becomes of it; absent when it is over, and of an earlier revision. */
  readonly activity?: Activity;
}

/** A wait that is open in a run; its `info` is a value. */
export type RunWait = OpenWait;

/** A vertex that failed for good and pauses the run. */
export interface Failure extends Pick<FailedVertex, "vertexId" | "item" | "step"> {
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
  /** Where it was thrown, with what caused it; absent where causes are not allowed. */
  readonly stack?: string;
  /** What failed for good. */
  readonly failures?: readonly (Omit<Cause, "failures" | "stack"> & { readonly item: number })[];
}

/** A run-level fault. */
export interface HaltInfo extends Omit<Halt, "message"> {
  /** Absent where causes are not allowed. */
  readonly message?: string;
}

/** One record of a run: what happened, and what the run was after it. */
export interface Checkpoint extends Omit<HistoryEntry, "events"> {
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

/** What a body emitted. */
export interface Emit extends Omit<Emitted, "data"> {
  /** A value; absent where it is not allowed. */
  readonly data?: unknown;
}

/** What happens to a run, in order. */
export type StreamEvent =
  /** A record of the run. */
  | ({ readonly type: "checkpoint"; readonly id: string } & Checkpoint)
  /** Something that a body emitted. */
  | ({ readonly type: "emit"; readonly id: string } & Emit)
  /** A body runs again, or emits are missing. */
  | Exclude<engine.StreamEvent, { type: "checkpoint" | "emit" }>;

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
export interface RunRow extends Omit<CatalogRow, "status" | "reason"> {
  /** What it is at. */
  readonly status: RunStatus;
  /** Why it is interrupted, if it is, or that it waits for a permit. */
  readonly reason?: InterruptReason | "queued";
  /** What becomes of it; absent when it is over. */
  readonly activity?: Activity;
}

/** The workers of the store that serve any of the graphs of this server. */
export interface WorkerList {
  /** The oldest first, each with those graphs alone. */
  readonly workers: readonly WorkerRow[];
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

/** An open wait in the inbox; its `info` is a value. */
export type InboxWait = InboxEntry;

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
export interface CancelledRun extends Cancellation, Pick<RunRecord, "graphId" | "graphVersion"> {}

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
