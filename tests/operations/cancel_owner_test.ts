// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { AnswerError, Runtime, Store } from "../../mod.ts";
import { StoreError } from "../../src/errors.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { freezable, gate, INPUT, Lab, mortal, openId, recorded } from "../waits/lab.ts";

const Ok = defineWait("ok", z.string());
const LEASE = 15_000;

function hanging(lab: Lab, seen: { readonly name: string; readonly at: number }[] = []) {
  return lab.graph({
    a: {
      body: (ctx) => {
        ctx.signal.addEventListener(
          "abort",
          () => seen.push({ name: (ctx.signal.reason as Error).name, at: lab.clock.now() }),
        );
        return gate().promise;
      },
    },
  });
}

test("a run at work in another process is cancelled within its poll of 1 s, and its result is no error (O5, I2)", async () => {
  const lab = new Lab();
  const seen: { readonly name: string; readonly at: number }[] = [];
  const graph = hanging(lab, seen);
  const handle = await lab.engine(graph).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const from = lab.clock.now();
  assert.deepEqual(await lab.drive(lab.elsewhere(graph).cancel("r", "elsewhere")), {
    runId: "r",
    status: "cancelled",
    reason: "elsewhere",
  });
  assert.deepEqual(seen.map((s) => s.name), ["RunCancelledError"]);
  assert.ok(seen[0]!.at - from <= 1_000, `${seen[0]!.at - from} ms`);
  const result = await lab.drive(handle.result());
  assert.deepEqual([result.status, result.run.cancelReason], ["cancelled", "elsewhere"]);
  assert.equal(lab.clock.pending, 0);
});

test("from the moment that the mailbox asks for it, answers are refused, also before the owner has looked (O5, I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    v: { body: () => 1, to: ["a", "b"] },
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    b: { body: () => gate().promise },
  });
  const owner = freezable(lab.store);
  const handle = await lab.engine(graph, { store: owner.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const { rows: [wait] } = await lab.engine(graph).waits();
  owner.freeze();
  const other = lab.elsewhere(graph);
  const cancelling = other.cancel("r", "stop");
  await lab.clock.settle();
  const error = await lab.fails<AnswerError>(other.answer("r", wait!.waitId, "yes"), "AnswerError");
  assert.equal(error.reason, "closed");
  assert.equal((await other.status("r")).status, "running");
  owner.thaw();
  await lab.drive(cancelling);
  assert.equal((await lab.drive(handle.result())).status, "cancelled");
  const events = (await recorded(other, "r")).flat();
  assert.deepEqual(events.filter((e) => e === "resolved"), []);
});

test("a run whose owner is dead is cancelled by whoever cancels it once the lease is over (O5, O1)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  const dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  dying.kill();
  const from = lab.clock.now();
  const other = lab.elsewhere(graph);
  assert.equal((await lab.drive(other.cancel("r"))).status, "cancelled");
  assert.ok(lab.clock.now() - from <= LEASE + 1_000);
  const run = await other.status("r");
  assert.deepEqual([run.status, run.owner, run.recoveries], ["cancelled", undefined, 0]);
  assert.deepEqual(await lab.drive(lab.elsewhere(graph).recover()), []);
  const owners = await lab.store.owners.list();
  assert.deepEqual(
    await Promise.all(owners.map((o) => lab.store.owners.ownedBy(o.ownerId, 10))),
    owners.map(() => []),
  );
});

test("an owner frozen past its lease whose run was cancelled meanwhile appends and starts nothing, and ends without an error (O5, O1)", async () => {
  const lab = new Lab();
  const held = gate<number>();
  const graph = lab.graph({
    a: { body: () => held.promise, to: "b" },
    b: { body: () => assert.fail("it ran") },
  });
  const owner = freezable(lab.store);
  const handle = await lab.engine(graph, { store: owner.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  owner.freeze();
  await lab.clock.advance(LEASE + 2_000);
  const other = lab.elsewhere(graph);
  await lab.drive(other.cancel("r"));
  const { revision } = await other.status("r");
  held.open(1);
  owner.thaw();
  await lab.clock.advance("1m");
  assert.equal((await handle.result()).status, "cancelled");
  assert.deepEqual([(await other.status("r")).revision, lab.count("b")], [revision, 0]);
});

test("an owner that lost its run to somebody who did not cancel it, or cannot read who, says that it lost it (LIM-20, LIM-21)", async () => {
  for (const unreadable of [false, true]) {
    const lab = new Lab();
    const held = gate<number>();
    const graph = lab.graph({ a: { body: () => lab.count("a") === 1 ? held.promise : gate().promise } });
    const owner = freezable(lab.store);
    const reading = { fails: false };
    const store = aroundStore(owner.store, (call) => {
      if (reading.fails && call.op === "tail") throw new StoreError("tail", "the disk is gone");
      return call.apply();
    });
    const handle = await lab.engine(graph, { store }).start(INPUT, { runId: "r" });
    await lab.clock.settle();
    owner.freeze();
    await lab.clock.advance(LEASE + 2_000);
    const other = lab.elsewhere(graph);
    if (unreadable) await lab.drive(other.cancel("r"));
    else await lab.drive(other.recover());
    reading.fails = unreadable;
    held.open(1);
    owner.thaw();
    await lab.fails(handle.result(), "OwnershipLostError");
  }
});

test("an owner that cannot look is not waited for longer than a lease: no other end is possible any more (O5)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  const owner = freezable(lab.store);
  await lab.engine(graph, { store: owner.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  owner.freeze();
  // Its beat goes on all the same.
  const [row] = await lab.store.owners.list();
  const beat = () => {
    void lab.store.owners.beat(row!.ownerId);
    lab.clock.wakeIn(5_000, beat, { keepAlive: false });
  };
  beat();
  const from = lab.clock.now();
  const other = lab.elsewhere(graph);
  const cancelled = await lab.drive(other.cancel("r", "why"));
  assert.deepEqual(cancelled, { runId: "r", status: "cancelled", reason: "why" });
  assert.ok(lab.clock.now() - from < LEASE + 5_000);
  assert.deepEqual(await lab.drive(other.cancel("r", "again")), cancelled);
  await lab.fails(other.resume("r"), "RunBusyError");
  const result = await lab.drive(other.resume("r", { takeover: true }));
  assert.deepEqual([result.status, result.run.cancelReason], ["cancelled", "why"]);
});

test("whoever claims a run whose owner died before it could take in a cancellation takes it in and runs nothing (O5)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  const dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  dying.kill();
  const canceller = mortal(lab.store);
  const cancelling = lab.engine(graph, { store: canceller.store }).cancel("r", "first");
  await lab.clock.settle();
  canceller.kill();
  void cancelling;
  await lab.clock.advance(LEASE + 1_000);
  const [handle] = await lab.drive(lab.elsewhere(graph).recover());
  const result = await lab.drive(handle!.result());
  assert.deepEqual([result.status, result.run.cancelReason, lab.count("a")], ["cancelled", "first", 1]);
});

test("the reason that was first stays, when another process cancels again, and when that one records it (O5)", async () => {
  for (const dies of [false, true]) {
    const lab = new Lab();
    const graph = hanging(lab);
    const owner = freezable(lab.store);
    await lab.engine(graph, { store: owner.store }).start(INPUT, { runId: "r" });
    await lab.clock.settle();
    owner.freeze();
    const dying = mortal(lab.store);
    void lab.engine(graph, { store: dying.store }).cancel("r", "first");
    await lab.clock.settle();
    dying.kill();
    const second = lab.elsewhere(graph).cancel("r", "second");
    await lab.clock.settle();
    if (!dies) owner.thaw();
    assert.deepEqual(await lab.drive(second), { runId: "r", status: "cancelled", reason: "first" });
    assert.equal((await lab.elsewhere(graph).status("r")).cancelReason, "first");
  }
});

test("a cancellation that finds another one in the mailbox, asked for a moment before, leaves it there (O5)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  const owner = freezable(lab.store);
  await lab.engine(graph, { store: owner.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  owner.freeze();
  let first: Promise<unknown> | undefined;
  const store = aroundStore(lab.store, async (call) => {
    if (call.op === "inspect" && first === undefined) {
      first = lab.elsewhere(graph).cancel("r", "first");
      for (let i = 0; i < 20; i++) await setImmediate();
    }
    return await call.apply();
  });
  const second = lab.engine(graph, { store }).cancel("r", "second");
  await lab.clock.settle();
  owner.thaw();
  const [a, b] = await lab.drive(Promise.all([second, first!]));
  assert.deepEqual([a, b], Array(2).fill({ runId: "r", status: "cancelled", reason: "first" }));
});

test("a run that is let go of while it is about to be asked is cancelled by its record, and nobody is asked (I2, O5)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  const stop = new AbortController();
  const handle = await lab.engine(graph).start(INPUT, { runId: "r", signal: stop.signal });
  await lab.clock.settle();
  const written: string[] = [];
  const store = aroundStore(lab.store, async (call) => {
    if (call.op === "inspect" && !stop.signal.aborted) {
      stop.abort();
      await handle.result().catch(() => {});
    }
    if (call.writes) written.push(call.op);
    return await call.apply();
  });
  assert.equal((await lab.drive(lab.engine(graph, { store }).cancel("r"))).status, "cancelled");
  assert.deepEqual(written, ["append"]);
});

test("the record of a cancellation by a process whose clock is behind is no older than the one before it (O6)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: (ctx) => ctx.interrupt() } });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  const { clock } = lab;
  const behind: Runtime = {
    now: () => clock.now() - 60_000,
    elapsed: () => clock.elapsed(),
    random: () => clock.random(),
    uuid: () => clock.uuid(),
    macrotask: (work) => clock.macrotask(work),
    pause: (delay, work) => clock.pause(delay, work),
    wakeAt: (at, work, options) => clock.wakeAt(at, work, options),
    wakeIn: (delay, work, options) => clock.wakeIn(delay, work, options),
  };
  const other = lab.engine(graph, { store: { ...lab.store }, runtime: behind });
  await other.cancel(run.runId);
  const { cancelledAt, updatedAt } = await other.status(run.runId);
  assert.deepEqual([cancelledAt, updatedAt], [run.updatedAt, run.updatedAt]);
});

test("of many processes that cancel one run at once all are told the same, and one record says so (O5)", async () => {
  for (const atWork of [true, false]) {
    const lab = new Lab();
    const graph = atWork ? hanging(lab) : lab.graph({ a: { body: (ctx) => ctx.interrupt() } });
    const runner = lab.engine(graph);
    const handle = await runner.start(INPUT, { runId: "r" });
    if (!atWork) await lab.drive(handle.result());
    await lab.clock.settle();
    const answers = await lab.drive(
      Promise.all([1, 2, 3, 4].map((n) => lab.elsewhere(graph).cancel("r", `reason ${n}`))),
    );
    assert.equal(new Set(answers.map((a) => JSON.stringify(a))).size, 1);
    const run = await runner.status("r");
    assert.deepEqual([run.status, run.cancelReason], ["cancelled", answers[0]!.reason]);
    const events = (await recorded(runner, "r")).flat();
    assert.equal(events.filter((e) => e === "cancelled").length, 1);
  }
});

test("whoever follows a run by its start gets its cancellation as the result, and can cancel it (E1, O5)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  await lab.engine(graph).start(INPUT, { runId: "r" });
  const follower = await lab.elsewhere(graph).start(INPUT, { runId: "r" });
  const result = follower.result();
  await lab.drive(follower.cancel("by a follower"));
  assert.equal((await lab.drive(result)).run.cancelReason, "by a follower");
});

/** A store handle whose writes fail from some call on. */
function failing(store: Store): { readonly store: Store; fail: boolean } {
  const state = { store, fail: false };
  state.store = aroundStore(store, (call) => {
    if (state.fail && call.writes) throw new StoreError(call.op, "the disk is full");
    return call.apply();
  });
  return state;
}

test("a store that fails makes cancel fail with its error; nothing is told, and the run is as it was (LIM-16, HKS-18)", async () => {
  for (const atWork of [true, false]) {
    const lab = new Lab();
    const graph = atWork ? hanging(lab) : lab.graph({ a: { body: (ctx) => ctx.interrupt() } });
    const handle = await lab.engine(graph).start(INPUT, { runId: "r" });
    if (!atWork) await lab.drive(handle.result());
    await lab.clock.settle();
    const before = await lab.engine(graph).status("r");
    const broken = failing(lab.store);
    const told: string[] = [];
    const canceller = lab.engine(graph, {
      store: broken.store,
      hooks: { runFinish: () => void told.push("runFinish") },
    });
    broken.fail = true;
    await lab.fails(canceller.cancel("r"), "StoreError");
    assert.deepEqual(await canceller.status("r"), before);
    assert.deepEqual(told, []);
    broken.fail = false;
    assert.equal((await lab.drive(canceller.cancel("r"))).status, "cancelled");
  }
});

test("of an answer and a cancellation at one instant both may win, but what was accepted is recorded and nothing runs (I2, O5)", async () => {
  const outcomes = new Set<string>();
  for (let seed = 0; seed < 12; seed++) {
    const lab = new Lab();
    const graph = lab.graph({
      a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok), to: "b" },
      b: { body: () => 1 },
    });
    const runner = lab.engine(graph);
    const waitId = openId(await lab.drive(runner.run(INPUT, { runId: "r" })), "ok");
    const [slow, fast] = [lab.elsewhere(graph), lab.elsewhere(graph)];
    const late = async <T>(work: () => Promise<T>, ticks: number) => {
      for (let i = 0; i < ticks; i++) await undefined;
      return await work();
    };
    const [answered, cancelled] = await Promise.allSettled([
      late(() => slow.answer("r", waitId, "yes"), seed % 2 === 0 ? seed : 0),
      late(() => fast.cancel("r"), seed % 2 === 0 ? 0 : seed),
    ]);
    assert.equal(cancelled.status, "fulfilled");
    const events = (await recorded(runner, "r")).flat();
    const accepted = answered.status === "fulfilled";
    if (!accepted) assert.equal((answered.reason as AnswerError).reason, "closed");
    assert.equal(events.includes("resolved"), accepted);
    assert.deepEqual([(await runner.status("r")).status, lab.count("a"), lab.count("b")], [
      "cancelled",
      1,
      0,
    ]);
    outcomes.add(answered.status);
  }
  assert.deepEqual([...outcomes].sort(), ["fulfilled", "rejected"]);
});
