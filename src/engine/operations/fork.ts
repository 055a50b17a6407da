import { digest } from "../../checkpoint/digest.ts";
import type { EventOf } from "../../checkpoint/records.ts";
import { ArgumentError, isSuperstepError, RunExistsError } from "../../errors.ts";
import { canonicalForm } from "../../graph/mod.ts";
import type { Execution } from "../../model/checkpoint.ts";
import type { RunParent } from "../../model/run.ts";
import { isCalledTag } from "../child_runs.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { waitSalt } from "../ids.ts";
import { resultsDue } from "../mailbox_facts.ts";
import type { Loader } from "../loader.ts";
import { checkedRunId, checkedTags } from "../options.ts";
import { beginFork } from "./begin_fork.ts";
import { changedMaps, edited, type StateEdit } from "./edit.ts";
import { forkCalled } from "./fork_called.ts";
import { forkOf } from "./forked.ts";

/** Options of `fork`. */
export interface ForkOptions<S> {
  /** Another state for the step to begin with. @default the one that it began with */
  readonly state?: StateEdit<S>;
  /** The id of the new run. @default a new UUIDv7 */
  readonly runId?: string;
  /** Words by which `list` finds the new run. @default those of the run that is forked */
  readonly tags?: readonly string[];
}

/**
 * Begins a run where another one was at a revision.
 *
 * 1. Revision 0 is a whole snapshot: the fork shares nothing with its source, which is only read. The same holds of the
 *    runs that work for it, which are forked first.
 * 2. What is judged of a state, of items and of a checkpoint elsewhere is judged here, before anything is written.
 */
export async function forkRun<S>(
  deps: RunnerDeps<S>,
  loader: Loader<S>,
  parent: RunParent,
  options: ForkOptions<S>,
): Promise<{ readonly runId: string }> {
  const { runtime, graph, log, rules } = deps;
  checkedRunId(parent.runId, "fork");
  if (!Number.isSafeInteger(parent.revision) || parent.revision < 0) {
    throw new ArgumentError("fork", `the revision is ${String(parent.revision)}; give a whole number from 0`);
  }
  const runId = options.runId === undefined ? runtime.uuid() : checkedRunId(options.runId, "fork");
  const { checkpoint: source, state: before, mailbox } = await loader.seen(parent.runId, {
    revision: parent.revision,
  });
  const { value: state } = "state" in options
    ? edited(before, options.state as StateEdit<S>, rules, "fork")
    : { value: before };
  const now = runtime.now();
  // Answers that the source has accepted and not recorded yet.
  const results = resultsDue(source, mailbox.content, [], -Infinity);
  const keeps = (x: Execution) =>
    x.once.size > 0 ||
    [...x.waits.values()].some((w) => w.result !== undefined || results.some((r) => r.id === w.id));
  const checkpoint = forkOf(source, {
    runId,
    parent,
    now,
    tags: checkedTags(options.tags ?? source.run.tags.filter((tag) => !isCalledTag(tag)), "fork"),
    // A fork is told from every other by its source and its state, as a start is by its input.
    inputDigest: digest({ ...parent, state }),
    waitSalt: waitSalt(runtime),
    maps: state === before ? [] : changedMaps(graph, source, { before, after: state }, "fork", keeps),
    results,
  });
  const event: EventOf<"forked"> = { type: "forked", parent, form: canonicalForm(graph) };
  try {
    await forkCalled(deps, source, checkpoint, { revision: parent.revision, level: 0 });
  } catch (error) {
    if (!isSuperstepError(error, "RUN_EXISTS")) throw error;
    // Somebody else may have finished this very fork meanwhile.
    if (await log.load(runId, { state: false }) === undefined) {
      throw new RunExistsError(runId, "parts of another fork, which was never finished; purge it");
    }
  }
  const wake = checkpoint.run.status === "completed" ? undefined : 0;
  await beginFork(log, checkpoint, event, state, { wake });
  deps.ownership.poke(runId);
  return { runId };
}
