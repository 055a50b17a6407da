// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "../../src/compile.ts";
import { StoreError } from "../../mod.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { serve } from "../../src/worker/mod.ts";
import { gate, graphOf, notes, processOn } from "../support/graphs.ts";
import { WorkerLab } from "./lab.ts";

/** A run whose first body never ends in its first process. */
function hanging() {
  let first = true;
  return graphOf({
    vertices: {
      done: { to: "v" },
      v: {
        run: () => {
          if (!first) return undefined;
          first = false;
          return new Promise(() => {});
        },
      },
    },
  });
}

test("the run of a process that was killed is recovered by a worker within one lease of its last beat, and nothing else runs again (FC-03, O2)", async () => {
  const lab = new WorkerLab();
  const graph = hanging();
  const victim = await lab.serve(graph);
  const heir = await lab.serve(graph);
  await lab.pass("3s");
  await victim.runner.start(notes(), { runId: "r" });
  await lab.clock.settle();
  const died = lab.clock.now();
  victim.kill();
  await lab.pass("14s");
  assert.equal((await heir.runner.status("r")).status, "running");
  await lab.pass("3s");
  const { status, completedAt } = await heir.runner.status("r");
  assert.equal(status, "completed");
  assert.ok(completedAt! - died <= 16_600, `${completedAt! - died} ms after it died`);
  assert.deepEqual(lab.bodies.map((b) => b.vertexId), ["done", "v", "v"]);
  assert.deepEqual(await lab.store.owners.ownedBy((await lab.store.owners.list())[0]!.ownerId, 9), []);
  await heir.worker.stop(0);
});

test("a run at work is never taken, by a scan in its own process or by a worker in another one, however long its body takes (FC-03)", async () => {
  const lab = new WorkerLab();
  const open = gate();
  const graph = graphOf({ vertices: { v: { run: () => open.promise } } });
  const busy = await lab.serve(graph);
  const other = await lab.serve(graph);
  await busy.runner.submit(notes(), { runId: "r" });
  await lab.clock.settle();
  for (let i = 0; i < 4; i++) {
    await lab.pass("20s");
    assert.deepEqual(await busy.runner.recover(), []);
    assert.deepEqual(await other.runner.recover(), []);
  }
  open.open();
  await lab.clock.settle();
  assert.deepEqual([lab.bodies.length, (await other.runner.status("r")).status], [1, "completed"]);
  await lab.end();
});

for (const [name, by] of [["a day ahead", "24h"], ["a day behind", "-24h"]] as const) {
  test(`a worker whose clock is ${name} takes no run from the living, and takes those of the dead (O6, O2)`, async () => {
    const lab = new WorkerLab();
    const open = gate();
    let first = true;
    const graph = graphOf({
      vertices: {
        v: {
          run: () => {
            if (!first) return undefined;
            first = false;
            return open.promise;
          },
        },
      },
    });
    const busy = await lab.serve(graph);
    await busy.runner.submit(notes(), { runId: "r" });
    await lab.clock.settle();
    const ms = by === "24h" ? 86_400_000 : -86_400_000;
    const { clock } = lab;
    const skewed = {
      now: () => clock.now() + ms,
      elapsed: () => clock.elapsed(),
      wakeAt: (at: number, run: () => void, o?: object) => clock.wakeAt(at - ms, run, o),
      wakeIn: (delay: number, run: () => void, o?: object) => clock.wakeIn(delay, run, o),
      macrotask: (run: () => void) => clock.macrotask(run),
      pause: (delay: number, run: () => void) => clock.pause(delay, run),
      random: () => clock.random(),
      uuid: () => clock.uuid(),
    };
    const runner = compile(graph, { store: processOn(lab.store).store, runtime: skewed });
    const worker = await serve({ runners: [runner], runtime: skewed });
    for (let i = 0; i < 6; i++) await lab.pass("15s");
    const before = await runner.status("r");
    assert.equal(before.status, "running");
    assert.equal(lab.bodies.length, 1, "nothing ran twice");
    assert.equal(before.recoveries, 0);
    busy.kill();
    await lab.pass("40s");
    assert.equal((await runner.status("r")).status, "completed");
    await lab.clock.drive(worker.stop(0));
  });
}

test("a clock that is set an hour ahead or back under workers costs no run its owner, and none is done twice (O6)", async () => {
  for (const step of ["1h", "-1h"] as const) {
    const lab = new WorkerLab();
    const open = gate();
    const graph = graphOf({ vertices: { v: { run: () => open.promise } } });
    const busy = await lab.serve(graph);
    const other = await lab.serve(graph);
    await busy.runner.submit(notes(), { runId: "r" });
    await lab.pass("7s");
    lab.clock.step(step);
    await lab.pass("2m");
    const late = await lab.serve(graph);
    await lab.pass("1m");
    assert.equal(lab.bodies.length, 1, step);
    await other.runner.submit(notes(), { runId: "later" });
    open.open();
    await lab.pass("5s");
    assert.equal((await late.runner.status("r")).status, "completed", step);
    assert.equal((await late.runner.status("later")).status, "completed", step);
    assert.equal(lab.bodies.length, 2, step);
    await lab.end();
  }
});

test("the runs of a dead process are found behind a thousand of versions that nobody here serves (O2)", async () => {
  const lab = new WorkerLab();
  const forever = graphOf({ id: "foreign", vertices: { v: { run: () => new Promise(() => {}) } } });
  const graph = hanging();
  const victim = processOn(lab.store);
  const foreign = compile(forever, { store: victim.store, runtime: lab.clock });
  const mine = compile(graph, { store: victim.store, runtime: lab.clock });
  for (let i = 0; i < 1_000; i++) await foreign.start(notes(), { runId: `a${i}` });
  await mine.start(notes(), { runId: "z" });
  await lab.clock.settle();
  victim.kill();
  const { runner } = await lab.serve(graph);
  await lab.pass("40s");
  assert.equal((await runner.status("z")).status, "completed");
  assert.equal((await runner.status("a0")).revision, 0);
  await lab.end();
});

test("a worker whose beats do not reach the store does not take itself for dead (O1)", async () => {
  const lab = new WorkerLab();
  const open = gate();
  const graph = graphOf({ vertices: { v: { run: () => open.promise } } });
  let broken = false;
  const store = aroundStore(lab.store, (call) => {
    if (broken && call.op === "owners.beat") return Promise.reject(new StoreError("beat", "no"));
    return call.apply();
  });
  const { runner } = await lab.serve(graph, { engine: { store } });
  await runner.submit(notes(), { runId: "r" });
  await lab.pass("1s");
  broken = true;
  await lab.pass("1m");
  broken = false;
  open.open();
  await lab.pass("2s");
  const { status, recoveries } = await runner.status("r");
  assert.deepEqual([status, recoveries, lab.bodies.length], ["completed", 0, 1]);
  await lab.end();
});
