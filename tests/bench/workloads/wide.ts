import { compile, type CompiledGraph, type Store } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { type Bench, expectStatus, timed } from "../bench.ts";
import { fanGraph, items, mapGraph } from "../graphs.ts";
import type { Target } from "../types.ts";
import type { Workload } from "./mod.ts";

/** N4: wide steps, from the start of a run to its end. */
export const wide: Workload = {
  id: "N4",
  name: "wide",
  modes: ["cold", "warm"],
  prepare(bench) {
    const width = bench.size(100, 5);
    const count = bench.size(1_000, 10);
    const fan = fanGraph(width);
    const map = mapGraph("map", (item) => item);
    return async () => {
      await both(bench, fan, items(0), `fan-out of ${width} with a join`, { of: "ratio", max: 6 });
      await both(bench, map, items(count), `map over ${count} items`, { of: "value", max: 20 });
    };
  },
};

async function both(
  bench: Bench,
  graph: CompiledGraph<unknown>,
  input: unknown,
  name: string,
  target: Target,
): Promise<void> {
  const one = async (store: Store) => {
    const runner = compile(graph, { store });
    return await timed(async () => expectStatus(await runner.run(input), "completed"));
  };
  let costs = {};
  const { result, bytes } = await bench.inFile(async ({ store, ...file }) => {
    const ms = await one(store);
    costs = file.costs(1);
    return ms;
  });
  const bound = await bench.bareCommit();
  const judged = bench.isCold ? {} : { target };
  bench.report({ id: "N4", name, unit: "ms", value: result, bound, ...judged, ...costs, bytes });
  bench.report({ id: "N4", name: `${name}, in memory`, unit: "ms", value: await one(memoryStore()) });
}
