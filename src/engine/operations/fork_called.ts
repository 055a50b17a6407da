import type { EventOf } from "../../checkpoint/records.ts";
import { isSuperstepError } from "../../errors.ts";
import {
  type Checkpoint,
  type Execution,
  executionKey,
  type ExecutionRef,
  refOf,
} from "../../model/checkpoint.ts";
import type { RunParent } from "../../model/run.ts";
import type { WaitState } from "../../model/wait.ts";
import { formOf } from "../change/form_of.ts";
import { calledBy, calledTag, isCalledTag } from "../child_runs.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { keyIn, runIdOf } from "../ids.ts";
import { checkedTags } from "../options.ts";
import { beginFork } from "./begin_fork.ts";
import { forkOf } from "./forked.ts";
import { type Moment, revisionAt } from "./revision_at.ts";

/**
 * Forks the runs that work for a run that is forked: each where it stood when the record was written that the fork is of.
 *
 * 1. The fork of a called run has the id that the fork of its caller will ask for, and the input of its source, so that the
 *    body which starts it finds it. One that selects another input finds nothing that was done, and begins anew.
 * 2. They are stored before the fork that they work for, the deepest first, and nothing wakes them: a crash in between
 *    leaves runs of which nothing is done, and the same fork made again finds them.
 * 3. An answer that was recorded by the caller, and not yet by the run that it is for, is handed down here.
 * 4. Where a run stood is told by its own records. Without them the vertex begins its run anew.
 */
export async function forkCalled<S>(
  deps: RunnerDeps<S>,
  source: Checkpoint,
  fork: Checkpoint,
  moment: Moment,
): Promise<void> {
  const found = new Set<string>();
  const graphs = new Set<string>();
  for await (const row of calledBy(deps.store, source.run.runId)) {
    found.add(row.runId);
    graphs.add(row.graphId);
  }
  const calls = [...callsOf(source, fork, found, graphs)];
  // Of a fork that exists already there is nothing to do, and what works for it may have been begun anew.
  if (calls.length === 0 || await deps.log.load(fork.run.runId, { state: false }) !== undefined) return;
  for (let i = 0; i < calls.length; i += AT_ONCE) {
    await Promise.all(calls.slice(i, i + AT_ONCE).map((call) => forkCall(deps, call, fork, moment)));
  }
}

/** A run that worked for an execution which is to run again in the fork. */
interface Call {
  readonly execution: ExecutionRef;
  readonly runId: string;
  /** The id of its fork. */
  readonly forkId: string;
}

/** The runs that worked for the unsettled executions of a step. */
function* callsOf(
  source: Checkpoint,
  fork: Checkpoint,
  found: ReadonlySet<string>,
  graphs: ReadonlySet<string>,
): Iterable<Call> {
  const isSettled = (of: ExecutionRef) => {
    const status = fork.executions.get(executionKey(of.vertexId, of.item))?.status;
    return status === "done" || status === "failed";
  };
  function* called(execution: ExecutionRef): Iterable<Call> {
    if (isSettled(execution)) return;
    const [key, forkKey] = [keyIn(source, execution), keyIn(source, execution, fork.run.runId)];
    for (const graph of graphs) {
      const runId = runIdOf(graph, key);
      if (found.has(runId)) yield { execution, runId, forkId: runIdOf(graph, forkKey) };
    }
  }
  for (const vertexId of fork.frontier) {
    if (isSettled({ vertexId })) continue;
    yield* called({ vertexId });
    const count = fork.maps.get(vertexId)?.count;
    // Items are begun in order, and maybe before anything of their vertex is recorded.
    let last = -1;
    for (let item = 0; item < (count ?? last + 1 + LONGEST_GAP); item++) {
      for (const call of called({ vertexId, item })) {
        last = item;
        yield call;
      }
    }
  }
}

/** How many items in a row may have called nothing yet while later ones have: as many as are at work at once. */
const LONGEST_GAP = 64;

/** How many runs are forked at once. */
const AT_ONCE = 32;

async function forkCall<S>(
  deps: RunnerDeps<S>,
  call: Call,
  caller: Checkpoint,
  moment: Moment,
): Promise<void> {
  const { log, runtime, logger } = deps;
  const { execution, runId, forkId } = call;
  const revision = await revisionAt(deps, runId, moment);
  if (revision === undefined) return;
  const cursor = revision === "unknown" ? undefined : await log.at(runId, revision).catch(gone);
  if (revision === "unknown" || cursor === undefined) {
    const { runId: callerId } = caller.run;
    const message = `superstep: it is no longer stored where run ${runId} stood, which worked for vertex ` +
      `${execution.vertexId}; the fork ${callerId} begins that run anew`;
    return logger.warn(message, { runId: callerId, vertexId: execution.vertexId, called: runId });
  }
  const { checkpoint: source, state } = cursor;
  const parent: RunParent = { runId, revision };
  const { graphId, runId: callerId } = caller.run;
  const { tags, inputDigest } = source.run;
  const checkpoint = forkOf(source, {
    runId: forkId,
    parent,
    caller: { graphId, runId: callerId, ...execution },
    now: runtime.now(),
    tags: checkedTags(tags.filter((tag) => !isCalledTag(tag)), "fork", calledTag(callerId)),
    inputDigest,
    maps: [],
    results: handedDown(source, caller.executions.get(executionKey(execution.vertexId, execution.item))),
  });
  const level = moment.level + 1;
  await forkCalled(deps, source, checkpoint, { ...moment, level });
  const form = await formOf(log, source.run);
  await beginFork(log, checkpoint, { type: "forked", parent, form }, state, {
    callers: Array<number>(level).fill(-1),
  });
}

/** Whoever was purged or cut off since it was looked up. */
function gone(error: unknown): undefined {
  if (!isSuperstepError(error, "CHECKPOINT_NOT_FOUND")) throw error;
}

/** The results that a caller has recorded of waits of a run which are still open there, in their order. */
function handedDown(
  { executions }: Checkpoint,
  caller: Execution | undefined,
): readonly EventOf<"resolved">[] {
  const results = new Map<string, WaitState>();
  for (const wait of caller?.waits.values() ?? []) {
    if (wait.key !== undefined && wait.result !== undefined) results.set(wait.key, wait);
  }
  const found: { readonly seq: number; readonly event: EventOf<"resolved"> }[] = [];
  for (const x of executions.values()) {
    if (x.status === "done" || x.status === "failed") continue;
    for (const wait of x.waits.values()) {
      const handed = results.get(wait.id);
      if (handed?.result === undefined || wait.result !== undefined || wait.closed !== undefined) continue;
      const event: EventOf<"resolved"> = {
        type: "resolved",
        ...refOf(x),
        id: wait.id,
        result: handed.result,
      };
      found.push({ seq: handed.seq ?? 0, event });
    }
  }
  return found.sort((a, b) => a.seq - b.seq).map(({ event }) => event);
}
