// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BuildError, compile, GraphBuilder } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { WorkerLab } from "../worker/lab.ts";
import { checkPermits, type Job, jobs, Watch } from "./support.ts";

const job = (more: Partial<Job> = {}): Job => ({ log: [], ...more });

/** The most times in any span of that length. */
function densest(times: readonly number[], ms: number): number {
  return Math.max(...times.map((from) => times.filter((t) => t >= from && t < from + ms).length));
}

test("so many runs begin in any period, over all workers, the first ones first (Q1)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs({ throttle: { limit: 3, per: "10s" } }, watch, (ms) => lab.clock.sleep(ms));
  const { runner } = lab.process(graph);
  const ids = Array.from({ length: 10 }, (_, i) => `r${i}`);
  for (let i = 0; i < 2; i++) await lab.serve(graph);
  for (const runId of ids) {
    await runner.submit(job(), { runId });
    await lab.pass(200);
  }
  const { queued, startedAt } = await runner.status("r9");
  assert.equal(queued?.permit, "throttle/jobs/");
  assert.ok(queued!.until! > lab.clock.now() && startedAt === undefined);
  assert.equal((await runner.list({ reason: "queued" })).rows.length, 7);
  await lab.pass("40s");
  assert.deepEqual([...watch.began].sort(), ids);
  assert.deepEqual(watch.began.slice(0, 3).sort(), ids.slice(0, 3));
  const times = await Promise.all(ids.map(async (id) => (await runner.status(id)).startedAt!));
  assert.equal(densest(times, 10_000), 3);
  assert.ok(Math.max(...times) - Math.min(...times) < 34_000, "and no later than need be");
  await lab.end();
});

test("runs that are overdue since no worker ran begin no faster (Q1)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs(
    { throttle: { limit: 1, per: "5s" }, concurrency: { limit: 2 } },
    watch,
    (ms) => lab.clock.sleep(ms),
  );
  const { runner } = lab.process(graph);
  const ids = Array.from({ length: 6 }, (_, i) => `r${i}`);
  for (const runId of ids) await runner.submit(job({ ms: 12_000 }), { runId });
  await lab.pass("1h");
  for (let i = 0; i < 3; i++) await lab.serve(graph);
  await lab.pass("2m");
  const runs = await Promise.all(ids.map((id) => runner.status(id)));
  assert.deepEqual(runs.map(({ status }) => status), ids.map(() => "completed"));
  assert.equal(densest(runs.map(({ startedAt }) => startedAt!), 5_000), 1);
  assert.equal(watch.most, 2);
  await checkPermits(lab.store, () => 2);
  await lab.end();
});

test("a run that was waited for with start begins when its time has come (Q1)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs(
    { throttle: { limit: 1, per: "5s", key: ({ tenant = "" }) => tenant } },
    watch,
    (ms) => lab.clock.sleep(ms),
  );
  const { runner } = lab.process(graph);
  const began = lab.clock.now();
  await lab.clock.drive(Promise.all(["a", "a", "b"].map((tenant) => runner.run(job({ tenant })))));
  const spent = lab.clock.now() - began;
  assert.ok(spent >= 5_000 && spent < 7_000, `${spent} ms`);
});

test("a submitted run begins at its time, and needs no permit before (Q1)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs({ concurrency: { limit: 1 } }, watch, (ms) => lab.clock.sleep(ms));
  const { runner } = await lab.serve(graph);
  await runner.submit(job(), { runId: "later", at: "1m" });
  await runner.submit(job(), { runId: "dated", at: new Date(lab.clock.now() + 30_000) });
  await runner.submit(job(), { runId: "now" });
  await lab.pass("25s");
  assert.deepEqual(watch.began, ["now"]);
  assert.equal((await runner.status("later")).permits, undefined);
  await lab.pass("40s");
  assert.deepEqual(watch.began, ["now", "dated", "later"]);
  await assert.rejects(runner.start(job(), { at: "1m" } as never), /no option "at"/);
  await assert.rejects(runner.submit(job(), { at: "soon" as never }), /at is soon/);
  await lab.end();
});

test("limits that mean nothing are refused when the graph is built (B1)", () => {
  const builder = () => new GraphBuilder<Job>({ id: "g" });
  const refused: readonly (readonly [RegExp, object])[] = [
    [/concurrency: limit is 0; give a whole number from 1/, { concurrency: { limit: 0 } }],
    [/throttle: limit is 501; give a whole number from 1 to 500/, { throttle: { limit: 501, per: "1s" } }],
    [/throttle: per is "often"/, { throttle: { limit: 1, per: "often" } }],
    [/singleton: onConflict is not given/, { singleton: {} }],
    [/singleton: onConflict is "wait"; give "skip", "queue" or "cancel"/, {
      singleton: { onConflict: "wait" },
    }],
    [/concurrency: key is "tenant"; give a function/, { concurrency: { limit: 1, key: "tenant" } }],
    [/there is no option "limits"/, { concurrency: { limits: 1 } }],
    [/there is no option "rate"/, { rate: { limit: 1 } }],
  ];
  for (const [problem, limits] of refused) {
    assert.throws(() => builder().limit(limits), (error) => {
      assert.ok(error instanceof BuildError);
      assert.match(error.message, problem);
      return true;
    });
  }
  const graph = builder()
    .addVertex({ id: "a", task: { execute: () => 1 }, select: () => null, reduce: () => {} })
    .limit({ throttle: { limit: 1, per: 10 } }).limit({ concurrency: { limit: 2 } })
    .build({ entry: "a", finish: "a" });
  assert.deepEqual([graph.flow?.throttle?.perMs, graph.flow?.concurrency?.limit], [10, 2]);
  assert.equal(compile(graph, { store: memoryStore() }).graph.flow, graph.flow);
});
