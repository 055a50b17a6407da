import { RunAbortedError, RunCancelledError, RunDeadlineError } from "../errors.ts";
import type { RunRecord } from "../model/run.ts";

/** Why the bodies of a run are stopped: it was cancelled, lost to another process, or let go. */
export function endOf(run: RunRecord, lost: Error | undefined, reason: unknown): Error {
  const { runId, revision, status, cancelReason, cancelledAt = 0, deadline = Infinity } = run;
  if (status !== "cancelled") return lost ?? new RunAbortedError(runId, revision, { cause: reason });
  return cancelReason === "deadline" && deadline <= cancelledAt
    ? new RunDeadlineError(runId)
    : new RunCancelledError(runId, cancelReason ?? "");
}
