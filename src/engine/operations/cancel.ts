import { amend } from "../../checkpoint/amend.ts";
import { evolve } from "../../checkpoint/evolve.ts";
import type { Cursor } from "../../checkpoint/log.ts";
import type { RecordEvent } from "../../checkpoint/records.ts";
import { revise } from "../../checkpoint/revise.ts";
import { CheckpointNotFoundError, CONFLICTS, isSuperstepError, RunCancelledError } from "../../errors.ts";
import type { Checkpoint } from "../../model/checkpoint.ts";
import { announce } from "../failure_log.ts";
import { calledBy } from "../child_runs.ts";
import type { FormerOwner } from "../claim.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { passOn } from "../flow/gate.ts";
import { resultsDue } from "../mailbox_facts.ts";
import { checkedReason, checkedRunId } from "../options.ts";
import { LEASE_MS } from "../owner_watch.ts";
import { POLL_MS } from "../ownership.ts";
import { returnToCaller } from "../released_bodies.ts";
import { runTime } from "../run_time.ts";
import { releasedBodiesOf } from "../released_bodies.ts";
import { closings } from "../step.ts";
import { checkOwner } from "../owner_check.ts";

/** What became of a run that was to be cancelled. */
export interface Cancellation {
  /** The run that was to be cancelled. */
  readonly runId: string;
  /** `completed` when the run had reached its end before. */
  readonly status: "cancelled" | "completed";
  /** Why it was cancelled: when it was cancelled more than once, the reason that was first. */
  readonly reason?: string;
}

/**
 * Cancels a run of any graph and version; neither its state nor its code is needed.
 *
 * 1. A run that nobody is at work on is cancelled by a record; of a run at work the mailbox asks its owner for that record.
 *    Both check the mailbox, so that against an answer, a claim, a release and a completion one of the two wins.
 * 2. Once the mailbox asks, the run can come to no other end: its owner, and whoever claims the run, must take that in.
 * 3. What was accepted, due or known before the cancellation is recorded with it.
 * 4. The runs that work for it are cancelled with it.
 */
export async function cancelRun<S>(
  deps: RunnerDeps<S>,
  runId: string,
  reason = "requested",
): Promise<Cancellation> {
  checkedRunId(runId, "cancel");
  checkedReason(reason, "cancel");
  const end = await endRun(deps, runId, reason);
  if (end.status === "cancelled") {
    releasedBodiesOf(deps.store).abort(runId, new RunCancelledError(runId, end.reason ?? reason));
    await cancelCalled(deps, runId);
  }
  return end;
}

/**
 * Cancels the runs that work for a cancelled run, also when it was cancelled before: whoever was to do it may have died.
 * They go on for nobody, so that it matters only to those at work, and to the lists.
 */
export async function cancelCalled<S>(deps: RunnerDeps<S>, runId: string): Promise<void> {
  for await (const row of calledBy(deps.store, runId)) {
    if (row.status !== "completed") {
      await cancelRun(deps, row.runId, "the run that called it was cancelled");
    }
  }
}

async function endRun<S>(deps: RunnerDeps<S>, runId: string, reason: string): Promise<Cancellation> {
  const { runtime, log } = deps;
  const until = runtime.elapsed() + PATIENCE_MS;
  for (let pause = FIRST_PAUSE_MS;; pause = Math.min(2 * pause, POLL_MS / 4)) {
    const cursor = await log.load(runId, { state: false });
    if (cursor === undefined) throw new CheckpointNotFoundError(runId);
    const asked = cursor.mailbox.content.cancel?.reason;
    const end = endOf(cursor.checkpoint);
    if (end !== undefined) return end;
    try {
      const former = await checkOwner(deps, cursor.checkpoint);
      return await record(deps, cursor, asked ?? reason, former);
    } catch (error) {
      if (isSuperstepError(error, ...CONFLICTS, "CELL_CONFLICT")) continue;
      if (!isSuperstepError(error, "RUN_BUSY")) throw error;
    }
    if (asked === undefined) await ask(deps, cursor.checkpoint, reason);
    else if (runtime.elapsed() >= until) return { runId, status: "cancelled", reason: asked };
    await new Promise<void>((resolve) => runtime.wakeIn(pause, resolve));
  }
}

/** How long the owner of a run is given to record its cancellation, or its lease to run out. */
const PATIENCE_MS = LEASE_MS + 2 * POLL_MS;
const FIRST_PAUSE_MS = 1;

/** How a run ended, if it has. */
function endOf({ run }: Checkpoint): Cancellation | undefined {
  const { runId, status, cancelReason } = run;
  if (status === "completed") return { runId, status };
  return status === "cancelled" ? { runId, status, reason: cancelReason ?? "" } : undefined;
}

/** Cancels a run that nobody is at work on. */
async function record<S>(
  deps: RunnerDeps<S>,
  cursor: Cursor<S>,
  reason: string,
  { absent }: FormerOwner,
): Promise<Cancellation> {
  const { checkpoint: before, mailbox } = cursor;
  const { runId, revision, graphId } = before.run;
  const at = runTime(deps.runtime, before.run);
  const known: readonly RecordEvent[] = [
    ...resultsDue(before, mailbox.content, [], at),
    { type: "cancelled", reason },
  ];
  const limited = before.run.flow === undefined
    ? undefined
    : await deps.flow.leave(before.run, mailbox.content, "over", at);
  const events = [
    ...known,
    ...closings(evolve(before, known, revision + 1, at), () => true, "cancelled"),
    ...limited?.events ?? [],
  ];
  const { checkpoint: after } = await revise(deps.log, cursor, at, events, {
    absent,
    stateless: true,
    cells: limited?.cells,
  });
  if (limited !== undefined) await passOn(deps, limited.passOn);
  if (graphId === deps.graph.id) {
    announce(deps.hooks, deps.logger, before, after, events);
  }
  await returnToCaller(deps, before.run.caller);
  return { runId, status: "cancelled", reason };
}

/** Requests cancellation in the mailbox of a run that is at work; its owner sees it at once, or at its next poll. */
async function ask<S>(deps: RunnerDeps<S>, { run }: Checkpoint, reason: string): Promise<void> {
  const { runtime, ownership } = deps;
  // Without an owner nobody would look; with a request there is nothing to add.
  await amend(
    deps,
    run,
    (content) =>
      content.owner === undefined || content.cancel !== undefined
        ? undefined
        : { ...content, cancel: { reason, at: runtime.now() } },
  );
  ownership.poke(run.runId);
}
