import { canonical } from "../checkpoint/canonical.ts";
import { digest } from "../checkpoint/digest.ts";
import type { EventOf } from "../checkpoint/records.ts";
import { CONFLICTS, isSuperstepError, RunAbortedError, RunExistsError } from "../errors.ts";
import { canonicalForm } from "../graph/mod.ts";
import { calledTag, callerOf, callingRunOf } from "./child_runs.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { flowOf } from "./flow/names.ts";
import { runIdOf, waitSalt } from "./ids.ts";
import {
  checkedRunId,
  checkedTags,
  moment,
  positive,
  type StartOptions,
  type SubmitOptions,
} from "./options.ts";

/** Revision 0 of a run, judged and ready to be appended. */
interface PreparedRun<S> {
  readonly created: EventOf<"created">;
  readonly state: S;
}

/**
 * What a run begins with; nothing is written.
 *
 * @throws {ValidationError} the schema refuses the input
 */
export function prepareRun<S>(
  deps: RunnerDeps<S>,
  op: string,
  input: unknown,
  options: Omit<SubmitOptions, "at"> & Pick<StartOptions, "caller">,
): PreparedRun<S> {
  const { graph, runtime, rules } = deps;
  const { tags = [] } = options;
  const caller = options.caller && callerOf(options.caller);
  const runId = options.runId !== undefined
    ? checkedRunId(options.runId, op)
    : options.idempotencyKey !== undefined
    ? runIdOf(graph.id, options.idempotencyKey)
    : runtime.uuid();
  const mayBeUsedAgain = options.runId !== undefined || options.idempotencyKey !== undefined;
  const inputDigest = digest(canonical(input, "the input"));
  const state = rules.validator.input(input);
  rules.measure(state);
  // Called runs are part of one that has its permits.
  const flow = caller === undefined ? flowOf(op, graph.id, graph.flow, state, options.priority) : undefined;
  const created: EventOf<"created"> = {
    type: "created",
    runId,
    graphId: graph.id,
    graphVersion: graph.version,
    form: canonicalForm(graph),
    entry: graph.entry,
    maxSteps: positive(options.maxSteps, DEFAULT_MAX_STEPS, op, "maxSteps"),
    ...(options.deadline === undefined
      ? {}
      : { deadline: moment(options.deadline, runtime.now(), op, "deadline") }),
    tags: checkedTags(tags, op, caller && calledTag(caller.runId)),
    inputDigest,
    ...(caller === undefined ? {} : { caller }),
    ...(flow === undefined ? {} : { flow }),
    ...(mayBeUsedAgain ? { waitSalt: waitSalt(runtime) } : {}),
  };
  if (options.signal?.aborted) throw new RunAbortedError(runId, -1, { cause: options.signal.reason });
  if (caller !== undefined) callingRunOf(options.caller)?.calls(runId, options.caller!);
  return { created, state };
}

const DEFAULT_MAX_STEPS = 10_000;

/**
 * Settles what a conflicting append of revision 0 means: nothing, when the run that is there is this very one.
 *
 * @returns false when that run is gone, so that this one can be made
 * @throws {RunExistsError} the id is taken by another run
 */
export async function sameRun<S>(
  deps: RunnerDeps<S>,
  created: EventOf<"created">,
  conflict: unknown,
): Promise<boolean> {
  if (!isSuperstepError(conflict, ...CONFLICTS)) throw conflict;
  const found = await deps.log.load(created.runId, { state: false });
  if (found === undefined) return false;
  const { runId, graphId, inputDigest } = found.checkpoint.run;
  if (graphId !== created.graphId) throw new RunExistsError(runId, `another graph, ${graphId}`);
  if (inputDigest !== created.inputDigest) throw new RunExistsError(runId, "another input");
  return true;
}
