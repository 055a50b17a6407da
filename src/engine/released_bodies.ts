import { amend } from "../checkpoint/amend.ts";
import { digest } from "../checkpoint/digest.ts";
import {
  dueAtOnce,
  identityOf,
  isStillSuspended,
  type Mailbox,
  type PostedReturn,
} from "../checkpoint/mailbox.ts";
import { ContextError, reasonOf } from "../errors.ts";
import { type Checkpoint, type Execution, executionKey, presentId } from "../model/checkpoint.ts";
import type { CompiledGraph } from "../model/definition.ts";
import { isOver } from "../model/run.ts";
import { perObject } from "../runtime/per_object.ts";
import type { Store } from "../store/store.ts";
import type { Attempt } from "./attempt.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { planStep } from "./plan.ts";
import { stepVertices } from "./superstep.ts";

/**
 * Bodies that were suspended when their run was released, and may come back by ordinary work of theirs.
 *
 * 1. Such a body never goes on: it is abandoned when it comes back, and its execution runs again, by whoever claims the run.
 * 2. Its return is posted to the mailbox like an answer, with a wake due now; of a called run also to its caller.
 * 3. It means nothing when the execution, its input or its step has moved on.
 * 4. Nothing here keeps such a body alive.
 */
class ReleasedBodies {
  readonly #runs = new Map<string, Set<WeakRef<Attempt>>>();
  readonly #forget = new FinalizationRegistry<{ runId: string; ref: WeakRef<Attempt> }>(({ runId, ref }) =>
    this.#delete(runId, ref)
  );
  /** What works on runs of a graph version in this process, if a run is due that no worker here takes. */
  readonly #takers = new Map<string, (runId: string) => Promise<unknown>>();

  /** Has runs of this version claimed by `take` that only came back to be due. */
  serve(
    { id, version }: Pick<CompiledGraph<unknown>, "id" | "version">,
    take: (runId: string) => Promise<unknown>,
  ): void {
    this.#takers.set(`${id} ${version}`, take);
  }

  takerOf({ graphId, graphVersion }: Checkpoint["run"]): ((runId: string) => Promise<unknown>) | undefined {
    return this.#takers.get(`${graphId} ${graphVersion}`);
  }

  add(runId: string, attempt: Attempt): void {
    const ref = new WeakRef(attempt);
    const all = this.#runs.get(runId) ?? new Set();
    this.#runs.set(runId, all.add(ref));
    this.#forget.register(attempt, { runId, ref });
  }

  /** Aborts the bodies of a run. */
  abort(runId: string, reason: Error): void {
    for (const ref of this.#runs.get(runId) ?? []) ref.deref()?.abandon(reason);
    this.#runs.delete(runId);
  }

  #delete(runId: string, ref: WeakRef<Attempt>): void {
    const all = this.#runs.get(runId);
    all?.delete(ref);
    if (all?.size === 0) this.#runs.delete(runId);
  }
}

/** The released bodies of this process whose runs are in a store. */
export const releasedBodiesOf: (store: Store) => ReleasedBodies = perObject(() => new ReleasedBodies());

/** Lets a suspended body go, whose run was released; `isBack` when it has come back meanwhile. */
export function letGo<S>(
  deps: RunnerDeps<S>,
  checkpoint: Checkpoint,
  attempt: Attempt,
  isBack: boolean,
): void {
  const { runId } = checkpoint.run;
  const { vertexId, item } = attempt.info.execution;
  const x = checkpoint.executions.get(executionKey(vertexId, item));
  if (x === undefined) return;
  const { graph, store, log, logger } = deps;
  const post: PostedReturn = { ...identityOf(x, checkpoint.nextStep), slow: true };
  const { input } = attempt.info;
  const comeBack = () => {
    attempt.abandon(
      new ContextError(`the body of vertex ${vertexId} came back after its run was released; it runs again`, {
        vertexId,
        runId,
      }),
      true,
    );
    const done = async () => {
      const cursor = await log.load(runId);
      if (cursor !== undefined && !hasOtherInput(graph, cursor, x, input)) {
        await postReturn(deps, runId, post);
      }
    };
    done().catch((error) =>
      logger.warn(`superstep: run ${runId} cannot go on with a body that came back: ${reasonOf(error)}`, {
        runId,
        vertexId,
      })
    );
  };
  if (isBack) return comeBack();
  attempt.release(comeBack);
  releasedBodiesOf(store).add(runId, attempt);
}

/** Whether the execution would get another input now than the body had. */
function hasOtherInput<S>(
  graph: CompiledGraph<S>,
  { checkpoint, state }: { readonly checkpoint: Checkpoint; readonly state: S },
  { vertexId, item }: Execution,
  input: unknown,
): boolean {
  try {
    const plan = planStep(stepVertices(graph, checkpoint), checkpoint, state);
    const planned = plan.executions.get(executionKey(vertexId, item));
    return planned === undefined || digest(planned.input()) !== digest(input);
  } catch {
    return true;
  }
}

/**
 * Has a suspended execution run again that has not moved on since. Does nothing, and is `false`, when it has, when the run
 * is over, or unknown.
 */
async function postReturn<S>(deps: RunnerDeps<S>, runId: string, posted: PostedReturn): Promise<boolean> {
  const { store, log, ownership, runtime } = deps;
  for (;;) {
    const cursor = await log.load(runId, { state: false });
    if (cursor === undefined || !isStillSuspended(cursor.checkpoint, posted)) return false;
    const { run } = cursor.checkpoint;
    if (isOver(run.status)) return false;
    const changed = await amend(
      deps,
      run,
      (content) => withReturn(content, run, dueAtOnce(runtime.now())),
      cursor.mailbox.version,
      [{ kind: "return", ...posted }],
    );
    if (changed === undefined) return false;
    if (!changed) continue;
    if (run.caller === undefined) {
      ownership.poke(runId);
      const take = releasedBodiesOf(store).takerOf(run);
      if (run.owner === undefined && !ownership.isHeard) await take?.(runId);
      return true;
    }
    return await returnToCaller(deps, run.caller);
  }
}

/** Has the execution run again that a run works for, if it does and is suspended: the run has got on without it. */
export async function returnToCaller<S>(
  deps: RunnerDeps<S>,
  caller: Checkpoint["run"]["caller"],
): Promise<boolean> {
  if (caller === undefined) return false;
  const cursor = await deps.log.load(caller.runId, { state: false });
  if (cursor === undefined) return false;
  const { executions } = cursor.checkpoint;
  const x = executions.get(executionKey(presentId(cursor.checkpoint, caller.vertexId), caller.item));
  if (x === undefined) return false;
  return await postReturn(deps, caller.runId, identityOf(x, cursor.checkpoint.nextStep));
}

/** The mailbox of a run of which a body came back. */
function withReturn(
  content: Mailbox,
  { caller }: Checkpoint["run"],
  wake: number,
): Mailbox {
  if (content.owner !== undefined || content.queue !== undefined || caller !== undefined) {
    return content;
  }
  return { ...content, wake };
}
