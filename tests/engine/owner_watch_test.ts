// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Runner, Runtime } from "../../mod.ts";
import { StoreError } from "../../src/errors.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { serve } from "../../src/worker/mod.ts";
import { gate, INPUT, Lab, mortal, type State } from "../waits/lab.ts";

const LEASE = 15_000;
const HOUR = 3_600_000;

/** The clock as a process reads it whose own is wrong. */
function skewed({ clock }: Lab, ms: number): Runtime {
  return {
    now: () => clock.now() + ms,
    elapsed: () => clock.elapsed(),
    random: () => clock.random(),
    uuid: () => clock.uuid(),
    macrotask: (run) => clock.macrotask(run),
    pause: (delay, run) => clock.pause(delay, run),
    wakeAt: (at, run, options) => clock.wakeAt(at - ms, run, options),
    wakeIn: (delay, run, options) => clock.wakeIn(delay, run, options),
  };
}

/** A run whose first body never ends; any other one does. */
function hanging(lab: Lab) {
  return lab.graph({ a: { body: () => lab.count("a") === 1 ? gate().promise : "a" } });
}

/** Every way to get at a run of another process, and what is to become of it when that one is dead. */
const PATHS: Readonly<Record<string, (lab: Lab, runner: Runner<State>) => Promise<unknown>>> = {
  resume: (_, runner) => runner.resume("r"),
  recover: async (_, runner) => await Promise.all((await runner.recover()).map((h) => h.result())),
  cancel: (_, runner) => runner.cancel("r"),
  follow: (_, runner) => runner.run(INPUT, { runId: "r" }),
  serve: async (lab, runner) => {
    const worker = await serve({ runners: [runner], runtime: lab.clock, logger: { info() {}, warn() {} } });
    while ((await runner.status("r")).status === "running") await lab.clock.sleep(250);
    await worker.stop(0);
  },
};

for (const [name, path] of Object.entries(PATHS)) {
  for (const step of [-HOUR, HOUR]) {
    test(`${name}: an owner that was killed before the clock was set by ${step} ms is replaced after a lease of silence, not before (FT-B3, O4)`, async () => {
      const lab = new Lab();
      const graph = hanging(lab);
      const dying = mortal(lab.store);
      await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
      await lab.clock.settle();
      dying.kill();
      lab.clock.step(step);
      const from = lab.clock.elapsed();
      const runner = lab.elsewhere(graph);
      const work = path(lab, runner);
      await lab.clock.advance(LEASE - 1_000);
      assert.equal((await runner.status("r")).status, "running");
      await lab.drive(work);
      assert.ok(lab.clock.elapsed() - from <= LEASE + 3_000, `${lab.clock.elapsed() - from} ms`);
      const { status } = await runner.status("r");
      assert.equal(status, name === "cancel" ? "cancelled" : "completed");
    });
  }
}

for (const ahead of [600_000, -HOUR]) {
  test(`a process whose clock is off by ${ahead} ms buries nobody who lives, and knows soon that it does (FT-B3, O1)`, async () => {
    const lab = new Lab();
    const graph = hanging(lab);
    await lab.engine(graph).start(INPUT, { runId: "r" });
    await lab.clock.advance("1m");
    const other = lab.engine(graph, { store: { ...lab.store }, runtime: skewed(lab, ahead) });
    const from = lab.clock.elapsed();
    await lab.fails(other.resume("r"), "RunBusyError");
    assert.ok(lab.clock.elapsed() - from <= 2_000, "it gave a sign of life when it was asked");
    assert.deepEqual(await lab.drive(other.recover()), []);
    const following = other.run(INPUT, { runId: "r" });
    await lab.clock.advance("2m");
    assert.ok((await lab.store.owners.list()).every((owner) => !owner.buried));
    assert.equal(lab.count("a"), 1);
    await lab.drive(lab.engine(graph).cancel("r"));
    assert.equal((await lab.drive(following)).status, "cancelled");
  });
}

/** What a store does while it is away. */
const OUTAGES = {
  hangs: "hangs",
  fails: "fails",
  "reads slowly and does not write": "slow",
  "fails every second read and does not write": "flaky",
} as const;

for (const [name, how] of Object.entries(OUTAGES)) {
  test(`a store that ${name} for longer than a lease makes nobody dead (DT3, O4)`, async () => {
    const lab = new Lab();
    const held = gate<string>();
    const graph = lab.graph({ a: { body: () => held.promise } });
    let outage: ReturnType<typeof gate<void>> | undefined;
    let reads = 0;
    const process = () =>
      aroundStore(lab.store, async ({ op, apply }) => {
        const isRead = op === "owners.list";
        if (
          outage !== undefined && (how === "fails" || (how === "flaky" && (!isRead || reads++ % 2 === 0)))
        ) {
          throw new StoreError(op, "the database is away");
        }
        if (isRead && outage !== undefined && how === "slow") await lab.clock.sleep("6s");
        else if (how !== "flaky") await outage?.promise;
        return await apply();
      });
    const handle = await lab.engine(graph, { store: process() }).start(INPUT, { runId: "r" });
    const quiet = { info() {}, warn() {} };
    const runner = lab.engine(graph, { store: process() });
    const worker = await serve({ runners: [runner], runtime: lab.clock, logger: quiet });
    await lab.clock.advance("12s");
    for (let n = 0; n < 3; n++) {
      outage = gate();
      await lab.clock.advance("22s");
      outage.open();
      outage = undefined;
      await lab.clock.advance("3s");
      assert.deepEqual((await lab.store.owners.list()).map((owner) => owner.buried), [false]);
    }
    held.open("a");
    assert.equal((await lab.drive(handle.result())).status, "completed");
    assert.equal(lab.count("a"), 1);
    await lab.drive(worker.stop(0));
  });
}

test("of an owner that has been seen alive, a resume watches the rest of its lease when it has fallen silent (FT-B3)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  const owner = mortal(lab.store);
  await lab.engine(graph, { store: owner.store }).start(INPUT, { runId: "r" });
  const runner = lab.elsewhere(graph);
  const worker = await serve({
    runners: [lab.engine(lab.graph({ x: { body: () => 0 } }, { id: "x" }), { store: runner.store })],
    runtime: lab.clock,
  });
  await lab.clock.advance("30s");
  await lab.fails(runner.resume("r"), "RunBusyError");
  owner.kill();
  await lab.clock.advance("8s");
  const from = lab.clock.elapsed();
  assert.equal((await lab.drive(runner.resume("r"))).status, "completed");
  assert.ok(lab.clock.elapsed() - from <= 10_000);
  await lab.drive(worker.stop(0));
});

test("a process that stood still while it watched takes nobody for dead: others may have stood still with it (DT3, O4)", async () => {
  const lab = new Lab();
  const graph = hanging(lab);
  const owner = mortal(lab.store);
  await lab.engine(graph, { store: owner.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  owner.kill();
  const runner = lab.elsewhere(graph);
  const { elapsed } = lab.clock;
  let still = 0;
  lab.clock.elapsed = () => elapsed.call(lab.clock) + still;
  const resuming = runner.resume("r");
  await lab.clock.advance("2s");
  still = 60_000;
  await lab.clock.advance("4s");
  assert.equal(lab.count("a"), 1);
  assert.equal((await lab.drive(resuming)).status, "completed");
});

test("one run that is damaged keeps recover from nothing but itself; a store that fails makes it reject (FT-F10, O2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: () => "a" } });
  let away = false;
  const store = aroundStore(lab.store, async (call) => {
    if (away && call.op !== "owners.list") throw new StoreError(call.op, "the database is away");
    if (call.op === "tail" && call.args[0] === "b") {
      throw new StoreError("tail", "chunk 2 of a record is missing");
    }
    return await call.apply();
  });
  const runner = lab.engine(graph, { store });
  for (const runId of ["a", "b", "c"]) await lab.elsewhere(graph).submit(INPUT, { runId });
  const handles = await lab.drive(runner.recover());
  const results = await lab.drive(Promise.all(handles.map((handle) => handle.result())));
  assert.deepEqual(results.map(({ run, status }) => [run.runId, status]), [["a", "completed"], [
    "c",
    "completed",
  ]]);
  assert.deepEqual(lab.warnings.filter((w) => w.includes("run b cannot be taken over")).length, 1);
  away = true;
  await lab.fails(runner.recover(), "StoreError");
});

test("a store that begins to fail once the runs are listed makes recover reject, too (FT-F10, O2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: () => "a" } });
  await lab.engine(graph).submit(INPUT, { runId: "r" });
  let listed = false;
  const store = aroundStore(lab.store, async (call) => {
    if (listed) throw new StoreError(call.op, "the database is away");
    listed = call.op === "wakes";
    return await call.apply();
  });
  await lab.fails(lab.engine(graph, { store }).recover(), "StoreError");
  assert.equal(lab.count("a"), 0);
});

test("a damaged run that a dead process left does not keep a worker from what else it left (FT-F10, O2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: () => lab.count("a") <= 3 ? gate().promise : "a" } });
  const dying = mortal(lab.store);
  const first = lab.engine(graph, { store: dying.store });
  for (const runId of ["a", "b", "c"]) await first.start(INPUT, { runId });
  await lab.clock.settle();
  dying.kill();
  const store = aroundStore(lab.store, async (call) => {
    if (call.op === "tail" && call.args[0] === "b") {
      throw new StoreError("tail", "chunk 2 of a record is missing");
    }
    return await call.apply();
  });
  const runner = lab.engine(graph, { store });
  const worker = await serve({ runners: [runner], runtime: lab.clock, logger: { info() {}, warn() {} } });
  await lab.clock.advance("30s");
  const { rows } = await lab.elsewhere(graph).list({ status: "completed" });
  assert.deepEqual(rows.map((row) => row.runId).sort(), ["a", "c"]);
  await lab.drive(worker.stop(0));
});

test("bodies are told that the run was lost where an append finds it out (FT-A12, E11)", async () => {
  const lab = new Lab();
  const reasons: unknown[] = [];
  const held = gate<string>();
  const graph = lab.graph({
    a: { body: () => 0, to: ["b", "c"] },
    b: { body: () => held.promise },
    c: {
      body: (ctx) => {
        ctx.signal.addEventListener("abort", () => reasons.push((ctx.signal.reason as Error).name));
        return gate().promise;
      },
    },
  });
  const handle = await lab.engine(graph).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const [owner] = await lab.store.owners.list();
  await lab.store.owners.bury(owner!.ownerId, owner!.beatVersion);
  held.open("b");
  await lab.fails(handle.result(), "OwnershipLostError");
  assert.deepEqual(reasons, ["OwnershipLostError"]);
});
