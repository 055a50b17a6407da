import { amend } from "../checkpoint/amend.ts";
import { isSuperstepError, RunAbortedError, RunBusyError } from "../errors.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { FormerOwner } from "./claim.ts";
import type { RunnerDeps } from "./runner_deps.ts";

/**
 * Makes sure that nobody is at work on a run, and finds whom a write in its owner's place replaces: nobody, a dead owner
 * that must be gone, or, in a takeover, a living one.
 *
 * @throws {RunBusyError} a process owns it that is not known to be dead
 */
export async function checkOwner<S>(
  { ownership }: RunnerDeps<S>,
  { run: { owner, runId } }: Checkpoint,
  takeover = false,
): Promise<FormerOwner> {
  if (owner === undefined) return {};
  const atWork = ownership.atWork(owner, runId).length > 0;
  if (atWork && !takeover) throw new RunBusyError(runId, owner);
  // An owner of this process that has no loop for the run any more has let it go without being able to say so.
  if (!atWork && ownership.isOwn(owner)) return {};
  if (!atWork && await ownership.watch.judge(owner) === "gone") return { absent: owner };
  if (takeover) return { replaced: owner };
  throw new RunBusyError(runId, owner);
}

/**
 * Does what needs a run that nobody is at work on. An owner that gives no sign of life is watched for as long as its lease
 * lasts; what is done afterwards is done anew, with the run as it is then.
 *
 * @throws {RunBusyError} its owner lives
 */
export async function whenVacant<S, T>(
  deps: RunnerDeps<S>,
  runId: string,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isSuperstepError(error, "RUN_BUSY")) throw error;
      const { owner } = error as RunBusyError;
      if (deps.ownership.isOwn(owner)) throw error;
      const standing = await deps.ownership.watch.settle(
        owner,
        () => askOwner(deps, runId, owner),
        signal,
      );
      if (signal?.aborted) throw new RunAbortedError(runId, -1, { cause: signal.reason });
      if (standing !== "gone") throw error;
    }
  }
}

/** Has the owner of a run look into its mailbox, and renew its beat for that. */
export async function askOwner<S>(
  deps: RunnerDeps<S>,
  runId: string,
  owner: string,
): Promise<void> {
  deps.logger.info(
    `superstep: run ${runId} is taken over unless its process shows within 15 s that it lives`,
    {
      runId,
      owner,
    },
  );
  // It is at work, or somebody else is, where the mailbox has changed.
  await amend(deps, { runId, graphId: "" }, (content) => content.owner === owner ? content : undefined);
}
