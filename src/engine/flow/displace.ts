import { isSuperstepError } from "../../errors.ts";
import { partsOf, SEPARATOR } from "../../model/flow.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { cancelRun } from "../operations/cancel.ts";
import { countIn, countName } from "./permits.ts";

/** Cancels the runs that hold a singleton's permit, or wait for it, and came before the one that took their place. */
export async function displace<S>(
  deps: RunnerDeps<S>,
  permit: string,
  by: { readonly runId: string; readonly since: number },
): Promise<void> {
  const { store, runtime } = deps;
  const [cell] = await store.cells.read([countName(permit)]);
  const { holder } = countIn(permit, cell!, runtime.now());
  const places = await store.cells.list("queue", { prefix: `${permit}${SEPARATOR}`, limit: MAX_PLACES });
  const earlier = places.map(({ name }) => partsOf(name)).filter(({ runId, since }) =>
    since < by.since || (since === by.since && runId < by.runId)
  );
  for (const runId of [...earlier.map((place) => place.runId), ...(holder === undefined ? [] : [holder])]) {
    if (runId === by.runId) continue;
    try {
      await cancelRun(deps, runId, `run ${by.runId} took its place`);
    } catch (error) {
      if (!isSuperstepError(error, "CHECKPOINT_NOT_FOUND")) throw error;
    }
  }
}

const MAX_PLACES = 1_000;
