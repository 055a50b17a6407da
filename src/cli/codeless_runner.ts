import { compile } from "../compile.ts";
import type { Runner } from "../engine/runner.ts";
import { GraphBuilder } from "../graph/mod.ts";
import type { Store } from "../store/store.ts";
import type { Cli } from "./cli.ts";

/**
 * A runner in the place of the one whose code is not at hand, for calls that need none of it: to cancel a run, to cut its
 * history, to remove it. It can run nothing.
 */
export function standIn(graphId: string, store: Store, cli: Cli): Runner<unknown> {
  const nothing = { execute: () => undefined };
  const graph = new GraphBuilder({ id: graphId })
    .addVertex({ id: "nothing", task: nothing, select: () => undefined, reduce: () => {} })
    .build({ entry: "nothing", finish: "nothing" });
  return compile(graph, { store, logger: cli.logger });
}
