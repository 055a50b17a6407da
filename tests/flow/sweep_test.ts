// Runs on deno by default: limits are decided by the cells of a store, which no runtime changes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileFlow } from "../../src/graph/flow.ts";
import { GraphBuilder } from "../../src/graph/mod.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { WorkerLab } from "../worker/lab.ts";
import { checkPermits, type Job, jobs, Watch } from "./support.ts";

const job = (more: Partial<Job> = {}): Job => ({ log: [], ...more });

test("a permit whose holder is no more is free after a while (Q4)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs({ concurrency: { limit: 2 } }, watch, (ms) => lab.clock.sleep(ms));
  const { runner } = lab.process(graph);
  for (const runId of ["gone-1", "gone-2", "next-1", "next-2"]) await runner.submit(job(), { runId });
  await lab.store.purge("gone-1");
  await lab.store.purge("gone-2");
  await lab.serve(graph);
  await lab.pass("50s");
  assert.deepEqual(watch.began, []);
  await lab.pass("50s");
  assert.deepEqual(watch.began.sort(), ["next-1", "next-2"]);
  assert.deepEqual(await lab.store.cells.list("holder", { limit: 9 }), []);
  await lab.end();
});

test("a permit that was given to a run for which nobody comes goes to the others, and the run waits behind them (Q4)", async () => {
  const lab = new WorkerLab();
  const version = (number: number) => {
    const graph = new GraphBuilder<Job>({ id: "jobs", version: number })
      .addVertex<unknown, unknown>({
        id: "work",
        select: (s) => s["kind"],
        reduce: () => {},
        task: {
          execute: async (kind: unknown, ctx: TaskContext) => {
            if (kind === "asks" && ctx.answer() === undefined) await ctx.interrupt();
            if (kind === "works") await lab.clock.sleep("1h");
          },
        },
      }).build({ entry: "work", finish: "work" });
    return Object.freeze({ ...graph, flow: compileFlow("limit", "jobs", { concurrency: { limit: 1 } }) });
  };
  const old = await lab.serve(version(1));
  await old.runner.submit(job({ kind: "asks" }), { runId: "asks" });
  await lab.pass(2_000);
  await old.runner.submit(job({ kind: "works" }), { runId: "works" });
  await lab.pass(2_000);
  const { rows: [wait] } = await old.runner.waits();
  await old.runner.answer("asks", wait!.waitId, 1);
  await lab.pass(2_000);
  assert.equal((await old.runner.status("asks")).queued?.permit, "concurrency/jobs/");
  await lab.clock.drive(old.worker.stop(0));
  await lab.clock.drive(old.runner.cancel("works"));
  const fresh = await lab.serve(version(2));
  await fresh.runner.submit(job({ kind: "plain" }), { runId: "plain" });
  await lab.pass("30s");
  const status = async (id: string) => (await fresh.runner.status(id)).status;
  assert.equal(await status("plain"), "running");
  await lab.pass("2m");
  assert.deepEqual([await status("plain"), await status("asks")], ["completed", "running"]);
  await lab.serve(version(1));
  await lab.pass("2m");
  assert.equal(await status("asks"), "completed");
  await checkPermits(lab.store, () => 1);
  await lab.end();
});

test("a count that nobody has used for long is removed, and its numbers go on behind the old ones (Q4)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs({ concurrency: { limit: 1 } }, watch, (ms) => lab.clock.sleep(ms));
  const { runner } = lab.process(graph);
  await lab.clock.drive(runner.run(job(), { runId: "first" }));
  await lab.pass("2h");
  await lab.clock.drive(runner.sweep());
  assert.deepEqual(await lab.store.cells.list("permit", { limit: 9 }), []);
  await lab.clock.drive(runner.run(job(), { runId: "second" }));
  const [events] = (await checkPermits(lab.store, () => 1)).values();
  assert.deepEqual(events!.map(({ runId, by }) => [runId, by]), [
    ["first", 1],
    ["first", -1],
    ["second", 1],
    ["second", -1],
  ]);
});
