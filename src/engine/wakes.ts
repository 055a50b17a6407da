import { CheckpointLog, type Cursor } from "../checkpoint/log.ts";
import { isSuperstepError, MailboxConflictError } from "../errors.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store, WakeRow } from "../store/store.ts";
import type { Engine } from "./engine.ts";
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
  const log = new CheckpointLog<unknown>(store, runtime);
  await move(store, log, run, (wake) => wake === undefined || wake >= until ? wake : until);
}

/** Sets the wake of an idle run to what it waits for; of one that waits for no time it is removed. */
export async function settleWake<S>(engine: Engine<S>, { checkpoint, mailbox }: Cursor<S>): Promise<void> {
  const wake = wakeOf(checkpoint);
  await move(engine.store, engine.log, checkpoint.run, () => wake, mailbox.version);
}

/** When an idle run is to be woken. A halt waits for somebody, or for the deadline of its run. */
function wakeOf(checkpoint: Checkpoint): number | undefined {
  const { run, halt } = checkpoint;
  const kind = halt?.kind;
  if (run.caller !== undefined || kind === "max_recoveries" || kind === "load_fault") return undefined;
  const due = Math.min(
    run.deadline ?? Infinity,
    kind === undefined ? nextDue(checkpoint) ?? Infinity : Infinity,
  );
  return Number.isFinite(due) ? due : undefined;
}

async function move<S>(
  store: Store,
  log: CheckpointLog<S>,
  { runId, graphId }: Pick<WakeRow, "runId" | "graphId">,
  change: (wake: number | undefined) => number | undefined,
  version?: string | null,
): Promise<void> {
  const { head, mailbox } = await store.inspect(runId, 0, undefined);
  if (head === null || mailbox === null || (version !== undefined && version !== mailbox.version)) return;
  try {
    // deno-lint-ignore require-await
    await log.post(runId, head.position.epoch, mailbox, async ({ wake, ...content }) => {
      const next = change(wake);
      if (content.owner !== undefined || next === wake) throw new MailboxConflictError(runId);
      return { mailbox: { ...content, ...(next === undefined ? {} : { wake: next }) }, closed: [], graphId };
    });
  } catch (error) {
    if (!isSuperstepError(error, "MAILBOX_CONFLICT")) throw error;
  }
}
