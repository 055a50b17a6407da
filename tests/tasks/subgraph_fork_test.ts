// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineWait, type Runner } from "../../mod.ts";
import { z } from "zod";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { finish, stored } from "../operations/story.ts";
import { INPUT, interrupted, Lab, openId, revisionOf, type Spec, type State } from "../waits/lab.ts";
import { house, nested } from "./nesting.ts";

const Ok = defineWait("ok", z.string());
const ASKING: Spec = { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) };

/** Three levels: a map of two runs, each of which has a run that works, asks and works. */
function tower(lab: Lab, made = house(lab)) {
  const home = () => made;
  const deep = lab.graph({
    f: { body: () => "f", to: "g" },
    g: { ...ASKING, to: "h" },
    h: { body: () => "h" },
  }, { id: "deep" });
  const child = lab.graph({ c: { body: () => "c", to: "d" }, d: nested(home, deep) }, { id: "child" });
  const parent = lab.graph({
    a: { body: () => 0, to: "m" },
    m: nested(home, child, { each: () => [INPUT, { out: {}, log: ["second"] }] }),
  }, { id: "parent" });
  return { deep, child, parent, runner: () => home().runner(parent) };
}

const TOWER = ["a", "c", "f", "g", "h"];
const counts = (lab: Lab) => TOWER.map((id) => lab.count(id));
const less = (more: readonly number[], than: readonly number[]) => more.map((n, i) => n - than[i]!);

/** The ids of every run in the store. */
async function everyRun(lab: Lab): Promise<string[]> {
  return (await lab.store.list({ limit: 1000 })).rows.map((row) => row.runId).toSorted();
}

async function storedAll(lab: Lab): Promise<unknown[]> {
  return await Promise.all((await everyRun(lab)).map((runId) => stored(lab.store, runId)));
}

/** Answers what item `item` of a run asks. */
async function answer(lab: Lab, runner: Runner<State>, runId: string, item: number, value: string) {
  const { rows } = await runner.waits({ runId });
  await runner.answer(runId, rows.find((row) => row.item === item)!.waitId, value);
  return await finish(lab, runner, runId);
}

test("two levels deep and in a map, a fork goes on with every run where it stood; no source changes (H2, FC-25)", async () => {
  const lab = new Lab();
  const { runner } = tower(lab);
  await lab.drive(runner().run(INPUT, { runId: "p" }));
  const both = await revisionOf(runner(), "p");
  await answer(lab, runner(), "p", 1, "b");
  const one = await revisionOf(runner(), "p");
  await answer(lab, runner(), "p", 0, "a");
  const { rows } = await runner().history("p");
  const resolved = rows.filter(({ events }) => events.some((e) => e.type === "resolved")).map((r) =>
    r.revision
  );
  const before = await storedAll(lab);
  const ids = await everyRun(lab);
  const cases = [
    // Only what was asked and what comes after it runs, in both items.
    { at: both, asked: [0, 1], more: [0, 0, 0, 4, 2] },
    // The answer of one is recorded, and not handed down yet: it is not asked for again.
    { at: resolved[0]!, asked: [0], more: [0, 0, 0, 3, 2] },
    { at: one, asked: [0], more: [0, 0, 0, 2, 1] },
    { at: resolved[1]!, asked: [], more: [0, 0, 0, 1, 1] },
  ];
  for (const { at, asked, more } of cases) {
    const { runId } = await runner().fork("p", at, { runId: `fork-${at}` });
    const had = counts(lab);
    let result = await finish(lab, runner(), runId);
    const { rows } = await runner().waits({ runId });
    assert.deepEqual(rows.map((row) => row.item).toSorted(), asked, `of revision ${at}`);
    for (const item of asked) result = await answer(lab, runner(), runId, item, `new ${item}`);
    assert.equal(result.status, "completed");
    assert.deepEqual(less(counts(lab), had), more, `of revision ${at}`);
    const of = (item: number, old: string) => asked.includes(item) ? `new ${item}` : old;
    assert.deepEqual(
      (result.state.out.m as { d: { g: string } }[]).map((out) => out.d.g),
      [of(0, "a"), of(1, "b")],
    );
  }
  const now = await everyRun(lab);
  assert.deepEqual(now.filter((id) => ids.includes(id)), ids);
  assert.deepEqual(await Promise.all(ids.map((id) => stored(lab.store, id))), before);
});

test("a fork that is stopped at any write, and made again, leaves every run once, and goes on as if nothing had been (H2, FC-25)", async () => {
  const store = memoryStore();
  const lab = new Lab(store);
  const { parent, runner } = tower(lab);
  await lab.drive(runner().run(INPUT, { runId: "p" }));
  const at = await revisionOf(runner(), "p");
  const sources = await everyRun(lab);
  const before = await storedAll(lab);
  const stop = async (runId: string, write: number, when: "before" | "after") => {
    let writes = 0;
    const dying = aroundStore(store, async (call) => {
      if (writes > write) return await new Promise<never>(() => {});
      if (!call.writes || writes++ !== write) return await call.apply();
      writes = Infinity;
      if (when === "after") await call.apply();
      return await new Promise<never>(() => {});
    });
    const forking = lab.engine(parent, { store: dying }).fork("p", at, { runId });
    const done = forking.then(() => true);
    await lab.clock.settle();
    return await Promise.race([done, Promise.resolve(false)]);
  };
  let made = 0;
  for (let write = 0, all = false; !all; write++) {
    for (const when of ["before", "after"] as const) {
      const runId = `f-${write}-${when}`;
      all = await stop(runId, write, when);
      if (!all && when === "before") {
        // What is left in the middle is in no inbox, and nothing wakes it.
        assert.deepEqual(await lab.store.wakes(Number.MAX_SAFE_INTEGER, 100), []);
        assert.equal((await runner().waits()).rows.length, 2);
      }
      await runner().fork("p", at, { runId });
      const had = counts(lab);
      interrupted(await finish(lab, runner(), runId));
      await answer(lab, runner(), runId, 0, "new");
      const result = await answer(lab, runner(), runId, 1, "new");
      assert.equal(result.status, "completed");
      assert.deepEqual(less(counts(lab), had), [0, 0, 0, 4, 2], runId);
      made++;
    }
  }
  // Two children, one below each, and the fork itself; and once it is not stopped.
  assert.equal(made, 2 * (5 + 1));
  const now = await everyRun(lab);
  assert.equal(now.length, sources.length + made * 5);
  assert.deepEqual(await Promise.all(sources.map((id) => stored(store, id))), before);
});

test("answers that are handed down in a fork keep the order in which they were recorded (T2, H2)", async () => {
  const lab = new Lab();
  const home = house(lab);
  const Other = defineWait("other", z.string());
  const child = lab.graph({
    c: { waits: [Ok, Other], body: (ctx) => Promise.race([ctx.waitFor(Ok), ctx.waitFor(Other)]) },
  }, { id: "child" });
  const parent = lab.graph({ v: nested(() => home, child) }, { id: "parent" });
  const runner = home.runner(parent);
  for (const order of [["ok", "other"], ["other", "ok"]]) {
    const runId = `p-${order[0]}`;
    const asking = interrupted(await lab.drive(runner.run(INPUT, { runId })));
    for (const name of order) {
      await runner.answer(runId, openId(asking, name), name);
      await lab.clock.advance("1s");
    }
    const fork = await runner.fork(runId, asking.run.revision);
    const done = await finish(lab, runner, fork.runId);
    assert.deepEqual(done.state.out.v, { c: order[0] });
  }
});

test("a run that fails in a fork beside an open wait fails the vertex, at whatever revision it does (H2)", async () => {
  const lab = new Lab();
  const home = house(lab);
  let records = 0;
  const child = lab.graph({
    c: { body: () => 0, to: ["ask", "work"] },
    ask: ASKING,
    work: {
      body: async (ctx) => {
        for (let i = 0; i < records; i++) await ctx.once(`${i}`, () => i);
        await lab.clock.sleep(1000);
        throw new Error("broken");
      },
    },
  }, { id: "child" });
  const parent = lab.graph({ v: nested(() => home, child) }, { id: "parent" });
  const runner = home.runner(parent);
  const { run } = interrupted(await lab.drive(runner.run(INPUT, { runId: "p" })));
  assert.equal(run.reason, "errored");
  for (records = 0; records < 12; records++) {
    const { runId } = await runner.fork("p", run.revision);
    assert.equal(interrupted(await finish(lab, runner, runId)).reason, "errored", `${records} records`);
  }
  assert.equal(lab.count("c"), 1);
});
