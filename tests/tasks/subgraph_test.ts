// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineWait, WaitExpiredError } from "../../mod.ts";
import { z } from "zod";
import { waitsOf } from "../../tasks/subgraph.ts";
import { gate, INPUT, interrupted, Lab, openId, type Spec, type State } from "../waits/lab.ts";
import { type House, house, nested } from "./nesting.ts";

const Ok = defineWait("ok", z.boolean());
const Grade = defineWait("grade", z.number());

/** A lab with the process that its graphs are at home in; `move` goes to another one. */
function setup() {
  const lab = new Lab();
  let home: House = house(lab);
  return { lab, home: () => home, move: () => void (home = house(lab, "elsewhere")) };
}

const ASKING: Spec = { waits: [Ok], body: (ctx) => ctx.waitFor(Ok, { info: `ok of ${ctx.graphId}?` }) };

test("Subgraph: the run has an id that is derived from the execution, names its caller, and its end is the output", async () => {
  const { lab, home } = setup();
  const child = lab.graph({ c: { body: () => 7 } }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child, { output: (s) => s.out.c, tags: ["mine"] }) }, {
    id: "parent",
  });
  const result = await lab.drive(home().runner(parent).run(INPUT, { runId: "p" }));
  assert.deepEqual([result.status, result.state.out.a], ["completed", 7]);
  const runId = home().runner(child).runIdOf("graph=parent/run=p/step=0/vertex=a");
  const run = await home().runner(child).status(runId);
  const { epoch, ...caller } = run.caller!;
  assert.deepEqual(caller, { graphId: "parent", runId: "p", vertexId: "a", step: 0 });
  assert.equal(epoch, (await lab.store.tail("p"))?.position.epoch);
  assert.deepEqual([run.status, run.tags], ["completed", ["called-by:p", "mine"]]);
});

test("Subgraph: two levels deep and in a map, waits stand in the parent's inbox alone, and each is answered there, from any process", async () => {
  const { lab, home, move } = setup();
  const deep = lab.graph({
    g: { waits: [Grade], body: (ctx) => ctx.waitFor(Grade, { info: "how good?", deadline: "2d" }), to: "h" },
    h: { body: (ctx) => (ctx.answer() ?? ctx.interrupt("anything?")).value },
  }, { id: "deep" });
  const child = lab.graph({
    c: { body: () => 0, to: ["d", "e"] },
    d: nested(home, deep),
    e: ASKING,
  }, { id: "child" });
  const parent = lab.graph({
    m: nested(home, child, { each: () => [INPUT, INPUT] }),
  }, { id: "parent" });
  const begun = lab.clock.now();
  await lab.drive(home().runner(parent).run(INPUT, { runId: "p" }));
  const inbox = async () =>
    (await home().runner(parent).waits()).rows.map((w) => [w.item, w.name, w.info, w.deadline]).toSorted();
  const both = (...wait: readonly unknown[]) => [[0, ...wait], [1, ...wait]];
  assert.deepEqual(
    await inbox(),
    [
      ...both("grade", "how good?", begun + 2 * 86_400_000),
      ...both("ok", "ok of child?", undefined),
    ].toSorted(),
  );
  for (const graph of [child, deep]) assert.deepEqual((await home().runner(graph).waits()).rows, []);
  const schemas = (await home().runner(parent).waits()).rows.map((w) => (w.schema as { type: string }).type);
  assert.deepEqual(schemas.toSorted(), ["boolean", "boolean", "number", "number"]);

  const answer = async (item: number, name: string, value: unknown) => {
    move();
    const { rows } = await home().runner(parent).waits({ name });
    const wait = rows.find((row) => row.item === item)!;
    await home().runner(parent).answer("p", wait.waitId, value);
    return await lab.drive(home().runner(parent).resume("p"));
  };
  const runner = home().runner(parent);
  const { rows } = await runner.waits({ name: "grade" });
  await lab.fails(runner.answer("p", rows[0]!.waitId, "good"), "AnswerError");
  await answer(1, "grade", 3);
  assert.deepEqual((await inbox()).map(([item, name]) => `${item} ${name}`).toSorted(), [
    "0 grade",
    "0 ok",
    "1 interrupt",
    "1 ok",
  ]);
  await answer(1, "interrupt", "no");
  await answer(1, "ok", true);
  await answer(0, "ok", false);
  await answer(0, "grade", 1);
  const done = await answer(0, "interrupt", null);
  assert.equal(done.status, "completed");
  assert.deepEqual(done.state.out.m, [
    { c: 0, d: { g: 1, h: null }, e: false },
    { c: 0, d: { g: 3, h: "no" }, e: true },
  ]);
  assert.deepEqual([lab.count("c"), lab.count("g"), lab.count("h")], [2, 4, 4]);
});

test("Subgraph: a wait appears while other bodies of the run are at work, and its answer counts when they have settled", async () => {
  const { lab, home } = setup();
  const slow = gate();
  const child = lab.graph({
    c: { body: () => 0, to: ["ask", "work"] },
    ask: ASKING,
    work: { body: () => slow.promise },
  }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child) }, { id: "parent" });
  const runner = home().runner(parent);
  const running = runner.run(INPUT, { runId: "p" });
  await lab.clock.settle();
  const { rows: [wait] } = await runner.waits();
  assert.equal(wait?.name, "ok");
  await runner.answer("p", wait!.waitId, true);
  await lab.clock.settle();
  slow.open();
  const done = await lab.drive(running);
  assert.deepEqual([done.status, (done.state.out.a as State["out"]).ask], ["completed", true]);
  assert.deepEqual([lab.count("work"), lab.count("ask")], [1, 2]);
});

test("an answer that was accepted in time reaches the run, however late it goes on; without one the wait expires there (I2)", async () => {
  for (const answered of [true, false]) {
    const { lab, home } = setup();
    const child = lab.graph({
      c: {
        waits: [Ok],
        body: async (ctx) => {
          try {
            return await ctx.waitFor(Ok, { deadline: "1h" });
          } catch (error) {
            if (error instanceof WaitExpiredError) return "expired";
            throw error;
          }
        },
      },
    }, { id: "child" });
    const parent = lab.graph({ a: nested(home, child) }, { id: "parent" });
    const runner = home().runner(parent);
    const paused = interrupted(await lab.drive(runner.run(INPUT, { runId: "p" })));
    assert.equal(paused.due, paused.run.createdAt + 3_600_000);
    if (answered) await runner.answer("p", Ok, true);
    await lab.clock.advance("3d");
    const done = await lab.drive(runner.resume("p"));
    assert.deepEqual([done.status, done.state.out.a], ["completed", { c: answered ? true : "expired" }]);
  }
});

test("Subgraph: a run that goes on without its answer ends the vertex, and the wait is closed", async () => {
  const { lab, home } = setup();
  const child = lab.graph({
    c: {
      waits: [Ok],
      body: (ctx) => Promise.race([ctx.waitFor(Ok), ctx.sleep("patience", "2h").then(() => "too late")]),
    },
  }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child) }, { id: "parent" });
  const runner = home().runner(parent);
  const paused = interrupted(await lab.drive(runner.run(INPUT, { runId: "p" })));
  assert.deepEqual([paused.reason, paused.due], ["awaiting", paused.run.createdAt + 7_200_000]);
  await lab.clock.advance("2h");
  const done = await lab.drive(runner.resume("p"));
  assert.deepEqual([done.status, done.state.out.a], ["completed", { c: "too late" }]);
  assert.deepEqual((await runner.waits()).rows, []);
  await lab.fails(runner.answer("p", openId(paused, "ok"), true), "AnswerError");
});

test("Subgraph: an open wait that the run drops in the step in which it ends keeps nobody waiting", async () => {
  const { lab, home } = setup();
  const slow = gate();
  const child = lab.graph({
    c: { body: () => 0, to: ["ask", "work"] },
    ask: { ...ASKING, onError: { route: "end" }, timeout: { total: "1h" }, to: "end" },
    work: { body: () => slow.promise, to: "end" },
    end: { body: () => 0 },
  }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child, { output: (s) => s.log }) }, { id: "parent" });
  const runner = home().runner(parent);
  const running = runner.run(INPUT, { runId: "p" });
  await lab.clock.settle();
  const { rows: [wait] } = await runner.waits();
  await runner.answer("p", wait!.waitId, true);
  slow.open();
  const done = await lab.drive(running);
  assert.equal(done.status, "completed");
});

test("Subgraph: a run that sleeps lets the vertex sleep as long, and runs nothing twice", async () => {
  const { lab, home, move } = setup();
  const child = lab.graph({
    c: { body: () => 0, to: "d" },
    d: { body: (ctx) => ctx.sleep("nap", "3d"), to: "e" },
    e: { body: (ctx) => ctx.sleep("doze", "10s") },
  }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child) }, { id: "parent" });
  const begun = lab.clock.now();
  const asleep = interrupted(await lab.drive(home().runner(parent).run(INPUT, { runId: "p" })));
  assert.deepEqual([asleep.reason, asleep.due], ["sleeping", begun + 3 * 86_400_000]);
  await lab.clock.advance("3d");
  move();
  const [handle] = await home().runner(parent).recover();
  const done = await lab.drive(handle!.result());
  assert.deepEqual([done.status, lab.clock.now()], ["completed", begun + 3 * 86_400_000 + 10_000]);
  assert.deepEqual([lab.count("c"), lab.count("d"), lab.count("e")], [1, 2, 2]);
});

test("Subgraph: backoff in the run is the vertex's sleep, and survives a restart", async () => {
  const { lab, home, move } = setup();
  const child = lab.graph({
    c: {
      retry: { maxAttempts: 2, backoff: { initial: "1h" } },
      body: (ctx) => {
        if (ctx.attempt === 1) throw new Error("again");
        return ctx.attempt;
      },
    },
  }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child) }, { id: "parent" });
  const asleep = interrupted(await lab.drive(home().runner(parent).run(INPUT, { runId: "p" })));
  assert.equal(asleep.reason, "sleeping");
  await lab.clock.advance("1h");
  move();
  const done = await lab.drive(home().runner(parent).resume("p"));
  assert.deepEqual(done.state.out.a, { c: 2 });
});

test("a run that is begun anew under its old id begins what it calls anew (H4)", async () => {
  const { lab, home } = setup();
  const child = lab.graph({ c: { body: () => lab.count("c") } }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child) }, { id: "parent" });
  const runner = home().runner(parent);
  assert.deepEqual((await lab.drive(runner.run(INPUT, { runId: "p" }))).state.out.a, { c: 1 });
  await lab.drive(runner.purge({ runId: "p" }));
  assert.deepEqual((await lab.drive(runner.run(INPUT, { runId: "p" }))).state.out.a, { c: 2 });
});

test("waitsOf: every wait that the workflow declares, and one for interrupts; different ones under one name are refused", () => {
  const lab = new Lab();
  const child = lab.graph({ a: { ...ASKING, to: "b" }, b: { waits: [Ok, Grade], body: () => 0 } });
  assert.deepEqual(waitsOf(child).map((w) => w.name).toSorted(), ["grade", "interrupt", "ok"]);
  assert.equal(waitsOf(child).find((w) => w.name === "ok"), Ok);
  const twice = lab.graph({
    a: { ...ASKING, to: "b" },
    b: { waits: [defineWait("ok", z.string())], body: () => 0 },
  });
  assert.throws(() => waitsOf(twice), /vertex a and vertex b have different waits under the name ok/);
  const taken = lab.graph({ a: { waits: [defineWait("interrupt", z.string())], body: () => 0 } });
  assert.throws(() => waitsOf(taken), /interrupt/);
  const outer = lab.graph({ a: nested(() => house(lab), child) });
  assert.deepEqual(waitsOf(outer).map((w) => w.name).toSorted(), ["grade", "interrupt", "ok"]);
});

test("Subgraph: a wait that the vertex does not declare fails it, saying where to add it", async () => {
  const { lab, home } = setup();
  const child = lab.graph({ c: ASKING }, { id: "child" });
  const parent = lab.graph({ a: { ...nested(home, child), waits: [] } }, { id: "parent" });
  const result = interrupted(await lab.drive(home().runner(parent).run(INPUT, { runId: "p" })));
  assert.match(result.failures[0]!.failure.message, /waits for "ok".*`waits` do not declare/);
});
