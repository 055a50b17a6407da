import type { CheckpointLog } from "../../checkpoint/log.ts";
import {
  type GraphVersionMismatchError,
  isSuperstepError,
  reasonOf,
  ResumeTerminalError,
} from "../../errors.ts";
import { isOver, type RunRecord } from "../../model/run.ts";
import { LOAD_FAULTS } from "../child_runs.ts";
import type { Loader } from "../loader.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { lostCall } from "./called_runs.ts";
import { crossingOf } from "./take_over.ts";
import type { AdoptVerdict } from "./verdict.ts";

/**
 * Judges a run as the one who takes it over does, on copies: nothing is written. Who lives is not asked, for it is another
 * one by the time the code is deployed.
 *
 * @throws {ResumeTerminalError} it is over
 */
export async function verdictOf<S>(
  deps: RunnerDeps<S>,
  loader: Loader<S>,
  runId: string,
): Promise<AdoptVerdict> {
  const { run } = (await loader.stored(runId)).checkpoint;
  if (isOver(run.status)) throw new ResumeTerminalError(runId, run.status);
  const { graphId, graphVersion } = run;
  const is = (verdict: AdoptVerdict["verdict"], problem?: string): AdoptVerdict => ({
    runId,
    graphId,
    from: graphVersion,
    to: deps.graph.version,
    verdict,
    ...(problem === undefined ? {} : { problem }),
  });
  try {
    if (graphVersion === deps.graph.version) {
      const problem = await lostCall(deps, (await loader.load(runId)).checkpoint);
      return is(problem === undefined ? "loads" : "refused", problem);
    }
    const found = await crossed(deps, deps.log, run);
    if (typeof found !== "string") return is(found.migrates ? "migrates" : "fits");
    const wouldFit = !deps.adopts &&
      typeof await crossed({ ...deps, adopts: true }, deps.log, run) !== "string";
    return is("refused", wouldFit ? `${found}; ${WOULD_FIT}` : found);
  } catch (error) {
    if (!isSuperstepError(error, ...LOAD_FAULTS)) throw error;
    return is("refused", problemOf(error));
  }
}

/** Whether the run would come by a migration; or the first thing that keeps it. */
async function crossed<S>(
  deps: RunnerDeps<S>,
  log: CheckpointLog<S>,
  { runId }: RunRecord,
): Promise<{ readonly migrates: boolean } | string> {
  const cursor = await log.load(runId);
  const found = await crossingOf(deps, cursor!);
  if ("refusal" in found) {
    const { refusal, thrown } = found;
    return thrown === undefined ? refusal : `${refusal}: ${thrown}`;
  }
  return { migrates: found.event.type === "migrated" };
}

const WOULD_FIT = 'it fits all the same: take it over with adopt: "compatible" (--adopt)';

/** What is wrong, without what the error says around it. */
export function problemOf(error: unknown): string {
  return isSuperstepError(error, "GRAPH_VERSION_MISMATCH")
    ? String((error as GraphVersionMismatchError).fields["difference"])
    : reasonOf(error);
}
