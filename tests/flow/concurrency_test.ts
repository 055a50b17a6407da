// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { effort } from "../support/effort.ts";
import { graphOf } from "../support/graphs.ts";
import { WorkerLab } from "../worker/lab.ts";
import { checkPermits, type Job, jobs, limited, Watch } from "./support.ts";

const job = (more: Partial<Job> = {}): Job => ({ log: [], ...more });

test("at most so many runs are at work over all workers, and each is worked on in time (Q1, Q4)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs({ concurrency: { limit: 2 } }, watch, (ms) => lab.clock.sleep(ms));
  const { runner } = lab.process(graph);
  for (let i = 0; i < 12; i++) await runner.submit(job(), { runId: `r${i}` });
  assert.equal((await runner.list({ reason: "queued" })).rows.length, 10);
  for (let i = 0; i < 3; i++) await lab.serve(graph);
  await lab.pass(5_000);
  assert.equal((await runner.list({ status: "completed" })).rows.length, 12);
  assert.equal(watch.most, 2);
  await checkPermits(lab.store, () => 2);
  await lab.end();
});

test("a permit goes to the most urgent run, and to the oldest of those; each minute counts for one class (Q1)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs({ concurrency: { limit: 1 } }, watch, (ms) => lab.clock.sleep(ms));
  const { runner } = lab.process(graph);
  const submit = (runId: string, priority: "high" | "normal" | "low", ms = 100) =>
    runner.submit(job({ ms }), { runId, priority });
  await submit("first", "low", 70_000);
  await submit("low-1", "low");
  await submit("normal-1", "normal");
  await lab.serve(graph);
  await lab.pass(1_500);
  await submit("high-1", "high");
  await lab.pass(66_000);
  // What came first counts one class higher by now, and is older than what comes now.
  await submit("normal-2", "normal");
  await submit("high-2", "high");
  await lab.pass(300_000);
  assert.deepEqual(watch.began, ["first", "normal-1", "high-1", "high-2", "low-1", "normal-2"]);
  assert.equal(watch.most, 1);
  await checkPermits(lab.store, () => 1);
  await lab.end();
});

test("each key has its own permits, computed once of the input as the schema completes it (Q1)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs(
    { concurrency: { limit: 1, key: ({ tenant = "none" }) => tenant } },
    watch,
    (ms) => lab.clock.sleep(ms),
  );
  const { runner } = lab.process(graph);
  const keys = ["a", "a", "b", "\u0001".repeat(400), "x".repeat(2_000)];
  for (const [i, tenant] of keys.entries()) await runner.submit(job({ tenant }), { runId: `r${i}` });
  assert.equal((await runner.status("r1")).queued?.permit, "concurrency/jobs/a");
  assert.equal((await runner.list({ reason: "queued" })).rows.length, 1);
  await lab.serve(graph);
  await lab.pass(3_000);
  assert.equal((await runner.list({ status: "completed" })).rows.length, keys.length);
  for (const permit of (await checkPermits(lab.store, () => 1)).keys()) {
    assert.ok(permit.length < 320, permit);
  }
  const bad = jobs({ concurrency: { limit: 1, key: () => 7 as never } }, watch, () => Promise.resolve());
  await assert.rejects(
    lab.process(bad).runner.submit(job()),
    /the key of concurrency is 7; return a well-formed text/,
  );
  await lab.end();
});

test("a run that waits for a person or a long timer holds no permit, and waits for one to go on (Q1, Q4)", async () => {
  for (const holdWhileWaiting of [false, true]) {
    const lab = new WorkerLab();
    const graph = limited(
      graphOf<Job>({
        id: "jobs",
        vertices: {
          work: {
            select: (s) => s["kind"],
            run: async (kind, ctx) => {
              if (kind === "asks" && ctx.answer() === undefined) await ctx.interrupt();
              if (kind === "sleeps") await ctx.sleep("long", "10m");
              if (kind === "works") await lab.clock.sleep("5s");
            },
          },
        },
      }),
      { concurrency: { limit: 1, holdWhileWaiting } },
    );
    const { runner } = await lab.serve(graph);
    await runner.submit(job({ kind: "asks" }), { runId: "asks" });
    await lab.pass(2_000);
    assert.equal((await runner.status("asks")).reason, "awaiting");
    assert.equal((await runner.status("asks")).permits?.length ?? 0, holdWhileWaiting ? 1 : 0);
    await runner.submit(job({ kind: "works" }), { runId: "works" });
    await lab.pass(1_000);
    const { rows: [wait] } = await runner.waits();
    await runner.answer("asks", wait!.waitId, "yes");
    await lab.pass(1_500);
    const [asks, works] = await Promise.all([runner.status("asks"), runner.status("works")]);
    if (holdWhileWaiting) assert.deepEqual([asks.status, works.queued], ["completed", undefined]);
    else {
      assert.equal(asks.queued?.permit, "concurrency/jobs/");
      assert.equal((await runner.list({ reason: "queued" })).rows[0]?.queued, "concurrency/jobs/");
      assert.deepEqual(await lab.store.wakes(lab.clock.now() * 2, 10), [], "a queued run has no wake (Q4)");
    }
    await lab.pass(10_000);
    await runner.submit(job({ kind: "sleeps" }), { runId: "sleeps" });
    await lab.pass(2_000);
    assert.equal((await runner.status("sleeps")).permits?.length ?? 0, holdWhileWaiting ? 1 : 0);
    await lab.pass("11m");
    assert.equal((await runner.list({ status: "completed" })).rows.length, 3);
    await checkPermits(lab.store, () => 1);
    await lab.end();
  }
});

test("a start under a full limit is queued; its result comes when its turn has come, worker or none (Q1)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs({ concurrency: { limit: 2 } }, watch, (ms) => lab.clock.sleep(ms));
  const processes = [lab.process(graph), lab.process(graph), lab.process(graph)];
  const handles = [];
  for (let i = 0; i < 9; i++) {
    handles.push(await processes[i % 3]!.runner.start(job({ ms: 1_000 }), { runId: `r${i}` }));
  }
  assert.deepEqual(handles.map(({ created }) => created), handles.map(() => true));
  const again = await processes[0]!.runner.start(job({ ms: 1_000 }), { runId: "r8" });
  assert.equal(again.created, false);
  const { owner, startedAt, queued } = await processes[0]!.runner.status("r8");
  assert.deepEqual([owner, startedAt, queued?.permit], [undefined, undefined, "concurrency/jobs/"]);
  const results = await lab.clock.drive(Promise.all([...handles, again].map((handle) => handle.result())));
  for (const { status } of results) assert.equal(status, "completed");
  assert.deepEqual([watch.began.length, watch.most], [9, 2]);
  await checkPermits(lab.store, () => 2);
});

test("a resume under a full limit waits for its turn, and keeps what it brings (Q1, I3)", async () => {
  const lab = new WorkerLab();
  let broken = true;
  const graph = limited(
    graphOf<Job>({
      id: "jobs",
      vertices: {
        work: {
          select: (s) => s["kind"],
          run: async (kind, ctx) => {
            if (kind === "fails" && broken) throw new Error("broken");
            if (kind === "asks" && ctx.answer() === undefined) await ctx.interrupt();
            if (kind === "works") await lab.clock.sleep("5s");
          },
        },
      },
    }),
    { concurrency: { limit: 1 } },
  );
  const { runner } = lab.process(graph);
  await lab.clock.drive(runner.run(job({ kind: "fails" }), { runId: "fails" }));
  await lab.clock.drive(runner.run(job({ kind: "asks" }), { runId: "asks" }));
  const works = await runner.start(job({ kind: "works" }), { runId: "works" });
  broken = false;
  const resumed = [runner.resume("fails"), runner.resume("asks", { payload: 1 })];
  await lab.pass(100);
  assert.equal((await runner.list({ reason: "queued" })).rows.length, 2);
  const all = await lab.clock.drive(Promise.all([...resumed, works.result()]));
  assert.deepEqual(all.map(({ status }) => status), ["completed", "completed", "completed"]);
  await checkPermits(lab.store, () => 1);
});

test("a queued run can be cancelled, and its deadline cancels it; nobody waits behind it (Q4, O5)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs({ concurrency: { limit: 1 } }, watch, (ms) => lab.clock.sleep(ms));
  const { runner } = lab.process(graph);
  await lab.serve(graph);
  await runner.submit(job({ ms: 60_000 }), { runId: "long" });
  await runner.submit(job(), { runId: "late", deadline: "10s" });
  await runner.submit(job(), { runId: "unwanted" });
  await runner.submit(job(), { runId: "last" });
  await runner.cancel("unwanted", "enough");
  await lab.pass(12_000);
  assert.equal((await runner.status("late")).cancelReason, "deadline");
  assert.equal((await lab.store.cells.list("queue", { limit: 9 })).length, 1);
  await lab.pass(60_000);
  assert.equal((await runner.status("last")).status, "completed");
  assert.deepEqual(watch.began, ["long", "last"]);
  await checkPermits(lab.store, () => 1);
  await lab.end();
});

test("a fork keeps what counts it, and called runs need no permit of their workflow (Q1)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const inner = jobs(
    { concurrency: { limit: 1 }, singleton: { onConflict: "queue" } },
    watch,
    (ms) => lab.clock.sleep(ms),
  );
  const { runner } = lab.process(inner);
  const first = await runner.start(job({ ms: 5_000 }), { runId: "first" });
  const outer = graphOf<Job>({
    id: "outer",
    vertices: {
      call: {
        run: async (_, ctx) => (await runner.run(job(), { caller: ctx, runId: "called" })).status,
        reduce: (s, out) => void s.log.push(String(out)),
      },
    },
  });
  const { runner: caller } = lab.process(outer);
  const called = await lab.clock.drive(caller.run(job()));
  assert.deepEqual(called.state.log, ["completed"], "while the first one is at work");
  assert.equal((await runner.status("called")).flow, undefined);
  await runner.fork("first", 0, { runId: "fork" });
  const { flow, permits } = await runner.status("fork");
  assert.deepEqual([flow, permits], [{ concurrency: "concurrency/jobs/" }, undefined]);
  await lab.serve(inner);
  await lab.pass(1_000);
  assert.equal((await runner.status("fork")).queued?.permit, "concurrency/jobs/");
  await lab.clock.drive(first.result());
  await lab.pass(10_000);
  assert.equal((await runner.status("fork")).status, "completed");
  await checkPermits(lab.store, () => 1);
  await lab.end();
});

test("graphs without limits pay nothing: no cell of a limit is read or written, and their version is what it was (Q4, H3)", async () => {
  const calls: string[] = [];
  const store = aroundStore(memoryStore(), (call) => {
    const asked = JSON.stringify(call.args);
    const isOfLimits = /"(permit|holder|queue|throttle)"/.test(asked);
    const writesCells = (call.op === "append" || call.op === "post") && asked.includes('"cells"');
    if (isOfLimits || writesCells) calls.push(`${call.op} ${asked}`);
    return call.apply();
  });
  const lab = new WorkerLab({ store });
  const plain = graphOf<Job>({ vertices: { a: { to: "b" }, b: {} } });
  const { runner } = await lab.serve(plain);
  await runner.submit(job(), { priority: "high" });
  await lab.pass(30_000);
  await lab.clock.drive(runner.run(job()));
  await lab.clock.drive(runner.recover());
  assert.deepEqual(calls, []);
  assert.equal(limited(plain, { concurrency: { limit: 1 } }).version, plain.version);
  const [first] = (await runner.list()).rows;
  assert.deepEqual(
    Object.keys(await runner.status(first!.runId)).filter((key) => /flow|permits|queued/.test(key)),
    [],
  );
  await lab.end();
});

test("many queued runs drain over three workers in time and without a busy loop (Q4)", async () => {
  const RUNS = effort(60, 1_000);
  let calls = 0;
  const store = aroundStore(memoryStore(), (call) => {
    calls++;
    return call.apply();
  });
  const lab = new WorkerLab({ store });
  const watch = new Watch();
  const graph = jobs(
    { concurrency: { limit: 5, key: ({ tenant = "" }) => tenant } },
    watch,
    (ms) => lab.clock.sleep(ms),
  );
  const { runner } = lab.process(graph);
  for (let i = 0; i < RUNS; i++) {
    await runner.submit(job({ tenant: `t${i % 2}`, ms: 100 }), { runId: `r${i}` });
  }
  for (let i = 0; i < 3; i++) await lab.serve(graph);
  calls = 0;
  const began = lab.clock.now();
  let left = RUNS;
  while (left > 0) {
    await lab.pass(500);
    left = RUNS - watch.began.length;
    assert.ok(lab.clock.now() - began < 120_000, `${left} runs are left after two minutes`);
  }
  await lab.pass(1_000);
  // 10 at work at once, 100 ms each, and the time of a few polls.
  assert.ok(lab.clock.now() - began < RUNS * 10 + 6_000, `${lab.clock.now() - began} ms`);
  assert.ok(calls / RUNS < 25, `${calls / RUNS} calls of the store a run`);
  await checkPermits(lab.store, () => 5);
  await lab.end();
});
