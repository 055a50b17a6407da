// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { gate, INPUT, Lab, recorded } from "./lab.ts";

const Ok = defineWait("ok", z.string());

/** A lab whose appends are acknowledged after 50 ms, and a vertex beside that keeps the run in its process. */
function slowLab() {
  const inner = memoryStore();
  const lab: Lab = new Lab(aroundStore(inner, async (call) => {
    const done = await call.apply();
    if (call.op === "append") await lab.clock.sleep(50);
    return done;
  }));
  return lab;
}

test("a once of a body that comes back while its answer is being recorded is done by the body after it, once (T1, T2, T9)", async () => {
  const lab = slowLab();
  const { promise, open } = gate<string>();
  let done = 0;
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: {
      waits: [Ok],
      body: async (ctx) => {
        const once = promise.then((value) => lab.count("a") === 1 ? value : new Promise<never>(() => {}));
        const won = await Promise.race([ctx.waitFor(Ok), once]);
        return [won, await ctx.once("effect", () => ++done)];
      },
    },
    b: { body: (ctx) => ctx.sleep("s", "20s") },
  });
  const runner = lab.engine(graph);
  const handle = await lab.drive(runner.start(INPUT));
  const result = handle.result();
  await lab.clock.advance("1s");
  const [row] = (await runner.waits()).rows;
  await runner.answer(handle.runId, row!.waitId, "answered");
  await lab.clock.advance("10ms"); // The record of the answer is on its way.
  open("by itself");
  const { state, status } = await lab.drive(result);
  assert.deepEqual([status, state.out.a, done], ["completed", ["answered", 1], 1]);
});

test("a once that a body does not wait for when it comes back and fails is done by its next attempt (T1, O3, T9)", async () => {
  const lab = slowLab();
  const { promise, open } = gate<string>();
  let done = 0;
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: {
      waits: [Ok],
      retry: { maxAttempts: 2, backoff: { initial: 10 } },
      body: async (ctx) => {
        if (ctx.attempt === 2) return await ctx.once("effect", () => ++done);
        await Promise.race([ctx.waitFor(Ok), promise]);
        ctx.once("effect", () => ++done).catch(() => {});
        throw new Error("down");
      },
    },
    b: { body: (ctx) => ctx.sleep("s", "20s") },
  });
  const handle = await lab.drive(lab.engine(graph).start(INPUT));
  const result = handle.result();
  await lab.clock.advance("1s");
  open("by itself");
  const { state, status } = await lab.drive(result);
  assert.deepEqual([status, state.out.a, done], ["completed", 1, 1]);
});

test("a body that comes back acts only once that is recorded, whatever else settles meanwhile (T9)", async () => {
  const lab = slowLab();
  const [back, other] = [gate(), gate()];
  const emitted: string[] = [];
  let effects = 0;
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b", "c"] },
    a: {
      waits: [Ok],
      body: async (ctx) => {
        await Promise.race([ctx.waitFor(Ok), back.promise]);
        ctx.emit("went");
        return await ctx.once("effect", () => ++effects);
      },
    },
    b: { body: (ctx) => ctx.sleep("s", "20s") },
    c: { body: () => other.promise },
  });
  const runner = lab.engine(graph);
  const handle = await lab.drive(
    runner.start(INPUT, { hooks: { emit: ({ name }) => void emitted.push(name) } }),
  );
  const result = handle.result();
  await lab.clock.advance("1s");
  back.open();
  await lab.clock.settle();
  other.open(); // It settles while the return is on its way to the store.
  await lab.clock.advance("10ms");
  assert.deepEqual([effects, emitted], [0, []]);
  await lab.clock.advance("1s");
  assert.deepEqual([effects, emitted], [1, ["went"]]);
  assert.equal((await lab.drive(result)).status, "completed");
  assert.equal(lab.count("a"), 1);
  const events = (await recorded(runner, handle.runId)).flat();
  assert.ok(events.indexOf("returned") < events.indexOf("once"), events.join());
});

test("a body that comes back acts only when there is a place for it (E3, T9)", async () => {
  const lab = new Lab();
  const [back, other] = [gate(), gate()];
  const order: string[] = [];
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: {
      waits: [Ok],
      body: async (ctx) => {
        await Promise.race([ctx.waitFor(Ok), back.promise]);
        await ctx.once("effect", () => void order.push("a acts"));
      },
    },
    b: { body: () => other.promise.then(() => order.push("b is over")) },
  });
  const handle = await lab.drive(lab.engine(graph).start(INPUT, { concurrency: 1 }));
  const result = handle.result();
  await lab.clock.advance("1s");
  assert.equal(lab.count("b"), 1, "a suspended body takes no place");
  back.open();
  await lab.clock.advance("1s");
  assert.deepEqual(order, []);
  other.open();
  assert.equal((await lab.drive(result)).status, "completed");
  assert.deepEqual(order, ["b is over", "a acts"]);
});

test("a body that goes on before its suspension was recorded takes its place again, and is suspended in no record (E3, T9)", async () => {
  const lab = slowLab();
  const [back, other, end] = [gate(), gate(), gate()];
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b", "c"] },
    a: {
      waits: [Ok],
      body: async (ctx) => {
        const wait = ctx.waitFor(Ok);
        await new Promise<void>((resolve) => setTimeout(resolve, 1)); // Its opening is on its way to the store.
        await Promise.race([wait, back.promise]);
        ctx.emit("back");
        await end.promise;
      },
    },
    b: { body: () => other.promise },
    c: { body: () => 0 },
  });
  const runner = lab.engine(graph);
  const handle = await lab.drive(runner.start(INPUT, { concurrency: 1 }));
  const result = handle.result();
  await lab.clock.advance("51ms");
  while (lab.count("b") === 0) await new Promise<void>((resolve) => setTimeout(resolve, 1)); // It is suspended.
  back.open();
  await lab.clock.settle();
  other.open();
  await lab.clock.advance("200ms");
  assert.equal(lab.count("c"), 0);
  end.open();
  assert.equal((await lab.drive(result)).status, "completed");
  const events = (await recorded(runner, handle.runId)).flat();
  assert.ok(!events.includes("suspended") && !events.includes("returned"), events.join());
});

test("the time of a body that comes back counts on: its timeout is what was left of it (O3, T8, T9)", async () => {
  const lab = new Lab();
  const { promise, open } = gate();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: {
      waits: [Ok],
      timeout: "10s",
      body: async (ctx) => {
        await lab.clock.sleep("6s");
        await Promise.race([ctx.waitFor(Ok), promise]);
        ctx.emit("back");
        await new Promise(() => {});
      },
    },
    b: { body: () => lab.clock.sleep("2m") },
  });
  const runner = lab.engine(graph);
  const handle = await lab.drive(runner.start(INPUT));
  const result = handle.result();
  await lab.clock.advance("1m");
  assert.deepEqual((await runner.get(handle.runId)).run.status, "running");
  open();
  await lab.clock.advance("3900ms");
  const failed = async () => (await recorded(runner, handle.runId)).flat().includes("failed");
  assert.equal(await failed(), false);
  await lab.clock.advance("200ms");
  assert.equal(await failed(), true);
  await lab.drive(result);
});

test("a body that runs again for a result has the whole time of its attempt, and only its work counts to the total (O3, T8)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: {
      waits: [Ok],
      timeout: { attempt: "10s", total: "15s" },
      body: async (ctx) => {
        await lab.clock.sleep("6s");
        return await ctx.waitFor(Ok);
      },
    },
    b: { body: () => lab.clock.sleep("1m") },
  });
  const runner = lab.engine(graph);
  const handle = await lab.drive(runner.start(INPUT));
  const result = handle.result();
  await lab.clock.advance("30s");
  await runner.answer(handle.runId, (await runner.waits()).rows[0]!.waitId, "yes");
  const { status, state } = await lab.drive(result);
  assert.deepEqual([status, state.out.a, lab.count("a")], ["completed", "yes", 2]);
});

test("a body that comes back while the release of its run is on its way runs again, and nothing waits for ever (T9)", async () => {
  const lab = slowLab();
  const { promise, open } = gate<string>();
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: async (ctx) => {
        const won = await Promise.race([ctx.waitFor(Ok), promise]);
        ctx.emit("back");
        return won;
      },
    },
  });
  const runner = lab.engine(graph);
  const result = runner.run(INPUT, { runId: "r" });
  let released = false;
  while (!released) {
    await lab.clock.advance("10ms");
    released = (await runner.status("r")).status === "interrupted";
  }
  open("by itself"); // The record is there, and not acknowledged yet.
  assert.equal((await lab.drive(result)).status, "interrupted");
  for (let i = 0; i < 10 && (await runner.status("r")).status !== "completed"; i++) {
    await lab.clock.advance("1m");
  }
  const { status, state } = await runner.get("r");
  assert.deepEqual([status, state.out.a, lab.count("a")], ["completed", "by itself", 2]);
  assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
});
