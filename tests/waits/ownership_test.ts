import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunHandle } from "../../mod.ts";
import {
  anotherHandle,
  freezable,
  gate,
  INPUT,
  interrupted,
  Lab,
  mortal,
  recorded,
  type State,
} from "./lab.ts";

const LEASE = 15_000;

/** `a`, then `b` whose body hangs in the first process and works in every other. */
function hanging(lab: Lab, held: Promise<unknown> = new Promise(() => {})) {
  return lab.graph({
    a: { body: () => "a", to: "b" },
    b: { body: () => lab.count("b") === 1 ? held : "b", to: "c" },
    c: { body: () => "c" },
  });
}

async function ends(lab: Lab, handles: readonly RunHandle<State>[]) {
  return await lab.drive(Promise.all(handles.map((h) => h.result())));
}

test("of two processes that resume one run at the same instant one wins; the other has run nothing and written nothing (O1)", async () => {
  for (let seed = 0; seed < 5; seed++) {
    const lab = new Lab();
    const graph = lab.graph({ a: { body: () => lab.count("a") === 1 ? Promise.reject(new Error("x")) : 1 } });
    const { run } = await lab.drive(lab.engine(graph).run(INPUT));
    const settled = await lab.drive(
      Promise.allSettled([1, 2, 3].map(() => lab.elsewhere(graph).resume(run.runId))),
    );
    const won = settled.filter((s) => s.status === "fulfilled");
    const lost = settled.flatMap((s) => s.status === "rejected" ? [(s.reason as Error).name] : []);
    assert.equal(won.length, 1);
    for (const name of lost) {
      assert.ok(["RevisionConflictError", "RunBusyError", "ResumeTerminalError"].includes(name), name);
    }
    assert.equal(lab.count("a"), 2);
    const claims = (await recorded(lab.engine(graph), run.runId)).flat().filter((t) => t === "claimed");
    assert.equal(claims.length, 1);
  }
});

test("two recoverers of a dead owner's run at once: one claims it, the other gets nothing (O1, O2)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  const dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  dying.kill();
  await lab.clock.advance(LEASE + 6_000);
  const claims = await lab.drive(Promise.all([1, 2, 3].map(() => lab.elsewhere(graph).recover())));
  assert.deepEqual(claims.map((c) => c.length).sort(), [0, 0, 1]);
  const [result] = await ends(lab, claims.flat());
  assert.deepEqual([result?.status, result?.run.recoveries], ["completed", 0]);
  assert.deepEqual([lab.count("a"), lab.count("b"), lab.count("c")], [1, 2, 1]);
});

test("a run is recovered only after its owner's lease of 15 s; until then it is busy (O1)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  const dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  dying.kill();
  const resuming = lab.elsewhere(graph).resume("r");
  await lab.clock.advance(LEASE - 1);
  assert.deepEqual([lab.count("b"), (await lab.elsewhere(graph).status("r")).revision], [1, 1]);
  const result = await lab.drive(resuming);
  assert.equal(result.status, "completed");
});

test("a living owner renews its beat every 5 s, one for all its runs, and is never replaced (O1)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: () => gate().promise } });
  const runner = lab.engine(graph);
  for (let i = 0; i < 5; i++) await runner.start(INPUT);
  await lab.clock.advance("1m");
  const owners = await lab.store.owners.list();
  assert.equal(owners.length, 1);
  assert.ok(Number(owners[0]!.beatVersion) >= 11, "beats of a memory store are counted");
  assert.deepEqual(await lab.drive(lab.elsewhere(graph).recover()), []);
  assert.equal(lab.count("a"), 5);
});

test("an owner that stood still past its lease and was replaced appends nothing more, starts nothing more, and says so (O1)", async () => {
  const lab = new Lab();
  const held = gate<string>();
  const graph = hanging(lab, held.promise);
  const stopped = freezable(lab.store);
  const first = lab.engine(graph, { store: stopped.store });
  const handle = await first.start(INPUT, { runId: "r" });
  await lab.clock.settle();
  stopped.freeze();
  await lab.clock.advance(LEASE + 6_000);
  const [taken] = await lab.drive(lab.elsewhere(graph).recover());
  const [result] = await ends(lab, [taken!]);
  const tail = await lab.store.tail("r");
  held.open("stale");
  await lab.clock.settle();
  stopped.thaw();
  await lab.clock.advance("10s");
  const error = await lab.fails<Error & { runId: string }>(handle.result(), "OwnershipLostError");
  assert.equal(error.runId, "r");
  assert.deepEqual(await lab.store.tail("r"), tail);
  assert.deepEqual([result?.state.out, lab.count("c")], [{ a: "a", b: "b", c: "c" }, 1]);
  const [next] = await ends(lab, [await first.start(INPUT)]);
  assert.equal(next?.status, "completed", "the process goes on under a new owner id");
});

for (const replaced of [true, false]) {
  const then = replaced
    ? "starts no once after it was replaced"
    : "that nobody has replaced makes sure of that first";
  test(`a process that was frozen past its lease in a body ${then} (FT-A7, O1, T1)`, async () => {
    const lab = new Lab();
    const held = gate<string>();
    const effects: string[] = [];
    const bodies: string[] = [];
    const graph = lab.graph({
      a: {
        body: async (ctx) => {
          const where = bodies.length === 0 ? "here" : "there";
          bodies.push(where);
          if (where === "here") await held.promise;
          return await ctx.once("effect", () => (effects.push(where), where));
        },
      },
    });
    const process = lab.clock.fork();
    const handle = await lab.engine(graph, { runtime: process }).start(INPUT, { runId: "r" });
    await lab.clock.settle();
    process.step("16s"); // Its event loop stood still: no beat was due, no timer has fired.
    const [owner] = await lab.store.owners.list();
    if (replaced) {
      assert.ok(await lab.store.owners.bury(owner!.ownerId, owner!.beatVersion));
      const [taken] = await lab.drive(lab.elsewhere(graph).recover());
      assert.equal((await lab.drive(taken!.result())).status, "completed");
    }
    held.open("goes on");
    if (replaced) await lab.fails(handle.result(), "OwnershipLostError");
    else assert.equal((await lab.drive(handle.result())).status, "completed");
    assert.deepEqual(effects, [replaced ? "there" : "here"]);
    const [row] = await lab.store.owners.list();
    if (!replaced) {
      assert.ok(Number(row!.beatVersion) > Number(owner!.beatVersion), "it has renewed its beat");
    }
  });
}

test("a process that was frozen past its lease starts no body in the place of one that settles, once it was replaced (O1)", async () => {
  const lab = new Lab();
  const held = gate<string>();
  const bodies: string[] = [];
  const process = lab.clock.fork();
  const graphIn = (where: string) =>
    lab.graph({
      v: { body: () => null, to: ["a", "b"] },
      a: { body: () => (bodies.push(`a ${where}`), where === "here" ? held.promise : "a") },
      b: { body: () => (bodies.push(`b ${where}`), "b") },
    });
  const handle = await lab.engine(graphIn("here"), { runtime: process }).start(INPUT, { concurrency: 1 });
  await lab.clock.settle();
  process.step("16s"); // Its event loop stood still.
  const [owner] = await lab.store.owners.list();
  assert.ok(await lab.store.owners.bury(owner!.ownerId, owner!.beatVersion));
  const [taken] = await lab.drive(lab.elsewhere(graphIn("there")).recover());
  assert.equal((await lab.drive(taken!.result())).status, "completed");
  held.open("stale");
  await lab.fails(handle.result(), "OwnershipLostError");
  assert.deepEqual(bodies, ["a here", "a there", "b there"]);
});

test("burial alone is final: before anybody has claimed the run, the buried owner's append is refused and changes nothing (O1)", async () => {
  const lab = new Lab();
  const held = gate<string>();
  const graph = hanging(lab, held.promise);
  const handle = await lab.engine(graph).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const tail = await lab.store.tail("r");
  const [owner] = await lab.store.owners.list();
  assert.ok(await lab.store.owners.bury(owner!.ownerId, owner!.beatVersion));
  held.open("stale");
  await lab.clock.settle();
  await assert.rejects(handle.result(), { name: "OwnershipLostError", runId: "r", owner: owner!.ownerId });
  assert.deepEqual(await lab.store.tail("r"), tail);
  assert.equal(lab.count("c"), 0);
  const [taken] = await lab.drive(lab.elsewhere(graph).recover());
  assert.equal((await lab.drive(taken!.result())).status, "completed");
});

test("a takeover tells a living owner in another process within a poll: its body is aborted although it never appends (O1)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  const first = await lab.engine(graph).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const result = await lab.drive(lab.elsewhere(graph).resume("r", { takeover: true }));
  assert.equal(result.status, "completed");
  const lost = lab.fails(first.result(), "OwnershipLostError");
  await lab.clock.advance("1s");
  await lost;
  assert.deepEqual([lab.count("b"), lab.count("c")], [2, 1]);
});

test("a takeover works in the process that is at work on the run, too (O1)", async () => {
  const lab = new Lab();
  const runner = lab.engine(hanging(lab));
  const first = await runner.start(INPUT, { runId: "r" });
  await lab.clock.settle();
  await lab.fails(runner.resume("r"), "RunBusyError");
  const result = await lab.drive(runner.resume("r", { takeover: true }));
  assert.equal(result.status, "completed");
  await lab.fails(first.result(), "OwnershipLostError");
  assert.deepEqual([lab.count("b"), lab.count("c")], [2, 1]);
});

test("a takeover claims a living owner's run at once; the former owner's next append fails and it starts nothing more (O1)", async () => {
  const lab = new Lab();
  const held = gate<string>();
  const graph = hanging(lab, held.promise);
  const first = await lab.engine(graph).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const result = await lab.drive(lab.elsewhere(graph).resume("r", { takeover: true }));
  assert.deepEqual(result.state.out, { a: "a", b: "b", c: "c" });
  const tail = await lab.store.tail("r");
  held.open("stale");
  await lab.fails(first.result(), "OwnershipLostError");
  assert.deepEqual(await lab.store.tail("r"), tail);
  assert.deepEqual([lab.count("b"), lab.count("c")], [2, 1]);
});

test("a takeover is no recovery (O1, O2)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  await lab.engine(graph).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const told: boolean[] = [];
  const hooks = { runResume: ({ recovery }: { recovery: boolean }) => void told.push(recovery) };
  await lab.drive(lab.elsewhere(graph, { hooks }).resume("r", { takeover: true }));
  assert.deepEqual(told, [false]);
});

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
