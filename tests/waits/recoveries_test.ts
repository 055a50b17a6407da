import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunHandle } from "../../mod.ts";
import { anotherHandle, gate, INPUT, interrupted, Lab, mortal, type State } from "./lab.ts";

const LEASE = 15_000;

async function ends(lab: Lab, handles: readonly RunHandle<State>[]) {
  return await lab.drive(Promise.all(handles.map((h) => h.result())));
}

test("a dead owner is remembered until every run of it was taken over, of whatever graph, and then forgotten (O1, O2)", async () => {
  const lab = new Lab();
  const graphs = ["one", "two"].map((id) =>
    lab.graph({ [id]: { body: () => lab.count(id) === 1 ? new Promise(() => {}) : id } }, { id })
  );
  const dead = mortal(lab.store);
  for (const graph of graphs) {
    await lab.engine(graph, { store: dead.store }).start(INPUT, { runId: graph.id });
  }
  await lab.clock.settle();
  const [owner] = await lab.store.owners.list();
  dead.kill();
  const isKnown = async () => (await lab.store.owners.list()).some((row) => row.ownerId === owner!.ownerId);
  const survivor = anotherHandle(lab.store);
  for (const [i, graph] of graphs.entries()) {
    const handles = await lab.drive(lab.engine(graph, { store: survivor }).recover());
    assert.deepEqual(handles.map((h) => h.runId), [graph.id]);
    await ends(lab, handles);
    assert.equal(await isKnown(), i === 0);
    await lab.clock.advance("1h");
  }
});

test("recoveries without progress wait a doubling delay, then halt the run; a resume goes on with it (O2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { body: () => healed ? "a" : gate().promise },
  });
  let healed = false;
  const others = lab.graph({ fine: { body: () => "fine" } }, { id: "others" });
  let dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const delays: number[] = [];
  for (let deaths = 1; deaths <= 4; deaths++) {
    dying.kill();
    await lab.clock.advance(LEASE + 6_000);
    dying = mortal(lab.store);
    const runner = lab.engine(graph, { store: dying.store, maxRecoveries: 4 });
    let taken = await lab.drive(runner.recover());
    if (deaths === 1) assert.equal(taken.length, 1, "the first recovery is immediate");
    else {
      assert.equal(taken.length, 0);
      const [wake] = await lab.store.wakes(Infinity, 9);
      const { status, owner } = await runner.status("r");
      assert.deepEqual([status, owner], ["running", undefined]);
      delays.push(wake!.due - lab.clock.now());
      await lab.clock.advanceTo(wake!.due - 1);
      assert.equal((await lab.drive(runner.recover())).length, 0, "not before its time");
      await lab.clock.advanceTo(wake!.due);
      taken = await lab.drive(runner.recover());
      assert.equal(taken.length, 1);
    }
    await lab.clock.settle();
    assert.equal((await runner.status("r")).recoveries, deaths);
  }
  for (const [i, full] of [1_000, 2_000, 4_000].entries()) {
    assert.ok(delays[i]! >= full / 2 && delays[i]! <= full, `${delays[i]} of ${full}`);
  }
  assert.equal(lab.count("a"), 5);
  dying.kill();
  await lab.clock.advance(LEASE + 6_000);
  const runner = lab.elsewhere(graph, { maxRecoveries: 4 });
  const handles = await lab.drive(runner.recover());
  const [result] = await ends(lab, handles);
  assert.deepEqual([interrupted(result!).reason, interrupted(result!).halt?.kind], [
    "halted",
    "max_recoveries",
  ]);
  assert.equal(lab.count("a"), 5);
  assert.deepEqual((await runner.list({ reason: "halted" })).rows.map((r) => r.runId), ["r"]);
  assert.equal((await lab.drive(lab.elsewhere(others).run(INPUT))).status, "completed");
  healed = true;
  const resumed = await lab.drive(lab.elsewhere(graph, { maxRecoveries: 4 }).resume("r"));
  assert.deepEqual([resumed.status, resumed.state.out.a, lab.count("a")], ["completed", "a", 6]);
});

test("the delay of a recovery doubles up to five minutes and no further (O2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: () => gate().promise } });
  let dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const delays: number[] = [];
  for (let deaths = 1; deaths <= 13; deaths++) {
    dying.kill();
    const [owner] = await lab.store.owners.list();
    if (owner !== undefined) await lab.store.owners.bury(owner.ownerId, owner.beatVersion);
    dying = mortal(lab.store);
    const runner = lab.engine(graph, { store: dying.store, maxRecoveries: 20 });
    if ((await lab.drive(runner.recover())).length === 0) {
      const [wake] = await lab.store.wakes(Infinity, 1);
      delays.push(wake!.due - lab.clock.now());
      await lab.clock.advanceTo(wake!.due);
      assert.equal((await lab.drive(runner.recover())).length, 1);
    }
    await lab.clock.settle();
  }
  assert.equal(delays.length, 12);
  for (const [i, delay] of delays.entries()) {
    const full = Math.min(300_000, 1_000 * 2 ** i);
    assert.ok(delay >= full / 2 && delay <= full, `${delay} of ${full}`);
  }
});

test("any new record resets the count, so a run that makes progress between deaths is never put off (O2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      body: async (ctx) => {
        await ctx.once(`round${lab.count("a")}`, () => 1);
        return lab.count("a") < 5 ? await gate().promise : "done";
      },
    },
  });
  let dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
  for (let deaths = 1; deaths <= 4; deaths++) {
    await lab.clock.settle();
    dying.kill();
    await lab.clock.advance(LEASE + 6_000);
    dying = mortal(lab.store);
    const handles = await lab.drive(lab.engine(graph, { store: dying.store, maxRecoveries: 1 }).recover());
    assert.equal(handles.length, 1);
    if (deaths === 4) assert.equal((await ends(lab, handles))[0]?.status, "completed");
  }
});

test("whoever follows a run that is put off waits its delay too (E1, O2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: () => lab.count("a") > 2 ? "a" : gate().promise } });
  let dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
  for (const deaths of [1, 2]) {
    await lab.clock.settle();
    dying.kill();
    await lab.clock.advance(LEASE + 6_000);
    dying = mortal(lab.store);
    assert.equal(
      (await lab.drive(lab.engine(graph, { store: dying.store }).recover())).length,
      deaths === 1 ? 1 : 0,
    );
  }
  const [wake] = await lab.store.wakes(Infinity, 9);
  const handle = await lab.elsewhere(graph).start(INPUT, { runId: "r" });
  const following = handle.result();
  await lab.clock.advanceTo(wake!.due - 1);
  assert.equal(lab.count("a"), 2);
  assert.equal((await lab.drive(following)).status, "completed");
});

test("under max_recoveries open waits stay and can be answered, and no wake is set until then (O2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt("?") },
    b: { body: () => healed ? "b" : gate().promise },
  });
  let healed = false;
  let dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  for (let deaths = 1; deaths <= 2; deaths++) {
    dying.kill();
    await lab.clock.advance(LEASE + 6_000);
    dying = mortal(lab.store);
    const runner = lab.engine(graph, { store: dying.store, maxRecoveries: 1 });
    await lab.drive(runner.recover());
    await lab.clock.settle();
  }
  const runner = lab.elsewhere(graph);
  const view = interrupted(await runner.get("r"));
  assert.deepEqual([view.halt?.kind, view.waits.length], ["max_recoveries", 1]);
  assert.deepEqual(await lab.store.wakes(Infinity, 9), []);
  await runner.answer("r", view.waits[0]!.waitId, "kept");
  healed = true;
  const result = await lab.drive(lab.elsewhere(graph).resume("r"));
  assert.deepEqual([result.status, result.state.out], ["completed", { v: 0, a: "kept", b: "b" }]);
});
