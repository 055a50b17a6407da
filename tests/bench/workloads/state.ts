import { compile } from "superstep";
import { expectStatus } from "../bench.ts";
import { loopGraph, turns } from "../graphs.ts";
import type { Workload } from "./mod.ts";

const KB = 1024;
const STEPS = 30;

/** N5: a counter that changes beside a large value that does not. */
export const state: Workload = {
  id: "N5",
  name: "state",
  modes: ["warm"],
  prepare(bench) {
    let bodies: number[] = [];
    const graph = loopGraph(0, () => void bodies.push(performance.now()));
    const sizes = bench.request.quick ? [10 * KB, 100 * KB] : [10 * KB, 100 * KB, KB * KB, 10 * KB * KB];
    return async () => {
      for (const size of sizes) {
        const bound = await bench.bareCommit();
        bodies = [];
        let costs = {};
        const { bytes } = await bench.inFile(async ({ store, ...file }) => {
          const runner = compile(graph, { store });
          const result = await runner.run({ ...turns(STEPS + 1), blob: textOf(size) });
          expectStatus(result, "completed");
          costs = file.costs(STEPS);
        });
        const name = `${STEPS} steps over ${size < KB * KB ? `${size / KB} KB` : `${size / KB / KB} MB`}`;
        bench.report({
          id: "N5",
          name: `${name}, a step after the first write`,
          unit: "ms",
          value: (bodies[STEPS]! - bodies[0]!) / STEPS,
          bound,
          target: { of: "ratio", max: 1.4 },
          ...costs,
        });
        bench.report({
          id: "N5",
          name: `${name}, on disk`,
          unit: "MB",
          value: bytes / KB / KB,
          bound: size / KB / KB,
          ...(size === KB * KB ? { target: { of: "value", max: 1.5 } } : {}),
        });
      }
    };
  },
};

/** A text of that length that nothing makes shorter. */
export function textOf(size: number, seed = 1): string {
  const words = new Uint32Array(Math.ceil(size / 6) + 1);
  let word = seed;
  for (let i = 0; i < words.length; i++) words[i] = word = (Math.imul(word, 1_664_525) + 1_013_904_223) >>> 0;
  return Array.from(words, (n) => n.toString(36).padStart(7, "0").slice(-6)).join("").slice(0, size);
}
