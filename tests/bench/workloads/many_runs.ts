import { compile, type Runner } from "superstep";
import { type Bench, expectStatus, timed } from "../bench.ts";
import type { BenchFile } from "../file.ts";
import { loopGraph, turns } from "../graphs.ts";
import type { Workload } from "./mod.ts";

/** What list, recovery and starts cost in a file with so many finished runs, to one with ten. */
export const manyRuns: Workload = {
  id: "runs",
  name: "runs",
  modes: ["warm"],
  async prepare(bench) {
    const counts = bench.request.quick
      ? [10, 30]
      : [10, 100, 1_000, 10_000, ...bench.request.long ? [100_000] : []];
    const files: Filled[] = [];
    for (const count of counts) files.push(await filled(bench, count));
    return async () => {
      const first = new Map<string, number>();
      for (const { count, file, runner } of files) {
        for (const [what, { unit, work }] of Object.entries(QUESTIONS)) {
          file.costs(1);
          const value = await work(runner);
          const bound = first.get(what) ?? value;
          first.set(what, bound);
          const { commits, mutations, reads } = file.costs(1);
          // What does not depend on finished runs has a ratio of 1.
          const target = unit === "ms"
            ? { of: "ratio", max: 2 } as const
            : { of: "ratio", min: 0.5 } as const;
          bench.report(
            {
              id: "runs",
              name: `${what}, with ${count} runs in the file`,
              unit,
              value,
              ...(count === counts[0] ? {} : { bound, target }),
              ...(unit === "ms" ? { commits, mutations, reads } : {}),
            } as Parameters<Bench["report"]>[0],
          );
        }
      }
    };
  },
};

type AnyRunner = Runner<unknown>;

interface Filled {
  readonly count: number;
  readonly file: BenchFile;
  readonly runner: AnyRunner;
}

const graph = loopGraph(0);
const STARTS = 20;

const QUESTIONS: Readonly<
  Record<string, { readonly unit: string; readonly work: (runner: AnyRunner) => Promise<number> }>
> = {
  "list, the newest 10": { unit: "ms", work: (runner) => timed(() => runner.list({ limit: 10 })) },
  "list, running": { unit: "ms", work: (runner) => timed(() => runner.list({ status: "running" })) },
  "recover": { unit: "ms", work: (runner) => timed(() => runner.recover()) },
  [`${STARTS} starts, one by one`]: {
    unit: "runs/s",
    work: async (runner) => {
      const started: string[] = [];
      const ms = await timed(async () => {
        for (let i = 0; i < STARTS; i++) {
          const result = await runner.run(turns(1));
          expectStatus(result, "completed");
          started.push(result.run.runId);
        }
      });
      for (const runId of started) await runner.purge({ runId });
      return STARTS / ms * 1_000;
    },
  },
};

async function filled(bench: Bench, count: number): Promise<Filled> {
  const file = await bench.open();
  const runner = compile(graph, { store: file.store });
  for (let i = 0; i < count; i += 100) {
    const runs = Array.from({ length: Math.min(100, count - i) }, () => runner.run(turns(1)));
    for (const result of await Promise.all(runs)) expectStatus(result, "completed");
  }
  return { count, file, runner };
}
