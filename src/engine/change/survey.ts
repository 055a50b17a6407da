import { isSuperstepError } from "../../errors.ts";
import { rowsOf } from "../../model/pages.ts";
import type { CatalogQuery, Page, PageQuery } from "../../store/store.ts";
import { listRuns, type RunRow } from "../activity.ts";
import type { Store } from "../../store/store.ts";
import { userVersion } from "../workers.ts";
import type { AdoptVerdict } from "./verdict.ts";

/** What judges runs of one version of a graph; every {@link Runner} does. */
export interface Judging {
  /** The graph and its version. */
  readonly graph: { readonly id: string; readonly version: string };
  /** As {@link Runner.tryAdopt}. */
  tryAdopt(runId: string): Promise<AdoptVerdict>;
}

/** An open run with what would become of it, and by which code. */
export interface Surveyed<J extends Judging> {
  /** The run as listed. */
  readonly row: RunRow;
  /** What would become of it. */
  readonly verdict: AdoptVerdict;
  /** The code that goes on with it, or that refuses it last. */
  readonly by: J;
}

/** The open runs of a graph, or of all graphs, newest created first, each with what becomes of it. */
export async function* openRuns(
  store: Store,
  graphId: string | undefined,
  now: number,
): AsyncGenerator<RunRow> {
  for (const status of ["running", "interrupted"] as const) {
    const query: CatalogQuery = { status, limit: PAGE, ...(graphId === undefined ? {} : { graphId }) };
    const read = (start: PageQuery): Promise<Page<RunRow>> => listRuns(store, { ...query, ...start }, now);
    yield* rowsOf(read);
  }
}

/**
 * What would become of every open run of the graphs of this code: that of its own version goes on with it, else the newest
 * one that takes it. Nothing is written.
 */
export async function* survey<J extends Judging>(
  store: Store,
  code: readonly J[],
  now: number,
): AsyncGenerator<Surveyed<J>> {
  const ids = [...new Set(code.map(({ graph }) => graph.id))];
  for (const id of ids) {
    const versions = code.filter(({ graph }) => graph.id === id)
      .sort((a, b) => userVersion(b.graph.version) - userVersion(a.graph.version));
    for await (const row of openRuns(store, id, now)) {
      const own = versions.filter(({ graph }) => graph.version === row.graphVersion);
      const found = await judged(row.runId, own.length > 0 ? own : versions);
      if (found !== undefined) yield { row, ...found };
    }
  }
}

/** The verdict of the first that takes the run, or of the first one of all; nothing of one that is over by now. */
async function judged<J extends Judging>(
  runId: string,
  code: readonly J[],
): Promise<{ readonly verdict: AdoptVerdict; readonly by: J } | undefined> {
  let refused: { readonly verdict: AdoptVerdict; readonly by: J } | undefined;
  for (const by of code) {
    try {
      const verdict = await by.tryAdopt(runId);
      if (verdict.verdict !== "refused") return { verdict, by };
      refused ??= { verdict, by };
    } catch (error) {
      if (isSuperstepError(error, "RESUME_TERMINAL", "CHECKPOINT_NOT_FOUND")) return undefined;
      throw error;
    }
  }
  return refused;
}

const PAGE = 500;
