// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, type Hooks, StoreError } from "../../mod.ts";
import { chainOf, gate, graphOf, notes } from "../support/graphs.ts";
import { WorkerLab } from "./lab.ts";

const Go = defineWait("go", z.object({ by: z.string() }));
const stateOf = (size: z.ZodType<number>) => z.object({ log: z.array(z.string()).default([]), size });

test("a run that the code cannot load is halted with its reason, listed, and goes on once it can be loaded; others are served meanwhile (W1, E8, SRV-06)", async () => {
  const lab = new WorkerLab();
  const before = graphOf({
    schema: stateOf(z.number()),
    vertices: { a: { to: "b" }, b: {} },
    entry: "a",
    finish: "b",
  });
  const after = graphOf({
    schema: stateOf(z.number().max(5)),
    vertices: { a: { to: "b" }, b: {} },
    entry: "a",
    finish: "b",
  });
  assert.equal(before.version, after.version, "a schema is no part of the version");
  const old = lab.process(before);
  await old.runner.submit({ size: 9 }, { runId: "big" });
  await old.runner.submit({ size: 1 }, { runId: "small" });
  const told: string[] = [];
  const hooks: Hooks = {
    halt: ({ run, halt }) => void told.push(`${run.runId} ${halt.kind}`),
    runFinish: ({ run }) => void told.push(`${run.runId} ${run.status}`),
  };
  const { runner, warnings } = await lab.serve(after, { engine: { hooks } });
  await lab.pass("5m");
  assert.deepEqual(told.sort(), ["big interrupted", "big load_fault", "small completed"]);
  assert.equal((await runner.status("small")).status, "completed");
  const { rows } = await runner.list({ reason: "halted" });
  assert.deepEqual(rows.map((row) => row.runId), ["big"]);
  const { rows: history } = await runner.history("big");
  const halted = history.flatMap((entry) => entry.events).filter((event) => event.type === "halted");
  assert.equal(halted.length, 1, "it is not tried again and again");
  assert.equal(halted[0]!.halt.kind, "load_fault");
  assert.match(halted[0]!.halt.message, /size/);
  assert.equal(warnings.filter((line) => line.message.includes("cannot load")).length, 1);
  assert.deepEqual(await lab.store.wakes(Infinity, 9), []);
  const view = await old.runner.get("big");
  assert.equal(view.status === "interrupted" && view.halt?.error.message, halted[0]!.halt.message);
  const result = await old.resume("big");
  assert.deepEqual([result.status, result.state.size], ["completed", 9]);
  await lab.end();
});

test("a run that a living process works on is not halted by code that cannot load it (E8, O1)", async () => {
  const lab = new WorkerLab();
  const work = gate();
  const graph = (size: z.ZodType<number>) =>
    graphOf({ schema: stateOf(size), vertices: { a: { run: () => work.promise } } });
  const handle = await lab.process(graph(z.number())).runner.start({ size: 9 }, { runId: "r" });
  await lab.clock.settle();
  const other = lab.process(graph(z.number().max(5)), { store: { ...lab.store } });
  await lab.clock.drive(other.runner.claim("r").catch(() => undefined));
  assert.equal((await other.runner.status("r")).status, "running");
  work.open();
  assert.equal((await lab.clock.drive(handle.result())).status, "completed");
  await lab.end();
});

test("an answer to a run under max_recoveries is accepted and wakes nobody for good; a resume takes it in (E8, I2)", async () => {
  const lab = new WorkerLab();
  const graph = graphOf({
    vertices: {
      fork: { to: ["ask", "die"] },
      ask: { run: async (_, ctx) => (await ctx.waitFor(Go)).by, waits: [Go], finish: true },
      die: { run: () => calls++ < 2 ? new Promise(() => {}) : undefined, finish: true },
    },
  });
  let calls = 0;
  let victim = lab.process(graph, { maxRecoveries: 1 });
  await victim.runner.start(notes(), { runId: "r" });
  for (let i = 0; i < 2; i++) {
    await lab.pass("1s");
    victim.kill();
    await lab.pass("30s");
    victim = victim.restart();
    await lab.clock.drive(victim.runner.recover());
  }
  await lab.clock.settle();
  const served = await lab.serve(graph, { engine: { maxRecoveries: 1 } });
  victim.kill();
  await lab.pass("1m");
  const halted = await served.runner.get("r");
  assert.equal(halted.status === "interrupted" && halted.halt?.kind, "max_recoveries");
  const { rows: [wait] } = await served.runner.waits({ runId: "r" });
  await served.runner.answer("r", wait!.waitId, { by: "me" });
  await lab.pass("1m");
  const { status, reason, owner, revision } = await served.runner.status("r");
  assert.deepEqual([status, reason, owner], ["interrupted", "halted", undefined]);
  assert.equal(revision, halted.run.revision, "nothing was written");
  assert.deepEqual(await lab.store.wakes(Infinity, 9), [], "the wake of the answer was settled");
  assert.equal((await lab.clock.drive(served.runner.resume("r"))).status, "completed");
  await lab.end();
});

test("while a store fails a worker tries again after growing pauses, and goes on when it works (SRV-07)", async () => {
  const lab = new WorkerLab();
  let broken = false;
  let calls = 0;
  const flaky = new Proxy(lab.store, {
    get: (store, key) => {
      const value: unknown = Reflect.get(store, key);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (!broken) return value.apply(store, args);
        calls++;
        return Promise.reject(new StoreError(String(key), "the disk is on fire"));
      };
    },
  });
  const { runner, log, worker } = await lab.serve(chainOf("a", "b"), { engine: { store: flaky } });
  const other = lab.process(chainOf("a", "b"));
  broken = true;
  await other.runner.submit(notes(), { runId: "r" });
  await lab.pass("10m");
  assert.ok(calls > 10 && calls < 200, `${calls} calls in 10 minutes of failure`);
  assert.ok(log.every((line) => line.message.includes("on fire")));
  broken = false;
  await lab.pass("40s");
  assert.equal((await runner.status("r")).status, "completed");
  assert.equal(worker.active, 0);
  await lab.end();
});

test("a run whose store failed in the middle of it is taken up again by the same worker (SRV-07, O1)", async () => {
  const lab = new WorkerLab();
  let broken = false;
  const open = gate();
  const graph = graphOf({
    vertices: {
      a: { run: () => broken ? undefined : open.promise, to: "b" },
      b: {},
    },
  });
  const flaky = new Proxy(lab.store, {
    get: (store, key) => {
      const value: unknown = Reflect.get(store, key);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) =>
        broken && key === "append"
          ? Promise.reject(new StoreError("append", "the disk is on fire"))
          : value.apply(store, args);
    },
  });
  const { runner, log } = await lab.serve(graph, { engine: { store: flaky } });
  await runner.submit(notes(), { runId: "r" });
  await lab.clock.settle();
  broken = true;
  open.open();
  await lab.pass("3s");
  assert.equal((await runner.status("r")).status, "running");
  assert.ok(log.some((line) => line.message.includes("put off")));
  broken = false;
  await lab.pass("30s");
  assert.equal((await runner.status("r")).status, "completed");
  await lab.end();
});
