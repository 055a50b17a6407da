import { isOver } from "../../model/run.ts";
import type { Checkpoint } from "../../model/checkpoint.ts";
import { perObject } from "../../runtime/per_object.ts";
import type { Store } from "../../store/store.ts";
import { calledBy, isAwaited } from "../child_runs.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { userVersion } from "../workers.ts";
import type { AdoptVerdict } from "./verdict.ts";

/** Tells what would become of a run under the code of one version of its graph. */
type Judge = (runId: string) => Promise<AdoptVerdict>;

/** The versions of graphs that this process has code for, on one store. */
class KnownCode {
  readonly #graphs = new Map<string, Map<string, Judge>>();

  /** The newest compiled one of a version counts. */
  add({ id, version }: { readonly id: string; readonly version: string }, judge: Judge): void {
    this.#graphs.set(id, (this.#graphs.get(id) ?? new Map<string, Judge>()).set(version, judge));
  }

  /** Those that may go on with a run: that of its own version, else all others, the newest first. */
  of(graphId: string, graphVersion: string): readonly Judge[] {
    const versions = this.#graphs.get(graphId) ?? new Map<string, Judge>();
    const own = versions.get(graphVersion);
    if (own !== undefined) return [own];
    return [...versions].sort(([a], [b]) => userVersion(b) - userVersion(a)).map(([, judge]) => judge);
  }
}

/** The code of this process for the runs of a store. */
export const knownCodeOf: (store: Store) => KnownCode = perObject(() => new KnownCode());

/**
 * The first run that works for this one, and that the code of this process cannot go on with, in words: without it the body
 * that waits for it could not go on either.
 */
export async function lostCall<S>(
  { log, store }: Pick<RunnerDeps<S>, "log" | "store">,
  { run: { runId }, executions }: Checkpoint,
): Promise<string | undefined> {
  if (executions.size === 0) return undefined;
  for await (const row of calledBy(store, runId)) {
    const called = await log.load(row.runId, { state: false });
    const run = called?.checkpoint.run;
    if (run?.caller === undefined || isOver(run.status) || !await isAwaited(log, run.caller)) continue;
    const what = `run ${run.runId} of graph ${run.graphId}, which works for vertex ${run.caller.vertexId},`;
    const [first, ...others] = knownCodeOf(store).of(run.graphId, run.graphVersion);
    if (first === undefined) return `${what} is of a graph that this code does not have`;
    const verdict = await first(run.runId);
    let fits = verdict.verdict !== "refused";
    for (const judge of fits ? [] : others) fits ||= (await judge(run.runId)).verdict !== "refused";
    if (!fits) return `${what} does not fit: ${verdict.problem}`;
  }
  return undefined;
}
