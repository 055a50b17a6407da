import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, type Duration } from "../../mod.ts";
import { gate, INPUT, interrupted, Lab } from "./lab.ts";

const Ok = defineWait("ok", z.string());

test("a timer due within 30 s is awaited in the process; a longer one releases the run with a wake at its time (E13)", async () => {
  const lab = new Lab();
  const start = lab.clock.now();
  const graph = (ms: number) => lab.graph({ a: { body: (ctx) => ctx.sleep("s", ms) } });
  const near = await lab.drive(lab.engine(graph(30_000)).run(INPUT));
  assert.deepEqual([near.status, lab.clock.now() - start], ["completed", 30_000]);
  const far = interrupted(await lab.drive(lab.engine(graph(30_001)).run(INPUT)));
  assert.deepEqual([far.reason, lab.clock.now() - start], ["sleeping", 30_000]);
  assert.equal(far.run.owner, undefined);
  assert.deepEqual((await lab.store.wakes(Infinity, 9)).map((w) => w.due), [start + 60_001]);
});

for (const [inlineTimers, ms, status] of [["2h", "90m", "completed"], [0, 1, "interrupted"]] as const) {
  test(`with inlineTimers ${inlineTimers} a timer of ${ms} leaves the run ${status} (E13)`, async () => {
    const lab = new Lab();
    const graph = lab.graph({ a: { body: (ctx) => ctx.sleep("s", ms) } });
    const result = await lab.drive(lab.engine(graph, { inlineTimers }).run(INPUT));
    assert.equal(result.status, status);
  });
}

for (const inlineTimers of [NaN, -1, Infinity, "soon" as Duration]) {
  test(`inlineTimers ${inlineTimers} is refused (D9)`, () => {
    const lab = new Lab();
    const graph = lab.graph({ a: { body: () => 0 } });
    assert.throws(() => lab.engine(graph, { inlineTimers }), { name: "BuildError" });
  });
}

test("retry backoff follows the same rule: short in the process, long as a wake (E13)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      retry: { maxAttempts: 3, backoff: { initial: "20s", factor: 2 } },
      body: (ctx) => ctx.attempt < 3 ? Promise.reject(new Error("again")) : ctx.attempt,
    },
  });
  const start = lab.clock.now();
  const paused = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  assert.deepEqual([paused.reason, lab.count("a"), lab.clock.now() - start], ["sleeping", 2, 20_000]);
  assert.deepEqual((await lab.store.wakes(Infinity, 9)).map((w) => w.due), [start + 60_000]);
  await lab.clock.advanceTo(start + 60_000);
  const [handle] = await lab.elsewhere(graph).recover();
  const result = await lab.drive(handle!.result());
  assert.deepEqual([result.status, result.state.out.a], ["completed", 3]);
});

test("while a sibling works, an answer re-runs its vertex at once and a due timer its own; the sibling goes on (E13)", async () => {
  const lab = new Lab();
  const work = gate<string>();
  const graph = lab.graph({
    v: { body: () => 0, to: ["asks", "sleeps", "works"] },
    asks: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    sleeps: { body: (ctx) => ctx.sleep("s", "2h") },
    works: { body: () => work.promise },
  });
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT);
  await lab.clock.settle();
  const [row] = (await runner.waits()).rows;
  await runner.answer(handle.runId, row!.waitId, "in process");
  await lab.clock.settle();
  assert.equal(lab.count("asks"), 2);
  const done = async () =>
    (await runner.history(handle.runId)).rows.flatMap((h) => h.events)
      .flatMap((e) => e.type === "done" ? [e.vertexId] : []);
  assert.deepEqual(await done(), ["v", "asks"]);
  await lab.clock.advance("2h");
  assert.equal(lab.count("sleeps"), 2);
  assert.deepEqual(await done(), ["v", "asks", "sleeps"]);
  assert.equal((await runner.status(handle.runId)).status, "running");
  work.open("whole");
  const result = await lab.drive(handle.result());
  assert.deepEqual([result.state.out.works, lab.count("works")], ["whole", 1]);
});

test("an answer accepted by another process reaches a working owner within one poll (E13)", async () => {
  const lab = new Lab();
  const work = gate();
  const graph = lab.graph({
    v: { body: () => 0, to: ["asks", "works"] },
    asks: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    works: { body: () => work.promise },
  });
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT);
  await lab.clock.settle();
  const [row] = (await runner.waits()).rows;
  await lab.elsewhere(graph).answer(handle.runId, row!.waitId, "from afar");
  await lab.clock.advance("1s");
  assert.equal(lab.count("asks"), 2);
  work.open();
  assert.equal((await lab.drive(handle.result())).state.out.asks, "from afar");
});

test("an answer that comes while a short timer is awaited in the process is taken at once (E13)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: (ctx) => Promise.race([ctx.waitFor(Ok), ctx.sleep("s", "20s").then(() => "timer")]),
    },
  });
  const runner = lab.engine(graph);
  const start = lab.clock.now();
  const handle = await runner.start(INPUT);
  await lab.clock.advance("5s");
  const [row] = (await runner.waits()).rows;
  await runner.answer(handle.runId, row!.waitId, "answer");
  const result = await lab.drive(handle.result());
  assert.deepEqual([result.state.out.a, lab.clock.now() - start], ["answer", 5_000]);
  assert.equal(lab.clock.pending, 0);
});

test("a clock that steps back delays no timer of a restarted process beyond its stored time and never fires it early (O4)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: (ctx) => ctx.sleep("s", "10h") } });
  const start = lab.clock.now();
  await lab.drive(lab.engine(graph).run(INPUT));
  lab.clock.step("9h");
  assert.deepEqual(await lab.elsewhere(graph).recover(), []);
  lab.clock.step("-5h");
  assert.deepEqual(await lab.elsewhere(graph).recover(), []);
  await lab.clock.advanceTo(start + 36_000_000);
  const [handle] = await lab.elsewhere(graph).recover();
  assert.equal((await lab.drive(handle!.result())).status, "completed");
  assert.equal(lab.count("a"), 2);
});
