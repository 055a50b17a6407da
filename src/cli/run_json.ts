import type { Cursor } from "../checkpoint/log.ts";
import type { Activity } from "../engine/activity.ts";
import { type FailedVertex, type OpenWait, type RunView, waitsOf } from "../engine/result.ts";
import { stackOf } from "../engine/stacks.ts";
import { pausedFailures } from "../engine/step.ts";
import { refOf, verticesOf } from "../model/checkpoint.ts";
import { defined } from "../model/defined.ts";
import type { Halt, RunRecord } from "../model/run.ts";

/** A run as plain data, for people and as JSON. */
export interface ShownRun {
  readonly runId: string;
  readonly status: string;
  readonly reason?: string;
  readonly run: RunRecord;
  readonly state: unknown;
  readonly path: readonly string[];
  readonly waits?: readonly OpenWait[];
  /** The waits whose answer is accepted and not taken in yet. */
  readonly answered?: readonly string[];
  readonly failures?: readonly (Omit<FailedVertex, "error"> & { readonly stack?: string })[];
  readonly halt?: Halt;
  readonly cancelReason?: string;
  /** What becomes of it, where it is shown as it is now. */
  readonly activity?: Activity;
}

/** What a call returned. */
export function shownOf(view: RunView<unknown>): ShownRun {
  const { run, status, state, path } = view;
  const base = { runId: run.runId, status, run, state, path };
  if (view.status === "cancelled") return { ...base, cancelReason: view.cancelReason };
  if (view.status !== "interrupted") return base;
  const { reason, waits, answered, failures } = view;
  return {
    ...base,
    reason,
    waits,
    answered,
    failures: failures.map(({ error, ...failed }) => ({
      ...failed,
      ...defined({ stack: stackOf(error.cause) }),
    })),
    ...(view.halt === undefined ? {} : { halt: haltOf(view.halt) }),
  };
}

/** What a store holds, read without the code of the workflow: the state as of the last step that is over. */
export function shownFrom(cursor: Cursor<unknown>): ShownRun {
  const { checkpoint, state } = cursor;
  const { run, halt, nextStep: step } = checkpoint;
  const path = verticesOf(checkpoint.path);
  const base = { runId: run.runId, status: run.status, run, state, path };
  if (run.status === "cancelled") return { ...base, cancelReason: run.cancelReason ?? "" };
  if (run.status !== "interrupted") return base;
  return {
    ...base,
    ...defined({ reason: run.reason }),
    ...waitsOf(cursor),
    failures: pausedFailures(checkpoint).map((x) => ({
      ...refOf(x),
      step,
      failure: x.failure!,
      ...defined({ stack: x.stack }),
    })),
    ...defined({ halt }),
  };
}

function haltOf({ kind, step, message, vertexId, target }: Halt): Halt {
  return defined({ kind, step, message, vertexId, target });
}
