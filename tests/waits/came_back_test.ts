import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { gate, INPUT, Lab } from "./lab.ts";

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
