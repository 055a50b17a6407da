import type { Cursor } from "../../checkpoint/log.ts";
import { revise } from "../../checkpoint/revise.ts";
import { CONFLICTS, isSuperstepError } from "../../errors.ts";
import { canonicalForm } from "../../graph/mod.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { notify } from "../events.ts";
import { runTime } from "../run_time.ts";
import { fleetOf, userVersion } from "../workers.ts";

/**
 * Moves a run that has begun no body to the version of this graph, by a record of its own; false when it stays as it is.
 *
 * 1. Only to a higher user version, or to another structure of the same one that no living worker serves; never back.
 * 2. Its input must pass the schema, as that of a new run: it begins anew at the entry, with the same id, input and times.
 * 3. Whoever claims it checks the same mailbox, so that it begins under one of the two versions.
 */
export async function adopt<S>(deps: RunnerDeps<S>, runId: string, version?: string): Promise<boolean> {
  const { graph, log, rules, runtime, store } = deps;
  if (version !== undefined && userVersion(version) > userVersion(graph.version)) return false;
  // Of nearly every run it is seen without its state that it stays.
  const known = await log.load(runId, { state: false });
  const cursor = known !== undefined && isUntouched(known) ? await log.load(runId) : undefined;
  if (cursor === undefined || !isUntouched(cursor)) return false;
  const { checkpoint, mailbox } = cursor;
  const { graphId, graphVersion: from } = checkpoint.run;
  if (graphId !== graph.id || from === graph.version) return false;
  if (!(await fleetOf(store, runtime.now())).mayMove(graphId, from, graph.version)) return false;
  let state: S;
  try {
    state = rules.validator.input(cursor.state);
    rules.measure(state);
  } catch {
    return false;
  }
  const event = {
    type: "adopted",
    from,
    to: graph.version,
    form: canonicalForm(graph),
    entry: graph.entry,
  } as const;
  const at = runTime(runtime, checkpoint.run);
  try {
    // The record is a snapshot: nothing of the state has a counterpart in what was before.
    await revise(log, { ...cursor, isCompleted: true }, at, [event], {
      next: { state, patch: undefined },
      wake: mailbox.content.wake,
    });
  } catch (error) {
    if (isSuperstepError(error, ...CONFLICTS)) return false;
    throw error;
  }
  const { revision, step } = checkpoint.run;
  notify(deps.hooks, deps.logger, { type: "checkpoint", runId, revision: revision + 1, step, at });
  deps.logger.info(
    `superstep: run ${runId} had not begun and moves from version ${from} to ${graph.version}`,
    { runId },
  );
  deps.ownership.poke(runId);
  return true;
}

/** Whether nobody has ever claimed a run: no body of it can have begun. */
function isUntouched<S>({ checkpoint: { run, executions, nextStep } }: Cursor<S>): boolean {
  return run.status === "running" && run.owner === undefined && run.startedAt === undefined &&
    nextStep === 0 &&
    executions.size === 0;
}
