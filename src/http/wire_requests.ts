/** What requests hold, as `wire.ts` says what travels. */

import type { Priority } from "../model/flow.ts";

/** How to start a run. */
export interface StartRequest {
  /** A value that the workflow's schema takes. @default {} */
  readonly input?: unknown;
  /** The run. @default a new one, or one derived from `Idempotency-Key` */
  readonly runId?: string;
  /** Words by which it is found. */
  readonly tags?: readonly string[];
  /** When the run is cancelled if it is not over: a duration from now, or an ISO 8601 time. @default never */
  readonly deadline?: number | string;
  /** The most super-steps. @default 10000 */
  readonly maxSteps?: number;
  /** How urgent it is among runs that wait for the same permit. @default "normal" */
  readonly priority?: Priority;
}

/** How to go on with a run. */
export interface ResumeRequest {
  /** A value: the answer to the one open wait, or with `all` to every one. */
  readonly payload?: unknown;
  /** Whether `payload` may answer several waits. @default false */
  readonly all?: boolean;
  /** Values by wait id: all are accepted, or none is. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** The most super-steps. */
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
  /** The number of the newest record, from 0. */
  readonly revision: number;
  /** A value: another state for the step to begin with. @default the one that it began with */
  readonly state?: unknown;
  /** The run. @default a new one */
  readonly runId?: string;
  /** Words by which it is found. @default those of the run that is forked */
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
  readonly value: unknown;
}
