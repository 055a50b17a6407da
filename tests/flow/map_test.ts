// Runs on deno by default: limits are decided by the cells of a store, which no runtime changes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BuildError, GraphBuilder } from "../../mod.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { WorkerLab } from "../worker/lab.ts";

interface State {
  readonly items: readonly number[];
  readonly asks?: boolean;
  done: number;
}

/** Maps over the items with a cap, beside a vertex without one; counts the bodies at work. */
function mapped(lab: WorkerLab, concurrency: number) {
  const seen = { most: 0, atWork: 0, begun: 0 };
  const graph = new GraphBuilder<State>({ id: "map" })
    .addVertex({
      id: "begin",
      task: { execute: () => 0 },
      select: () => null,
      reduce: () => {},
    })
    .addVertex<unknown, number>({
      id: "each",
      concurrency,
      each: (s) => s.items.map((n) => ({ n, asks: s.asks })),
      reduce: (s, outputs) => void (s.done = outputs.length),
      task: {
        execute: async (input: unknown, ctx: TaskContext) => {
          const { n, asks } = input as { n: number; asks?: boolean };
          seen.begun++;
          seen.most = Math.max(seen.most, ++seen.atWork);
          await lab.clock.sleep(100);
          seen.atWork--;
          if (asks && ctx.answer() === undefined) await ctx.interrupt();
          return n;
        },
      },
    })
    .addVertex({
      id: "beside",
      task: { execute: () => lab.clock.sleep(50) },
      select: () => null,
      reduce: () => {},
    })
    .addEdge("begin", "each").addEdge("begin", "beside")
    .build({ entry: "begin", finish: ["each", "beside"] });
  return { graph, seen };
}

const items = Array.from({ length: 20 }, (_, i) => i);

test("a map vertex has at most so many items at work, by itself and under a worker (Q2, FT-F4)", async () => {
  const lab = new WorkerLab();
  const { graph, seen } = mapped(lab, 3);
  const { runner } = await lab.serve(graph);
  const began = lab.clock.now();
  const alone = await lab.clock.drive(runner.run({ items, done: 0 }));
  assert.deepEqual([alone.status, alone.state.done, seen.most, seen.begun], ["completed", 20, 3, 20]);
  assert.ok(lab.clock.now() - began < 1_000, "and no fewer than that");
  const { runId } = await runner.submit({ items, done: 0 });
  await lab.pass(5_000);
  assert.deepEqual([(await runner.status(runId)).status, seen.most, seen.begun], ["completed", 3, 40]);
  await lab.end();
});

test("items that wait make room for others under a cap, and are capped when they go on (Q2, FT-F4)", async () => {
  const lab = new WorkerLab();
  const { graph, seen } = mapped(lab, 3);
  const { runner } = lab.process(graph);
  const paused = await lab.clock.drive(runner.run({ items, asks: true, done: 0 }));
  assert.deepEqual([paused.status, seen.most, seen.begun], ["interrupted", 3, 20]);
  const done = await lab.clock.drive(runner.resume(paused.run.runId, { payload: 1, all: true }));
  assert.deepEqual([done.status, done.state.done, seen.most, seen.begun], ["completed", 20, 3, 40]);
});

test("a cap that means nothing is refused, and is no part of the version (Q2, H3)", () => {
  const lab = new WorkerLab();
  assert.equal(mapped(lab, 3).graph.version, mapped(lab, 4).graph.version);
  assert.throws(() => mapped(lab, 0), /concurrency is 0; give a whole number from 1/);
  const single = {
    id: "a",
    task: { execute: () => 1 },
    select: () => null,
    reduce: () => {},
    concurrency: 2,
  };
  assert.throws(
    () => new GraphBuilder<State>({ id: "g" }).addVertex(single as never),
    (error) => error instanceof BuildError && /concurrency is given without each/.test(error.message),
  );
});
