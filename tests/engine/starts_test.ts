// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { StoreError } from "../../src/errors.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { anotherHandle, INPUT, Lab } from "../waits/lab.ts";

/** The store of a process to which every acknowledgement of an append comes late. */
function lateAcks(lab: Lab, ms: number) {
  return aroundStore(lab.store, async ({ op, apply }) => {
    const answer = await apply();
    if (op === "append") await lab.clock.sleep(ms);
    return answer;
  });
}

function counted(lab: Lab, aborts: string[] = []) {
  return lab.graph({
    a: {
      body: async (ctx) => {
        ctx.signal.addEventListener("abort", () => aborts.push((ctx.signal.reason as Error).name));
        await lab.clock.sleep("5s");
        return "a";
      },
    },
  });
}

for (const turns of [0, 1, 3, 8]) {
  test(`a second start of one run, ${turns} macrotasks after the first, runs no body again while acknowledgements are late (FT-A6, E1)`, async () => {
    for (const ms of [0, 100]) {
      const lab = new Lab();
      const runner = lab.engine(counted(lab), { store: lateAcks(lab, ms) });
      const first = runner.run(INPUT, { runId: "r" });
      for (let i = 0; i < turns; i++) await setImmediate();
      const second = runner.run(INPUT, { runId: "r" });
      const [one, two] = await lab.drive(Promise.all([first, second]));
      assert.deepEqual([one.status, two.status, lab.count("a")], ["completed", "completed", 1]);
    }
  });
}

test("while the record of a start is acknowledged its run is at work: a resume and a recovery of this process find it busy (FT-A6, O1)", async () => {
  const lab = new Lab();
  const runner = lab.engine(counted(lab), { store: lateAcks(lab, 100) });
  const started = runner.start(INPUT, { runId: "r" });
  await lab.clock.settle();
  assert.equal((await runner.status("r")).revision, 0, "the record is there");
  await lab.fails(runner.resume("r"), "RunBusyError");
  assert.deepEqual(await lab.drive(runner.recover()), []);
  assert.equal((await lab.drive((await lab.drive(started)).result())).status, "completed");
  assert.equal(lab.count("a"), 1);
});

test("a second claim that loses does not take the run from the hands of the first (FT-A6, O1)", async () => {
  const lab = new Lab();
  const store = lateAcks(lab, 100);
  const graph = counted(lab);
  const runner = lab.engine(graph, { store });
  await lab.engine(graph, { store: anotherHandle(lab.store) }).submit(INPUT, { runId: "r" });
  const claims = Promise.all([runner.claim("r"), runner.claim("r")]);
  await lab.clock.advance(150);
  const third = runner.claim("r");
  const handles = [...await lab.drive(claims), await lab.drive(third)].filter((h) => h !== undefined);
  assert.equal(handles.length, 1);
  assert.equal((await lab.drive(handles[0]!.result())).status, "completed");
  assert.equal(lab.count("a"), 1);
});

test("while the record of a resume is acknowledged its run is at work: another resume, a claim and a recovery of this process run nothing (FT-A6, O1)", async () => {
  const lab = new Lab();
  const Ok = defineWait("ok", z.string());
  const graph = lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } });
  const runner = lab.engine(graph, { store: lateAcks(lab, 100) });
  await lab.drive(runner.run(INPUT, { runId: "r" }));
  const { revision } = await runner.status("r");
  const resumed = runner.resume("r", { payload: "yes" });
  await lab.clock.settle();
  assert.equal((await runner.status("r")).revision, revision + 1, "the record is there");
  await lab.fails(runner.resume("r"), "RunBusyError");
  assert.equal(await lab.drive(runner.claim("r")), undefined);
  assert.deepEqual(await lab.drive(runner.recover()), []);
  assert.equal((await lab.drive(resumed)).status, "completed");
  assert.equal(lab.count("a"), 2);
});

for (const elsewhere of [false, true]) {
  test(`a cancellation ${elsewhere ? "by another process" : ""} while the record of a start is acknowledged keeps its body from starting, or aborts it (FT-A6, O5)`, async () => {
    const lab = new Lab();
    const aborts: string[] = [];
    const graph = counted(lab, aborts);
    const runner = lab.engine(graph, { store: lateAcks(lab, 100) });
    const result = runner.run(INPUT, { runId: "r" });
    await lab.clock.settle();
    const cancelled = await lab.drive((elsewhere ? lab.elsewhere(graph) : runner).cancel("r", "early"));
    assert.equal(cancelled.status, "cancelled");
    assert.equal((await lab.drive(result)).status, "cancelled");
    assert.deepEqual([lab.count("a"), aborts], elsewhere ? [1, ["RunCancelledError"]] : [0, []]);
  });
}

test("an owner whose start failed with an unknown outcome lets go of it: the process goes on with its run at once (FT-F9, FT-A6)", async () => {
  const lab = new Lab();
  let broken = false;
  const store = aroundStore(lab.store, async ({ op, apply }) => {
    const answer = op === "inspect" && broken ? undefined : await apply();
    if (broken && (op === "append" || op === "inspect")) throw new StoreError(op, "the reply was lost");
    return answer!;
  });
  const graph = counted(lab);
  const runner = lab.engine(graph, { store });
  const other = await runner.start(INPUT, { runId: "other" });
  await setImmediate();
  broken = true;
  await lab.fails(runner.start(INPUT, { runId: "r" }), "StoreError");
  broken = false;
  assert.equal((await runner.status("r")).revision, 0, "it was stored");
  const from = lab.clock.now();
  const result = await lab.drive(runner.resume("r"));
  assert.equal(result.status, "completed");
  assert.ok(lab.clock.now() - from < 6_000);
  assert.equal((await lab.drive(other.result())).status, "completed");
  assert.equal(lab.count("a"), 2);
});

test("work on a run that fails by its store, and whose result nobody asks for, is one line of the log (FT-F9)", async () => {
  for (const how of ["start", "recover", "events"] as const) {
    const lab = new Lab();
    let broken = false;
    const store = aroundStore(lab.store, async ({ op, apply }) => {
      if (broken && (op === "append" || op === "inspect")) throw new StoreError(op, "the disk is full");
      return await apply();
    });
    const runner = lab.engine(counted(lab), { store });
    if (how === "recover") await runner.submit(INPUT, { runId: "r" });
    const [handle] = how === "recover"
      ? await lab.drive(runner.recover())
      : [await runner.start(INPUT, { runId: "r" })];
    const late = how === "events" ? await runner.start(INPUT, { runId: "r" }) : undefined;
    late?.events();
    broken = true;
    await lab.clock.advance("40s");
    const told = lab.warnings.filter((line) => /run r was let go here: .*the disk is full/.test(line));
    assert.equal(told.length, how === "events" ? 2 : 1, `${how}: ${lab.warnings.join("\n")}`);
    await lab.fails(handle!.result(), "StoreError");
    assert.equal(lab.count("a"), 1);
  }
});

test("work that fails and whose result is asked for is told to the one who asked, not logged (FT-F9)", async () => {
  const lab = new Lab();
  let broken = false;
  const store = aroundStore(lab.store, async ({ op, apply }) => {
    if (broken && (op === "append" || op === "inspect")) throw new StoreError(op, "the disk is full");
    return await apply();
  });
  const handle = await lab.engine(counted(lab), { store }).start(INPUT, { runId: "r" });
  const result = handle.result();
  broken = true;
  await lab.fails(result, "StoreError");
  assert.deepEqual(lab.warnings, []);
});
