// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { GraphBuilder } from "../../mod.ts";
import { INPUT, Lab, mortal, recorded, recorder } from "../waits/lab.ts";

function chain(lab: Lab, id = "g") {
  return lab.graph({ a: { body: () => 1, to: "b" }, b: { body: () => 2 } }, { id });
}

test("submit stores a run that nobody owns, with a wake due now, and runs nothing; recover then runs it (W1)", async () => {
  const lab = new Lab();
  const graph = chain(lab);
  const runner = lab.engine(graph);
  const { runId } = await runner.submit(INPUT, { tags: ["b", "a"], deadline: "1h", maxSteps: 7 });
  const run = await runner.status(runId);
  assert.deepEqual(
    [run.status, run.owner, run.revision, run.startedAt, run.maxSteps, run.tags],
    ["running", undefined, 0, undefined, 7, ["a", "b"]],
  );
  assert.equal(run.deadline, lab.clock.now() + 3_600_000);
  const { graphId, graphVersion } = run;
  const due = lab.clock.now();
  const [wake, ...more] = await lab.store.wakes(due, 10);
  assert.deepEqual([{ ...wake, due }, more], [{ runId, graphId, graphVersion, due }, []]);
  assert.ok(wake!.due < Date.UTC(1971), "due also by a clock that is behind");
  assert.deepEqual([lab.count("a"), (await runner.list({ tag: "a" })).rows.map((r) => r.runId)], [0, [
    runId,
  ]]);
  await lab.clock.advance("1m");
  const [handle] = await lab.elsewhere(graph).recover();
  const result = await lab.drive(handle!.result());
  assert.deepEqual([result.status, result.state.out], ["completed", { a: 1, b: 2 }]);
  assert.deepEqual([result.run.startedAt, result.run.createdAt], [due + 60_000, due]);
  assert.deepEqual(await lab.store.wakes(Number.MAX_SAFE_INTEGER, 10), []);
});

test("submit refuses what start refuses, and stores nothing then (W1, E1)", async () => {
  const lab = new Lab();
  const graph = new GraphBuilder({ id: "typed", schema: z.object({ n: z.number() }) })
    .addVertex({ id: "a", task: { execute: () => 1 }, select: () => 0, reduce: () => {} })
    .build({ entry: "a", finish: "a" });
  const runner = lab.engine(graph as never);
  await lab.fails(runner.submit({ n: "one" } as never, { runId: "r" }), "ValidationError");
  await lab.fails(runner.submit({ n: 1, f: () => {} } as never, { runId: "r" }), "SerializationError");
  await lab.fails(runner.submit({ n: 1 } as never, { runId: "no id" }), "ArgumentError");
  await lab.fails(runner.submit({ n: 1 } as never, { runId: "r", tags: ["no tag"] }), "ArgumentError");
  await lab.fails(runner.submit({ n: 1 } as never, { runId: "r", maxSteps: 0 }), "ArgumentError");
  await lab.fails(runner.submit({ n: 1 } as never, { runId: "r", deadline: NaN }), "ArgumentError");
  const signal = AbortSignal.abort();
  await lab.fails(runner.submit({ n: 1 } as never, { runId: "r", signal }), "RunAbortedError");
  await lab.fails(runner.status("r"), "CheckpointNotFoundError");
  assert.deepEqual((await runner.list()).rows, []);
});

test("equal submits and starts of one id or key are one run, from any process; others conflict (FC-14, E1)", async () => {
  const lab = new Lab();
  const graph = chain(lab);
  const engines = [lab.engine(graph), lab.elsewhere(graph)];
  const key = { idempotencyKey: "order-7" };
  const submitted = await Promise.all(
    Array.from({ length: 10 }, (_, i) => engines[i % 2]!.submit({ log: [], out: {} }, key)),
  );
  const ids = new Set(submitted.map((s) => s.runId));
  assert.equal(ids.size, 1);
  await lab.fails(engines[0]!.submit({ log: ["x"], out: {} }, key), "RunExistsError");
  const runId = [...ids][0]!;
  await lab.fails(lab.engine(chain(lab, "other")).submit(INPUT, { runId }), "RunExistsError");
  const handle = await engines[1]!.start(INPUT, key);
  assert.equal(handle.runId, runId);
  const result = await lab.drive(handle.result());
  assert.deepEqual([result.status, lab.count("a"), lab.count("b")], ["completed", 1, 1]);
  assert.deepEqual(await engines[0]!.submit(INPUT, key), { runId, created: false });
  assert.equal((await engines[0]!.status(runId)).status, "completed");
});

test("whoever claims a submitted run first tells its start, once (W1)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt() } });
  const { hooks, events } = recorder();
  const { runId } = await lab.engine(graph, { hooks }).submit(INPUT);
  assert.equal(events.length, 0);
  const paused = await lab.drive(lab.engine(graph, { hooks }).resume(runId));
  assert.equal(paused.status, "interrupted");
  await lab.drive(lab.engine(graph, { hooks }).resume(runId, { payload: 1 }));
  const starts = events.filter((e) => e.type === "runStart");
  assert.deepEqual(starts.map((e) => e.run.startedAt), [lab.clock.now()]);
});

test("two processes that recover a submitted run at once run it once, and a death of the first is made good (W1, O1)", async () => {
  const lab = new Lab();
  const graph = chain(lab);
  const { runId } = await lab.engine(graph).submit(INPUT);
  const claimed = (await Promise.all([1, 2, 3].map(() => lab.elsewhere(graph).recover()))).flat();
  assert.equal(claimed.length, 1);
  await lab.drive(claimed[0]!.result());
  assert.deepEqual([lab.count("a"), lab.count("b")], [1, 1]);
  assert.deepEqual(await recorded(lab.engine(graph), runId), [["created"], ["claimed"], [
    "done",
    "folded",
    "routed",
  ], [
    "done",
    "folded",
    "routed",
    "completed",
  ]]);

  const dying = mortal(lab.store);
  const second = await lab.engine(graph, { store: dying.store }).submit(INPUT);
  dying.kill();
  const [taken] = await lab.elsewhere(graph).recover();
  assert.equal(taken!.runId, second.runId, "nobody had to die for it");
  assert.equal((await lab.drive(taken!.result())).status, "completed");
});
