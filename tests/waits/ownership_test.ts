// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunHandle } from "../../mod.ts";
import { freezable, gate, INPUT, Lab, mortal, recorded, type State } from "./lab.ts";

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
