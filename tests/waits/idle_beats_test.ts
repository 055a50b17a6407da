// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Runner, Store } from "../../mod.ts";
import { StoreError } from "../../src/errors.ts";
import { anotherHandle, INPUT, Lab, mortal, type State } from "./lab.ts";

/** A graph that waits until it is resumed. */
function paused(lab: Lab) {
  return lab.graph({ a: { body: (ctx) => ctx.answer() ?? ctx.interrupt() } });
}

/** The beats in the store, by owner. */
async function beats(store: Store): Promise<Record<string, string>> {
  return Object.fromEntries((await store.owners.list()).map((o) => [o.ownerId, o.beatVersion]));
}

const CALLS: Readonly<Record<string, (runner: Runner<State>) => Promise<unknown>>> = {
  resume: (runner) => runner.resume("r", { payload: 1 }),
  takeover: (runner) => runner.resume("r", { payload: 1, takeover: true }),
  start: (runner) => runner.start(INPUT, { runId: "new" }),
};

for (const [what, call] of Object.entries(CALLS)) {
  test(`a process whose ${what} failed in the store beats no more, and no timer of it is left (FT-G10, O1)`, async () => {
    const lab = new Lab();
    const graph = paused(lab);
    await lab.drive(lab.engine(graph).run(INPUT, { runId: "r" }));
    await lab.clock.advance("1m");
    assert.equal(lab.clock.pending, 0);
    const store = anotherHandle(lab.store);
    const failing = { ...store, append: () => Promise.reject(new StoreError("append", "the disk is full")) };
    await lab.fails(call(lab.engine(graph, { store: failing })), "StoreError");
    await lab.clock.settle();
    const before = await beats(lab.store);
    await lab.clock.advance("2m");
    assert.deepEqual(await beats(lab.store), before);
    assert.equal(lab.clock.pending, 0);
    const done = await lab.drive(lab.elsewhere(graph).resume("r", { payload: 1 }));
    assert.equal(done.status, "completed", "nobody is in the way of the next one");
  });
}

test("a process that lost the race for a run beats no more, and no timer of it is left (FT-G10, O1)", async () => {
  const lab = new Lab();
  const graph = paused(lab);
  await lab.drive(lab.engine(graph).run(INPUT, { runId: "r" }));
  const store = anotherHandle(lab.store);
  const slow = {
    ...store,
    append: async (...args: Parameters<Store["append"]>) => {
      await lab.elsewhere(graph).resume("r", { payload: "first" });
      return await store.append(...args);
    },
  };
  const late = lab.engine(graph, { store: slow }).resume("r", { payload: "second" });
  await assert.rejects(lab.drive(late));
  await lab.clock.settle();
  const before = await beats(lab.store);
  await lab.clock.advance("2m");
  assert.deepEqual(await beats(lab.store), before);
  assert.equal(lab.clock.pending, 0);
});

test("what a new process sweeps away leaves an owner that still owns a run: an hour later recover finds it (FT-G11, O1, O2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: () => lab.count("a") <= 2 ? new Promise(() => {}) : "done" } });
  const dying = mortal(lab.store);
  const dead = lab.engine(graph, { store: dying.store });
  for (const runId of ["one", "two"]) await dead.start(INPUT, { runId });
  await lab.clock.settle();
  dying.kill();
  const idle = lab.elsewhere(lab.graph({ a: { body: () => 1 } }, { id: "idle" }));
  await lab.drive(idle.run(INPUT));
  await lab.clock.advance("1h");
  // Whoever registers sweeps: the idle process is forgotten, the dead one is not.
  await lab.drive(lab.elsewhere(idle.graph).run(INPUT));
  await lab.clock.settle();
  const left = await Promise.all(
    (await lab.store.owners.list()).map(async (o) => (await lab.store.owners.ownedBy(o.ownerId, 10)).length),
  );
  assert.deepEqual(left.filter((n) => n > 0), [2]);
  await lab.clock.advance("1h");
  const handles = await lab.drive(lab.elsewhere(graph).recover());
  assert.deepEqual(handles.map((h) => h.runId).sort(), ["one", "two"]);
  const results = await lab.drive(Promise.all(handles.map((h) => h.result())));
  assert.deepEqual(results.map((r) => r.status), ["completed", "completed"]);
});
