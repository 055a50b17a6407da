import { compile, type Runner } from "superstep";
import { type Bench, expectStatus, timed } from "../bench.ts";
import type { BenchFile } from "../file.ts";
import { askAllGraph, askGraph, items } from "../graphs.ts";
import type { Workload } from "./mod.ts";

const ask = askGraph();
type Asking = Runner<unknown>;

/** N6: runs that pause, are answered and go on. */
export const waits: Workload = {
  id: "N6",
  name: "waits",
  modes: ["cold", "warm"],
  async prepare(bench) {
    const file = await bench.open();
    const runner: Asking = compile(ask, { store: file.store });
    const n = bench.isCold ? 1 : bench.size(20, 3);
    return async () => {
      await oneByOne(bench, file, runner, n);
      if (bench.isCold) return;
      await throughLoad(bench, file, runner, n);
      await atOnce(bench, runner, bench.size(100, 5));
    };
  },
};

async function paused(runner: Asking): Promise<{ readonly runId: string; readonly waitId: string }> {
  const result = await runner.run({});
  expectStatus(result, "interrupted");
  if (result.status !== "interrupted") throw new Error("unreachable");
  return { runId: result.run.runId, waitId: result.waits[0]!.waitId };
}

async function goOn(runner: Asking, runId: string): Promise<void> {
  expectStatus(await runner.resume(runId), "completed");
}

async function oneByOne(bench: Bench, file: BenchFile, runner: Asking, n: number): Promise<void> {
  const bound = bench.isCold ? undefined : await bench.bareCommit();
  const parts = { pause: 0, answer: 0, resume: 0 };
  file.costs(1);
  for (let i = 0; i < n; i++) {
    let at = { runId: "", waitId: "" };
    parts.pause += await timed(async () => at = await paused(runner));
    parts.answer += await timed(() => runner.answer(at.runId, at.waitId, "yes"));
    parts.resume += await timed(() => goOn(runner, at.runId));
  }
  const costs = file.costs(n);
  bench.report({
    id: "N6",
    name: "pause, answer and resume",
    unit: "ms",
    value: (parts.pause + parts.answer + parts.resume) / n,
    bound: bound ?? await bench.bareCommit(),
    ...(bench.isCold ? {} : { target: { of: "ratio", max: 6 } }),
    ...costs,
  });
  for (const [part, ms] of Object.entries(parts)) {
    bench.report({ id: "N6", name: `the ${part} of it`, unit: "ms", value: ms / n });
  }
}

/** As a process that has not seen the runs: another handle on the file, and another runner. */
async function throughLoad(bench: Bench, file: BenchFile, runner: Asking, n: number): Promise<void> {
  const bound = await bench.bareCommit();
  const runs: string[] = [];
  let ms = 0;
  for (let i = 0; i < n; i++) {
    ms += await timed(async () => {
      const { runId, waitId } = await paused(runner);
      await runner.answer(runId, waitId, "yes");
      runs.push(runId);
    });
  }
  const other = await bench.open(file.path);
  const fresh: Asking = compile(ask, { store: other.store });
  for (const runId of runs) ms += await timed(() => goOn(fresh, runId));
  bench.report({
    id: "N6",
    name: "pause, answer and resume by another process",
    unit: "ms",
    value: ms / n,
    bound,
    target: { of: "ratio", max: 7 },
  });
}

async function atOnce(bench: Bench, runner: Asking, n: number): Promise<void> {
  const bound = await bench.bareCommit();
  const ms = await timed(async () => {
    const runs = await Promise.all(Array.from({ length: n }, () => paused(runner)));
    await Promise.all(runs.map(async ({ runId, waitId }) => {
      await runner.answer(runId, waitId, "yes");
      await goOn(runner, runId);
    }));
  });
  bench.report({
    id: "N6",
    name: `${n} times pause, answer and resume at once, each`,
    unit: "ms",
    value: ms / n,
    bound,
    target: { of: "ratio", max: 2 },
  });
}

/** N6: many answers to one run at once. */
export const answers: Workload = {
  id: "N6",
  name: "answers",
  modes: ["once"],
  prepare(bench) {
    const [count, size] = [bench.size(100, 5), 20_000];
    const graph = askAllGraph();
    return async () => {
      let costs = {};
      const { result: ms, bytes } = await bench.inFile(async ({ store, ...file }) => {
        const runner = compile(graph, { store });
        const result = await runner.run(items(count));
        if (result.status !== "interrupted") throw new Error(`the run is ${result.status}`);
        const { run: { runId }, waits } = result;
        file.costs(1);
        const ms = await timed(() =>
          Promise.all(waits.map(({ waitId }, i) => runner.answer(runId, waitId, String(i).padEnd(size, "x"))))
        );
        costs = file.costs(count);
        expectStatus(await runner.resume(runId), "completed");
        return ms;
      });
      const name = `${count} answers of 20 KB to one run at once`;
      bench.report({ id: "N6", name, unit: "ms", value: ms, target: { of: "value", max: 3_000 }, ...costs });
      bench.report({
        id: "N6",
        name: `${name}, on disk`,
        unit: "MB",
        value: bytes / 1024 / 1024,
        target: { of: "value", max: 10 },
      });
    };
  },
};
