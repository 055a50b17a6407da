import { compile, type Store } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { type Bench, expectStatus, timed } from "../bench.ts";
import { loopGraph, PADDING, turns } from "../graphs.ts";
import type { Workload } from "./mod.ts";

/** N1: a chain of steps with records of 1 KB, on a file. */
export const chain: Workload = {
  id: "N1",
  name: "chain",
  modes: ["cold", "warm"],
  prepare(bench) {
    // From the first body to the body after the last step: each step is a body and its boundary record.
    let bodies: number[] = [];
    const graph = loopGraph(PADDING, () => void bodies.push(performance.now()));
    return async () => {
      for (
        const steps of bench.isCold ? [bench.size(200, 10)] : [bench.size(200, 10), bench.size(2_000, 20)]
      ) {
        bodies = [];
        let whole = 0;
        let costs = {};
        const { bytes } = await bench.inFile(async ({ store, ...file }) => {
          const runner = compile(graph, { store });
          whole = await timed(async () => expectStatus(await runner.run(turns(steps + 1)), "completed"));
          costs = file.costs(steps);
        });
        const bound = await bench.bareCommit();
        const name = `chain of ${steps}`;
        bench.report({
          id: "N1",
          name: `${name}, a step`,
          unit: "ms",
          value: (bodies[steps]! - bodies[0]!) / steps,
          bound,
          ...(bench.isCold ? {} : { target: { of: "ratio", max: 1.3 } }),
          ...costs,
          bytes: bytes / steps,
        });
        bench.report({
          id: "N1",
          name: `${name}, a step with start and end`,
          unit: "ms",
          value: whole / steps,
          bound,
        });
      }
    };
  },
};

/** N2: a chain of steps in memory; cold, the first 200 of a process. */
export const memoryChain: Workload = {
  id: "N2",
  name: "memory-chain",
  modes: ["cold", "warm"],
  prepare(bench) {
    const graph = loopGraph(0);
    return async () => {
      const steps = bench.isCold ? bench.size(200, 10) : bench.size(2_000, 20);
      bench.report({
        id: "N2",
        name: `chain of ${steps} in memory, a step`,
        unit: "ms",
        value: await stepIn(memoryStore(), steps),
        target: { of: "value", max: bench.isCold ? 0.05 : 0.015 },
      });
    };

    async function stepIn(store: Store, steps: number): Promise<number> {
      const runner = compile(graph, { store });
      const ms = await timed(async () => expectStatus(await runner.run(turns(steps)), "completed"));
      return ms / steps;
    }
  },
};

/** N3: many chains at once on one file, whose appends may be made together. */
export const concurrent: Workload = {
  id: "N3",
  name: "concurrent",
  modes: ["warm"],
  prepare(bench) {
    const graph = loopGraph(PADDING);
    return async () => {
      for (const length of [10, 200]) await rateOf(bench, graph, length);
    };
  },
};

async function rateOf(bench: Bench, graph: ReturnType<typeof loopGraph>, length: number): Promise<void> {
  const [runs, steps] = [bench.size(200, 5), bench.size(length, 5)];
  const bound = await bench.bareRate();
  let ms = 0;
  let costs = {};
  const { bytes } = await bench.inFile(async ({ store, ...file }) => {
    const runner = compile(graph, { store });
    ms = await timed(async () => {
      const results = await Promise.all(Array.from({ length: runs }, () => runner.run(turns(steps))));
      for (const result of results) expectStatus(result, "completed");
    });
    costs = file.costs(runs * steps);
  });
  const min = bench.request.runtime === "deno" ? 4 : 3;
  bench.report({
    id: "N3",
    name: `${runs} runs of ${steps} steps at once`,
    unit: "steps/s",
    value: runs * steps / ms * 1_000,
    bound,
    ...(length === 200 ? { target: { of: "ratio", min } } : {}),
    ...costs,
    bytes: bytes / (runs * steps),
  });
}
