import { compile, GraphBuilder } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { serve } from "superstep/worker";
import { z } from "zod";
import { type Bench, expectStatus, heap } from "../bench.ts";
import { askGraph } from "../graphs.ts";
import type { Workload } from "./mod.ts";

const MB = 1024 * 1024;

/** N8: whether memory grows with work: the heap after a collection after much of it, to that after a little. */
export const heapOf: Workload = {
  id: "N8",
  name: "heap",
  modes: ["once"],
  prepare: (bench) => async () => {
    if (await heap() === undefined) return;
    await answered(bench);
    await served(bench);
    await long(bench);
  },
};

function report(bench: Bench, name: string, few: number, many: number): void {
  bench.report({
    id: "N8",
    name: `${name}, heap to that at the beginning`,
    unit: "MB",
    value: many / MB,
    bound: few / MB,
    target: { of: "ratio", max: 1.1 },
  });
}

/** Runs that pause and are answered; each leaves the store when it is over, so that only the engine could keep it. */
async function answered(bench: Bench): Promise<void> {
  const store = memoryStore();
  const runner = compile(askGraph(), { store });
  const run = async (times: number) => {
    for (let i = 0; i < times; i++) {
      const { run: { runId } } = await runner.run({});
      const { rows: [wait] } = await runner.waits({ runId });
      await runner.answer(runId, wait!.waitId, "yes");
      expectStatus(await runner.resume(runId), "completed");
      await store.purge(runId);
    }
  };
  const [first, all] = [bench.size(100, 10), bench.size(2_000, 20)];
  await run(first);
  const few = (await heap())!;
  await run(all - first);
  report(bench, `${all} runs paused and answered`, few, (await heap())!);
}

/** Runs that a worker takes up, pauses and goes on with, each submitted and answered by others. */
async function served(bench: Bench): Promise<void> {
  const store = memoryStore();
  const runner = compile(askGraph(), { store });
  const leave = new AbortController();
  const listeners = countListeners(leave.signal);
  const worker = await serve({ runners: [runner], signal: leave.signal });
  const until = async (runId: string, wanted: string) => {
    for await (const { status } of runner.follow(runId)) if (status === wanted) return;
  };
  const run = async (times: number) => {
    for (let i = 0; i < times; i += 50) {
      await Promise.all(Array.from({ length: Math.min(50, times - i) }, async () => {
        const { runId } = await runner.submit({});
        await until(runId, "interrupted");
        const { rows: [wait] } = await runner.waits({ runId });
        await runner.answer(runId, wait!.waitId, "yes");
        await until(runId, "completed");
        await store.purge(runId);
      }));
    }
  };
  const [first, all] = [bench.size(100, 10), bench.size(2_000, 20)];
  await run(first);
  const few = (await heap())!;
  await run(all - first);
  report(bench, `${all} runs served by a worker`, few, (await heap())!);
  leave.abort();
  await worker.stopped;
  noneLeft(bench, "a worker", listeners());
}

/** One long run on a file, under a caller's signal. */
async function long(bench: Bench): Promise<void> {
  const [first, all] = [bench.size(100, 10), bench.size(10_000, 20)];
  const seen: number[] = [];
  const leave = new AbortController();
  const listeners = countListeners(leave.signal);
  let turns = 0;
  const graph = new GraphBuilder<{ n: number }>({ id: "long", schema: z.object({ n: z.number() }) })
    .addVertex({
      id: "turn",
      task: {
        execute: async (n: number) => {
          if (++turns === first || turns === all) seen.push((await heap())!);
          if (turns === all) leave.abort();
          return n + 1;
        },
      },
      select: (s) => s.n,
      reduce: (s, n: number) => {
        s.n = n;
      },
    })
    .addEdge("turn", "turn")
    .build({ entry: "turn", finish: "turn" });
  await bench.inFile(async ({ store }) => {
    await compile(graph, { store }).run({ n: 0 }, { maxSteps: 2 * all, signal: leave.signal }).catch(
      () => {},
    );
  });
  const [few, many] = seen as [number, number];
  report(bench, `a run of ${all} steps under one signal`, few, many);
  noneLeft(bench, `a run of ${all} steps`, listeners());
}

function noneLeft(bench: Bench, whose: string, listeners: number): void {
  const target = { of: "value", max: 0 } as const;
  bench.report({
    id: "N8",
    name: `listeners left on the signal of ${whose}`,
    unit: "",
    value: listeners,
    target,
  });
}

function countListeners(signal: AbortSignal): () => number {
  let count = 0;
  const { addEventListener, removeEventListener } = signal;
  Object.assign(signal, {
    addEventListener(...args: Parameters<typeof addEventListener>) {
      count++;
      addEventListener.apply(signal, args);
    },
    removeEventListener(...args: Parameters<typeof removeEventListener>) {
      count--;
      removeEventListener.apply(signal, args);
    },
  });
  return () => count;
}
