import { amend } from "../checkpoint/amend.ts";
import { CheckpointLog, type Cursor } from "../checkpoint/log.ts";
import type { Mailbox } from "../checkpoint/mailbox.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store, WakeRow } from "../store/store.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { nextDue } from "./superstep.ts";

export { LAST_AT_ONCE } from "../checkpoint/mailbox.ts";

/**
 * Changes to the wake of a run that nobody is at work on. They check the mailbox as everything does that moves a wake, so
 * a claim, an answer or a cancellation that comes between makes them do nothing.
 */

/** Has a run that is due woken at `until` instead; a later wake stays as it is. */
export async function postpone(
  store: Store,
  runtime: Runtime,
  run: Pick<WakeRow, "runId" | "graphId">,
  until: number,
): Promise<void> {
  await amend(
    { store, log: new CheckpointLog<unknown>(store, runtime) },
    run,
    (mailbox) => mailbox.wake === undefined || mailbox.wake >= until ? undefined : withWake(mailbox, until),
  );
}

/** Sets the wake of an idle run to what it waits for; of one that waits for no time it is removed. */
export async function settleWake<S>(deps: RunnerDeps<S>, { checkpoint, mailbox }: Cursor<S>): Promise<void> {
  const wake = wakeOf(checkpoint);
  await amend(deps, checkpoint.run, (content) => withWake(content, wake), mailbox.version);
}

/** The mailbox with another wake, where nobody owns the run. */
function withWake({ wake, ...content }: Mailbox, next: number | undefined): Mailbox | undefined {
  if (content.owner !== undefined || next === wake) return undefined;
  return next === undefined ? content : { ...content, wake: next };
}

/** When an idle run is to be woken. A halt waits for somebody, or for the deadline of its run. */
function wakeOf(checkpoint: Checkpoint): number | undefined {
  const { run, halt } = checkpoint;
  const kind = halt?.kind;
  if (run.caller !== undefined || kind === "max_recoveries" || kind === "load_fault") return undefined;
  const due = Math.min(run.deadline ?? Infinity, nextDue(checkpoint) ?? Infinity);
  return Number.isFinite(due) ? due : undefined;
}
