import type { Cursor } from "../../checkpoint/log.ts";
import type { RecordEvent } from "../../checkpoint/records.ts";
import { revise } from "../../checkpoint/revise.ts";
import { CONFLICTS, GraphVersionMismatchError, isSuperstepError } from "../../errors.ts";
import { isOver } from "../../model/run.ts";
import { storedCallers } from "../child_runs.ts";
import { notify } from "../events.ts";
import { checkOwner } from "../owner_check.ts";
import { runTime } from "../run_time.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { fleetOf } from "../workers.ts";
import { lostCall } from "./called_runs.ts";
import { type Crossing, crossing, isUntouched } from "./crossing.ts";
import type { Refusal } from "./fit.ts";
import { formOf } from "./form_of.ts";

/**
 * Brings a run of another version under this code, by a record of its own that whoever claims it finds.
 *
 * 1. Only to a higher user version, or to another structure of the same one that no living worker serves; never back.
 * 2. What becomes of it is for {@link crossing} to tell; rows of open waits get the schemas of this code with the record.
 * 3. A dead owner is replaced by nobody; a living one keeps the run.
 *
 * @returns Whether it came: false when it was of this version, or is over, and why not when it stays.
 * @throws {RunBusyError} a living process owns it
 */
export async function takeOver<S>(
  deps: RunnerDeps<S>,
  runId: string,
): Promise<boolean | GraphVersionMismatchError> {
  for (;;) {
    const cursor = await movable(deps, runId);
    if (cursor === undefined) return false;
    const refused = (reason: string, thrown?: string) =>
      new GraphVersionMismatchError(runId, deps.graph.version, run.graphVersion, reason, thrown);
    const { run } = cursor.checkpoint;
    const found = await crossingOf(deps, cursor);
    if ("refusal" in found) return refused(found.refusal, found.thrown);
    const fleet = await fleetOf(deps.store, deps.runtime.now());
    if (!fleet.mayMove(run.graphId, run.graphVersion, deps.graph.version)) {
      return refused("a living worker serves that version");
    }
    try {
      await record(deps, cursor, found);
      return true;
    } catch (error) {
      if (!isSuperstepError(error, ...CONFLICTS)) throw error;
    }
  }
}

/**
 * A run of another version as this code would go on with it, or the first thing that keeps it from that: also of the runs
 * that work for it.
 *
 * @throws {MigrationError} a migration fails, or makes a state that the schema refuses
 */
export async function crossingOf<S>(
  deps: RunnerDeps<S>,
  cursor: Cursor<S>,
): Promise<Crossing<S> | Refusal> {
  const found = crossing(deps, cursor, await formOf(deps.log, cursor.checkpoint.run));
  if ("refusal" in found) return found;
  const refusal = await lostCall(deps, found.checkpoint);
  return refusal === undefined ? found : { refusal };
}

/** Whether a run came under this code; one at work stays with whoever is at work on it. */
export async function tookOver<S>(deps: RunnerDeps<S>, runId: string): Promise<boolean> {
  try {
    return await takeOver(deps, runId) === true;
  } catch (error) {
    if (isSuperstepError(error, "RUN_BUSY")) return false;
    throw error;
  }
}

/** The run, when there is something to move; of nearly every one that stays that is seen without its state. */
async function movable<S>(deps: RunnerDeps<S>, runId: string): Promise<Cursor<S> | undefined> {
  const { graph, log } = deps;
  const known = await log.load(runId, { state: false });
  if (known === undefined) return undefined;
  const { graphId, graphVersion, status } = known.checkpoint.run;
  if (graphId !== graph.id || graphVersion === graph.version || isOver(status)) return undefined;
  return await log.load(runId);
}

async function record<S>(
  deps: RunnerDeps<S>,
  cursor: Cursor<S>,
  { event, state }: Crossing<S>,
): Promise<void> {
  const { log, runtime } = deps;
  const { checkpoint: { run }, mailbox } = cursor;
  const { absent } = await checkOwner(deps, cursor.checkpoint);
  const at = runTime(runtime, run);
  const events: readonly RecordEvent[] = [
    ...(run.owner === undefined ? [] : [{ type: "released", status: "running", recovery: true } as const]),
    event,
  ];
  // The record is a snapshot: nothing of the state need have a counterpart in what was before.
  await revise(log, { ...cursor, isCompleted: true }, at, events, {
    next: { state, patch: undefined },
    wake: run.owner === undefined ? mailbox.content.wake : 0,
    absent,
    schemas: deps.schemaOf,
    callers: run.caller && await storedCallers(log, run.caller),
  });
  const { runId, revision, step } = run;
  notify(deps.hooks, deps.logger, { type: "checkpoint", runId, revision: revision + 1, step, at });
  const how = isUntouched(cursor.checkpoint) ? "had not begun and moves" : "moves";
  deps.logger.info(`superstep: run ${runId} ${how} from version ${event.from} to ${event.to}`, { runId });
  deps.ownership.poke(runId);
}

/**
 * Does what needs a run of this version, with one of another version that is brought under it first.
 *
 * @throws {GraphVersionMismatchError} naming the first thing that keeps it
 */
export async function takingOver<S, T>(
  deps: RunnerDeps<S>,
  runId: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isSuperstepError(error, "GRAPH_VERSION_MISMATCH")) throw error;
    const taken = await takeOver(deps, runId);
    if (typeof taken !== "boolean") throw taken;
    return await work();
  }
}
