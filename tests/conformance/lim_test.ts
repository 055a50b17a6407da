// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { damage } from "../waits/damage.ts";
import { gate, INPUT, interrupted, Lab, recorded } from "../waits/lab.ts";

/** A fan-out whose bodies count themselves while they run. */
function fanOut(lab: Lab, siblings: number) {
  const seen = { now: 0, most: 0 };
  const ids = Array.from({ length: siblings }, (_, i) => `s${i}`);
  const body = async () => {
    seen.most = Math.max(seen.most, ++seen.now);
    await new Promise((resolve) => lab.clock.wakeAt(lab.clock.now() + 10, () => resolve(undefined)));
    seen.now--;
  };
  const graph = lab.graph({
    v: { body: () => 0, to: ids },
    ...Object.fromEntries(ids.map((id) => [id, { body }])),
  });
  return { graph, seen };
}

for (const [id, concurrency] of [["LIM-01", 1], ["LIM-02", 2]] as const) {
  test(`of 4 siblings under a concurrency of ${concurrency} never more than that run at once, and that many do (${id}, E3)`, async () => {
    const lab = new Lab();
    const { graph, seen } = fanOut(lab, 4);
    const result = await lab.drive(lab.engine(graph).run(INPUT, { concurrency }));
    assert.deepEqual([result.status, seen.most], ["completed", concurrency]);
  });
}

test("a vertex that waits for its place starts, and is told to have started, after the one before has ended (LIM-04)", async () => {
  const lab = new Lab();
  const { graph } = fanOut(lab, 2);
  const times: [string, string, number][] = [];
  const hooks = {
    vertexStart: (e: { readonly vertexId: string; readonly startedAt: number }) =>
      void times.push([e.vertexId, "start", e.startedAt]),
    vertexFinish: (e: { readonly vertexId: string; readonly endedAt: number }) =>
      void times.push([e.vertexId, "end", e.endedAt]),
  };
  await lab.drive(lab.engine(graph).run(INPUT, { concurrency: 1, hooks }));
  const at = (id: string, what: string) => times.find((t) => t[0] === id && t[1] === what)![2];
  assert.equal(at("s0", "end") - at("s0", "start"), 10);
  assert.ok(at("s1", "start") >= at("s0", "end"));
});

function chain(lab: Lab, length: number) {
  const ids = Array.from({ length }, (_, i) => `c${i}`);
  return lab.graph(Object.fromEntries(
    ids.map((id, i) => [id, { body: () => i, ...(i + 1 < length ? { to: ids[i + 1]! } : {}) }]),
  ));
}

test("under a budget of n a chain of n vertices completes, and one of n + 1 halts before its last (LIM-05, E9)", async () => {
  const lab = new Lab();
  assert.equal((await lab.drive(lab.engine(chain(lab, 5)).run(INPUT, { maxSteps: 5 }))).status, "completed");
  const halted = interrupted(await lab.drive(lab.engine(chain(lab, 6)).run(INPUT, { maxSteps: 5 })));
  assert.deepEqual([halted.halt?.kind, halted.path.length, lab.count("c5")], ["max_steps", 5, 0]);
});

test("the budget counts the steps of the run, not those of a call: a resume goes on counting (LIM-06, E9)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { body: () => 0, to: "b" },
    b: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt(), to: "c" },
    c: { body: () => 0, to: "d" },
    d: { body: () => 0 },
  });
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT, { maxSteps: 3 }));
  const halted = interrupted(await lab.drive(runner.resume(run.runId, { payload: 1 })));
  assert.deepEqual([halted.halt?.kind, halted.halt?.step, lab.count("c"), lab.count("d")], [
    "max_steps",
    3,
    1,
    0,
  ]);
});

test("a signal that was aborted before makes run reject; nothing runs and nothing is stored (LIM-07, E11)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: () => assert.fail("it ran") } }));
  for (const options of [{}, { runId: "r" }]) {
    await lab.fails(runner.run(INPUT, { ...options, signal: AbortSignal.abort() }), "RunAbortedError");
  }
  assert.deepEqual((await runner.list()).rows, []);
});

test("an abort in the middle of a step reaches the bodies and leaves the run running, to be resumed by its phase (LIM-08, LIM-09, E11)", async () => {
  const lab = new Lab();
  const reasons: unknown[] = [];
  const stop = new AbortController();
  const graph = lab.graph({
    a: { body: () => "a", to: ["b", "c"] },
    b: { body: () => "b" },
    c: {
      body: (ctx) => {
        ctx.signal.addEventListener("abort", () => reasons.push((ctx.signal.reason as Error).name));
        return lab.count("c") === 1 ? gate().promise : "c";
      },
    },
  });
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT, { runId: "r", signal: stop.signal });
  await lab.clock.settle();
  stop.abort();
  await lab.fails(handle.result(), "RunAbortedError");
  const run = await runner.status("r");
  assert.deepEqual([reasons, run.status, run.owner], [["RunAbortedError"], "running", undefined]);
  const done = await lab.drive(lab.elsewhere(graph).resume("r"));
  assert.deepEqual([done.status, ...["a", "b", "c"].map((id) => lab.count(id))], ["completed", 1, 1, 2]);
});

test("status of an unknown run is refused; of a known one it is its record, also when its state cannot be decoded (LIM-25)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: (ctx) => ctx.interrupt() } }));
  await lab.fails(runner.status("unknown"), "CheckpointNotFoundError");
  const { run } = await lab.drive(runner.run(INPUT));
  assert.deepEqual(await runner.status(run.runId), run);
  await damage(lab.store, run.runId, { table: "no table" });
  assert.equal((await runner.status(run.runId)).status, "interrupted");
  await lab.fails(runner.get(run.runId), "CheckpointDecodeError");
});

test("get of a completed run is its final state, without waits and without a halt (LIM-26)", async () => {
  const lab = new Lab();
  const runner = lab.engine(chain(lab, 2));
  const result = await lab.drive(runner.run(INPUT));
  const view = await runner.get(result.run.runId);
  assert.deepEqual([view.status, view.state.out], ["completed", { c0: 0, c1: 1 }]);
  assert.ok(!("waits" in view) && !("halt" in view));
});

test("the cancellation of a paused run is one record; what the run held of its waits is gone from its result (LIM-12, LIM-24)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: (ctx) => ctx.interrupt({ ask: 1 }) } }));
  const { run } = await lab.drive(runner.run(INPUT));
  await runner.cancel(run.runId, "no longer needed");
  const view = await runner.get(run.runId);
  assert.deepEqual(
    [view.status, view.run.revision, view.run.cancelReason],
    ["cancelled", run.revision + 1, "no longer needed"],
  );
  assert.ok(!("waits" in view));
  assert.deepEqual((await recorded(runner, run.runId)).at(-1), ["cancelled", "closed"]);
});
