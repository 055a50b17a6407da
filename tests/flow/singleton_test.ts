// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SingletonOptions } from "../../src/model/flow.ts";
import { WorkerLab } from "../worker/lab.ts";
import { checkPermits, type Job, jobs, Watch } from "./support.ts";

const job = (tenant: string, more: Partial<Job> = {}): Job => ({ log: [], tenant, ...more });

function labWith(onConflict: SingletonOptions["onConflict"], limit?: number) {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs(
    {
      singleton: { onConflict, key: ({ tenant = "" }) => tenant },
      ...(limit === undefined ? {} : { concurrency: { limit } }),
    },
    watch,
    (ms) => lab.clock.sleep(ms),
  );
  return { lab, watch, graph, runner: lab.process(graph).runner };
}

test("of a singleton that skips a second start answers the live run, waiting or at work, until it is over (Q1)", async () => {
  const { lab, watch, graph, runner } = labWith("skip");
  const first = await runner.submit(job("a"), { runId: "first" });
  assert.deepEqual(first, { runId: "first", created: true });
  assert.deepEqual(await runner.submit(job("a", { ms: 7 })), {
    runId: "first",
    created: false,
    skipped: true,
  });
  assert.deepEqual(await runner.submit(job("b")).then(({ created }) => created), true);
  await lab.serve(graph);
  await lab.pass(50);
  const handle = await runner.start(job("a"));
  assert.deepEqual([handle.runId, handle.created], ["first", false]);
  assert.equal((await lab.clock.drive(handle.result())).status, "completed");
  const second = await runner.submit(job("a"), { runId: "second" });
  assert.equal(second.created, true);
  await lab.pass(2_000);
  assert.equal(watch.began.length, 3);
  await checkPermits(lab.store, () => 1);
  await lab.end();
});

test("a start with the id or key of a run is that run, whether or not another one is live (Q1, E1)", async () => {
  for (const onConflict of ["skip", "queue", "cancel"] as const) {
    const { lab, graph, runner } = labWith(onConflict);
    const live = await runner.submit(job("a"), { runId: "live" });
    assert.deepEqual(await runner.submit(job("a"), { runId: "live" }), { runId: live.runId, created: false });
    assert.equal((await runner.start(job("a"), { runId: "live" })).created, false);
    assert.equal((await runner.status("live")).status, "running");
    await assert.rejects(runner.submit(job("a", { ms: 1 }), { runId: "live" }), { code: "RUN_EXISTS" });
    await lab.serve(graph);
    await lab.pass(2_000);
    assert.equal((await runner.status("live")).status, "completed");
    await runner.submit(job("a", { ms: 5_000 }), { runId: "next" });
    assert.deepEqual(await runner.submit(job("a"), { runId: "live" }), { runId: "live", created: false });
    assert.equal((await runner.status("next")).cancelReason, undefined);
    await lab.pass(7_000);
    await checkPermits(lab.store, () => 1);
    await lab.end();
  }
});

test("of a singleton that queues one run after the other is live, the permit held over waits (Q1, Q4)", async () => {
  const { lab, watch, graph, runner } = labWith("queue", 1);
  const { clock } = lab;
  for (const id of ["a1", "a2", "a3"]) await runner.submit(job("a"), { runId: id });
  await runner.submit(job("b"), { runId: "b1" });
  assert.equal((await runner.status("a2")).queued?.permit, "singleton/jobs/a");
  assert.equal((await runner.status("b1")).queued?.permit, "concurrency/jobs/");
  await lab.serve(graph);
  await clock.advance("5s");
  assert.deepEqual(watch.began.filter((id) => id.startsWith("a")), ["a1", "a2", "a3"]);
  assert.equal(watch.most, 1);
  await checkPermits(lab.store, () => 1);
  await lab.end();
});

test("of a singleton that cancels the newest run replaces the live one and those that wait (Q1)", async () => {
  const { lab, watch, graph, runner } = labWith("cancel");
  await lab.serve(graph);
  await runner.submit(job("a", { ms: 60_000 }), { runId: "a1" });
  await runner.submit(job("b", { ms: 1_000 }), { runId: "b1" });
  await lab.pass(1_500);
  await lab.clock.drive(Promise.all(["a2", "a3"].map((runId) => runner.submit(job("a"), { runId }))));
  await lab.pass(3_000);
  const status = async (id: string) => (await runner.status(id)).status;
  assert.equal(await status("a1"), "cancelled");
  assert.match((await runner.status("a1")).cancelReason!, /^run a[23] took its place$/);
  assert.deepEqual((await Promise.all(["a2", "a3"].map(status))).sort(), ["cancelled", "completed"]);
  assert.equal(await status("b1"), "completed");
  assert.equal(watch.began.length, 3);
  await checkPermits(lab.store, () => 1);
  await lab.end();
});

test("two processes that start a singleton at once make one live run (Q1)", async () => {
  for (let round = 0; round < 10; round++) {
    const { lab, graph } = labWith("skip");
    const runners = Array.from({ length: 3 }, () => lab.process(graph).runner);
    const all = await lab.clock.drive(Promise.all(runners.map((runner) => runner.submit(job("a")))));
    assert.equal(all.filter(({ created }) => created).length, 1);
    assert.equal(new Set(all.map(({ runId }) => runId)).size, 1);
  }
});

test("a live run that was removed from the store stands in no way (Q1, H4)", async () => {
  const { lab, runner } = labWith("skip");
  await runner.submit(job("a"), { runId: "gone" });
  await lab.store.purge("gone");
  assert.equal((await runner.submit(job("a"), { runId: "next" })).created, true);
});
