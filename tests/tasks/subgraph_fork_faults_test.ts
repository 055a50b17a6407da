// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineWait, type Store } from "../../mod.ts";
import { z } from "zod";
import { defaultCodec } from "../../src/checkpoint/codec.ts";
import { decodeRecord, encodeRecord } from "../../src/checkpoint/wire.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import type { AppendEntry } from "../../src/store/store.ts";
import { finish, revisionWith, stored } from "../operations/story.ts";
import {
  gate,
  INPUT,
  interrupted,
  Lab,
  mortal,
  openId,
  revisionOf,
  type Spec,
  type State,
} from "../waits/lab.ts";
import { type House, house, nested } from "./nesting.ts";

const Ok = defineWait("ok", z.string());
const ASKING: Spec = { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) };

/** A run `p`, paused in a workflow that has worked and asks; the vertex selects `out.seed` for it. */
async function paused(store: Store = memoryStore(), top: Parameters<typeof nested>[2] = {}) {
  const lab = new Lab(store);
  let home: House = house(lab);
  const deep = lab.graph({ f: { body: () => "f", to: "g" }, g: ASKING }, { id: "deep" });
  const child = lab.graph({ c: { body: () => "c", to: "d" }, d: nested(() => home, deep) }, { id: "child" });
  const parent = lab.graph({
    v: {
      ...nested(() => home, child, top),
      select: (s) => ({ out: { seed: s.out.seed ?? 0 }, log: [] }),
    },
  }, { id: "parent" });
  const runner = () => home.runner(parent);
  const result = interrupted(await lab.drive(runner().run(INPUT, { runId: "p" })));
  const childOf = (runId: string) => home.runner(child).runIdOf(`graph=parent/run=${runId}/step=0/vertex=v`);
  return {
    lab,
    parent,
    child,
    deep,
    runner,
    result,
    at: result.run.revision,
    childOf,
    children: () => home.runner(child),
    enter: (other: House) => void (home = other),
    counts: () => ["c", "f", "g"].map((id) => lab.count(id)),
    /** Works on a fork until it asks, answers, and works on: what it added to the counts. */
    through: async (runId: string) => {
      const had = ["c", "f", "g"].map((id) => lab.count(id));
      const asking = interrupted(await finish(lab, runner(), runId));
      await runner().answer(runId, openId(asking, "ok"), "yes");
      assert.equal((await finish(lab, runner(), runId)).status, "completed");
      return ["c", "f", "g"].map((id, i) => lab.count(id) - had[i]!);
    },
  };
}

const GOES_ON = [0, 0, 2];
const ANEW = [1, 1, 2];

test("a fork with another state goes on with a run whose input stays the same, and begins one anew that gets another (H2)", async () => {
  const p = await paused();
  const same = await p.runner().fork("p", p.at, { state: (s) => void (s.out.other = 1) });
  assert.deepEqual(await p.through(same.runId), GOES_ON);
  const other = await p.runner().fork("p", p.at, { state: (s) => void (s.out.seed = 1) });
  assert.deepEqual(await p.through(other.runId), ANEW);
  const { parent, revision } = await p.children().status(p.childOf(other.runId));
  assert.equal(parent, undefined);
  assert.ok(revision > 0);
  // The same fork made again is the same run, whatever works for it now.
  const again = { state: (s: State) => void (s.out.seed = 1), runId: other.runId };
  assert.deepEqual(await p.runner().fork("p", p.at, again), other);
  // Nothing of what gave way is left: two runs below each of the three.
  assert.equal((await p.lab.store.list({})).rows.length, 3 * 3);
  await p.lab.store.purge(p.childOf(same.runId));
  await p.runner().fork("p", p.at, { state: (s) => void (s.out.other = 1), runId: same.runId });
  assert.equal((await p.lab.store.list({})).rows.length, 3 * 3 - 1);
});

test("a run that is begun anew in a fork begins once, wherever a crash hits (H2)", async () => {
  for (let write = 1, isOver = false; !isOver; write++) {
    const p = await paused();
    const { runId } = await p.runner().fork("p", p.at, { state: (s) => void (s.out.seed = 1), runId: "f" });
    let left = write;
    const dying = aroundStore(p.lab.store, async (call) => {
      if (left <= 0 || (call.writes && --left === 0)) return await new Promise<never>(() => {});
      return await call.apply();
    });
    const before = p.counts();
    p.enter(house(p.lab, dying));
    const working = p.runner().resume(runId).then(() => true, () => true);
    await p.lab.clock.settle();
    isOver = await Promise.race([working, Promise.resolve(false)]);
    p.enter(house(p.lab));
    await p.lab.clock.advance("1m");
    if (!isOver) {
      const asking = interrupted(await finish(p.lab, p.runner(), runId));
      await p.runner().answer(runId, openId(asking, "ok"), "yes");
      assert.equal((await finish(p.lab, p.runner(), runId)).status, "completed");
      const more = p.counts().map((n, i) => n - before[i]!);
      // Only a body whose outcome was not recorded runs again.
      assert.ok(more[0]! >= 1 && more[0]! <= 2 && more[1]! >= 1 && more[1]! <= 2, `${write}: ${more}`);
    }
    assert.equal((await p.lab.store.list({})).rows.length, 2 * 3, `write ${write}`);
  }
});

test("after an update that gives the vertex another input, a fork begins its run anew, as the refusal advises (H2)", async () => {
  const p = await paused();
  await p.runner().update("p", (s) => void (s.out.seed = 2));
  await p.runner().answer("p", openId(p.result, "ok"), "yes");
  const failed = interrupted(await finish(p.lab, p.runner(), "p"));
  assert.match(failed.failures[0]!.failure.message, /another input.*fork the run/);
  const { runId } = await p.runner().fork("p", failed.run.revision);
  assert.deepEqual(await p.through(runId), ANEW);
});

test("a fork of a failed run keeps what was done below it, and retries what failed there (H2)", async () => {
  const lab = new Lab();
  const home = house(lab);
  let broken = true;
  const child = lab.graph({
    c: { body: () => 1, to: "d" },
    d: {
      body: () => {
        if (broken) throw new Error("no disk");
        return 2;
      },
    },
  }, { id: "child" });
  const parent = lab.graph({ v: nested(() => home, child, { maxSteps: 5 }) }, { id: "parent" });
  const runner = home.runner(parent);
  const failed = interrupted(await lab.drive(runner.run(INPUT, { runId: "p" })));
  assert.equal(failed.reason, "errored");
  const still = await runner.fork("p", failed.run.revision);
  assert.equal(interrupted(await finish(lab, runner, still.runId)).reason, "errored");
  broken = false;
  for (const from of ["p", still.runId]) {
    const { runId } = await runner.fork(from, await revisionOf(runner, from));
    assert.deepEqual((await finish(lab, runner, runId)).state.out.v, { c: 1, d: 2 });
  }
  assert.deepEqual([lab.count("c"), lab.count("d")], [1, 4]);
});

test("runs that went on alone after a crash are where they came to, also when nothing of their vertex was recorded (H2)", async () => {
  const lab = new Lab();
  const last = gate();
  const { store, kill } = mortal(lab.store);
  let isDead = false;
  const [dying, living] = [house(lab, store), house(lab)];
  const home = () => isDead ? living : dying;
  const child = lab.graph({
    c: { body: () => 1, to: "d" },
    d: { body: () => isDead ? 2 : last.promise },
  }, { id: "child" });
  const items = [0, 1, 2].map((i) => ({ out: { i }, log: [] }));
  const parent = lab.graph({
    m: { ...nested(home, child, { each: () => items }), to: "w" },
    w: { body: () => 0 },
  }, { id: "parent" });
  void home().runner(parent).run(INPUT, { runId: "p" }).catch(() => {});
  await lab.clock.settle();
  kill();
  isDead = true;
  await lab.clock.advance("1m");
  for (const alone of await lab.drive(home().runner(child).recover())) {
    assert.equal((await lab.drive(alone.result())).status, "completed");
  }
  const runner = home().runner(parent);
  const [handle] = await runner.recover();
  assert.equal((await lab.drive(handle!.result())).status, "completed");
  assert.deepEqual([lab.count("c"), lab.count("d")], [3, 6]);
  const claimed = await revisionWith(runner, "p", "claimed");
  const { rows } = await lab.store.list({});
  const before = await Promise.all(rows.map((row) => stored(lab.store, row.runId)));
  const { runId } = await runner.fork("p", claimed);
  const done = await finish(lab, runner, runId);
  assert.deepEqual(done.state.out.m, [0, 1, 2].map((i) => ({ i, c: 1, d: 2 })));
  assert.deepEqual([lab.count("c"), lab.count("d")], [3, 6]);
  assert.deepEqual(await Promise.all(rows.map((row) => stored(lab.store, row.runId))), before);
});

test("where what works for a run is purged, a fork begins it anew (H2, H4)", async () => {
  const p = await paused();
  await p.lab.store.purge(p.childOf("p"));
  const { runId } = await p.runner().fork("p", p.at);
  assert.deepEqual(await p.through(runId), ANEW);
});

test("where the history of what works for a run is cut off at that moment, a fork begins it anew, and says so (H2, H4)", async () => {
  const lab = new Lab();
  const home = house(lab);
  const child = lab.graph({
    ask: { ...ASKING, to: "c" },
    c: { body: () => 1, route: { targets: ["c", "d"], pick: (s) => s.log.length < 300 ? "c" : "d" } },
    d: ASKING,
  }, { id: "child" });
  const parent = lab.graph({ v: nested(() => home, child) }, { id: "parent" });
  const runner = home.runner(parent);
  const first = interrupted(await lab.drive(runner.run(INPUT, { runId: "p" })));
  await runner.answer("p", openId(first, "ok"), "yes");
  interrupted(await finish(lab, runner, "p"));
  const childId = home.runner(child).runIdOf("graph=parent/run=p/step=0/vertex=v");
  const { revision } = await runner.fork("p", first.run.revision).then(({ runId }) => runner.status(runId));
  assert.deepEqual([revision, lab.warnings], [0, []]);
  assert.ok((await home.runner(child).retain(childId, 1)).first > 10);
  const { runId } = await runner.fork("p", first.run.revision);
  assert.equal(lab.warnings.length, 1);
  assert.match(lab.warnings[0]!, new RegExp(`where run ${childId} stood.*vertex v; the fork ${runId}`));
  const anew = interrupted(await finish(lab, runner, runId));
  assert.equal(anew.waits[0]!.vertexId, "v");
  const status = await home.runner(child).status(
    home.runner(child).runIdOf(`graph=parent/run=${runId}/step=0/vertex=v`),
  );
  assert.deepEqual([status.parent, status.step], [undefined, 0]);
});

test("a history that was cut off before the fork point, with its beginning, is enough (H2, H4)", async () => {
  const lab = new Lab();
  const home = house(lab);
  const child = lab.graph({
    c: { body: () => 1, route: { targets: ["c", "d"], pick: (s) => s.log.length < 300 ? "c" : "d" } },
    d: ASKING,
  }, { id: "child" });
  const parent = lab.graph({ v: nested(() => home, child) }, { id: "parent" });
  const runner = home.runner(parent);
  const { run } = interrupted(await lab.drive(runner.run(INPUT, { runId: "p" })));
  const childId = home.runner(child).runIdOf("graph=parent/run=p/step=0/vertex=v");
  assert.ok((await home.runner(child).retain(childId, 1)).first > 0);
  const { runId } = await runner.fork("p", run.revision);
  const asking = interrupted(await finish(lab, runner, runId));
  await runner.answer(runId, openId(asking, "ok"), "yes");
  assert.equal((await finish(lab, runner, runId)).status, "completed");
  assert.deepEqual([lab.count("c"), lab.count("d")], [300, 3]);
  const other = lab.graph({ c: { body: () => 1, to: "e" }, e: ASKING }, { id: "child" });
  const error = await lab.fails(
    lab.engine(other).get(home.runner(child).runIdOf(`graph=parent/run=${runId}/step=0/vertex=v`)),
    "GraphVersionMismatchError",
  );
  assert.match(error.message, /no longer stored/);
});

test("records that do not tell where their caller was, as older ones, let a fork begin what works for it anew, and say so (H2)", async () => {
  const inner = memoryStore();
  const older: Store = aroundStore(inner, (call) => {
    if (call.op !== "append") return call.apply();
    const [runId, revision, entry] = call.args as [string, number, AppendEntry];
    const { callers: _, ...record } = decodeRecord(entry.record, revision, runId, defaultCodec);
    return inner.append(runId, revision, { ...entry, record: encodeRecord(record, defaultCodec) }) as never;
  });
  const p = await paused(older);
  const { runId } = await p.runner().fork("p", p.at);
  assert.deepEqual(await p.through(runId), ANEW);
  assert.equal(p.lab.warnings.length, 1);
});

test("another fork under the id of one that was never finished is refused until what is left of it is purged (H2)", async () => {
  const p = await paused();
  await p.runner().answer("p", openId(p.result, "ok"), "yes");
  await finish(p.lab, p.runner(), "p");
  // The answer has come to the parent and, as far as both forks see, to nobody below.
  const resolved = await revisionWith(p.runner(), "p", "resolved");
  for (const [left, at] of [[resolved, p.at], [p.at, resolved]] as const) {
    let writes = 0;
    const dying = aroundStore(p.lab.store, async (call) => {
      if (call.writes && ++writes > 2) return await new Promise<never>(() => {});
      return await call.apply();
    });
    const runId = `f-${left}`;
    const { length } = (await p.lab.store.list({})).rows;
    void p.lab.engine(p.parent, { store: dying }).fork("p", left, { runId });
    await p.lab.clock.settle();
    assert.equal((await p.lab.store.list({})).rows.length, length + 2);
    const error = await p.lab.fails(p.runner().fork("p", at, { runId }), "RunExistsError");
    assert.match(error.message, /run f-\d+ .*never finished; purge it/);
    assert.equal(await p.lab.drive(p.runner().purge({ runId })), 0);
    assert.equal((await p.lab.store.list({})).rows.length, length);
    await p.runner().fork("p", at, { runId });
    if (at === p.at) assert.deepEqual(await p.through(runId), GOES_ON);
    else assert.equal((await finish(p.lab, p.runner(), runId)).status, "completed");
  }
});
