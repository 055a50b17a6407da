// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { idempotencyKey, waitIdOf } from "../../src/engine/ids.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { INPUT, interrupted, Lab, openId } from "./lab.ts";

const Ok = defineWait("ok", z.string());

test("an answer that comes while its wait is being stored is accepted, since the wait opens and stays open (FT-A8, I2)", async () => {
  const inner = memoryStore();
  let early: (() => Promise<void>) | undefined;
  // Between the look at the inbox and the look at the run, the record that opens the wait is written.
  const store = aroundStore(inner, async (call) => {
    if (call.op !== "wait" || early === undefined) return await call.apply();
    const found = await call.apply();
    const open = early;
    early = undefined;
    await open();
    return found;
  });
  const lab = new Lab(store);
  const graph = lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } });
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT, { runId: "r" });
  const key = idempotencyKey("g", "r", 0, "a");
  const id = waitIdOf(await runner.status("r"), key, { kind: "answer", name: "ok", n: 1 }, 0);
  const paused = handle.result();
  early = async () => void await lab.drive(paused);
  await lab.drive(runner.answer("r", id, "yes"));
  const result = await lab.drive(runner.resume("r"));
  assert.deepEqual([result.status, result.state.out.a], ["completed", "yes"]);
});

test("early answers to keyed waits, and to items of a map without a record, are refused as not open yet (FT-A8, I2)", async () => {
  const lab = new Lab();
  const ids: string[] = [];
  const graph = lab.graph({
    a: {
      waits: [Ok],
      each: () => [1, 2],
      body: async (ctx) => {
        ids.push(ctx.waitId(Ok), ctx.waitId(Ok, 1, "ann"));
        await ctx.hold(new Promise<void>((resolve) => lab.clock.wakeIn(1_000, resolve)));
        return await ctx.waitFor(Ok);
      },
    },
  });
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT, { runId: "r" });
  await lab.clock.settle();
  assert.equal(ids.length, 4);
  for (const id of ids) await assert.rejects(runner.answer("r", id, "yes"), { reason: "not_open" });
  await assert.rejects(runner.answer("r", "never", "yes"), { reason: "unknown" });
  const paused = interrupted(await lab.drive(handle.result()));
  assert.equal(paused.waits.length, 2);
});

test("an id of an answered wait of an earlier step is answered for a resume as for an answer (FT-A10, I3)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok), to: "b" },
    b: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
  });
  const runner = lab.engine(graph);
  const first = openId(await lab.drive(runner.run(INPUT, { runId: "r" })), "ok", "a");
  interrupted(await lab.drive(runner.resume("r", { answers: { [first]: "yes" } })));
  await assert.rejects(lab.drive(runner.answer("r", first, "again")), { reason: "answered" });
  await assert.rejects(lab.drive(runner.resume("r", { answers: { [first]: "again" } })), {
    reason: "answered",
  });
});

test("a plain interrupt does not see the continuation of the one before it (FT-A10, T4)", async () => {
  const lab = new Lab();
  const seen: unknown[] = [];
  const graph = lab.graph({
    a: {
      body: (ctx) => {
        seen.push(ctx.continuation());
        if (seen.length === 1) return ctx.interrupt("first", { continuation: 7 });
        if (seen.length === 2) return ctx.interrupt("second");
        return "over";
      },
    },
  });
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  await lab.drive(runner.resume(run.runId, { payload: 1 }));
  const result = await lab.drive(runner.resume(run.runId, { payload: 2 }));
  assert.deepEqual([result.status, seen], ["completed", [undefined, { value: 7 }, undefined]]);
});

test("a failed vertex that is resumed opens its waits under the ids that were mailed, and those that lost stay closed (FT-A9, T6)", async () => {
  const lab = new Lab();
  let fails = true;
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: async (ctx) => {
        const open = ctx.waitFor(Ok, { key: "boss" });
        const won = await Promise.race([ctx.waitFor(Ok), ctx.sleep("s", "1h").then(() => "late")]);
        if (won === "late") await ctx.waitFor(Ok);
        if (fails) throw new Error("down");
        return [won, await open];
      },
    },
  });
  const runner = lab.engine(graph);
  const paused = interrupted(await lab.drive(runner.run(INPUT, { runId: "r" })));
  const boss = paused.waits.find((w) => w.key === "boss")!.waitId;
  const first = paused.waits.find((w) => w.name === "ok" && w.key === undefined)!.waitId;
  await lab.clock.advance("1h");
  const late = interrupted(await lab.drive(runner.resume("r")));
  const second = late.waits.find((w) => w.key === undefined)!.waitId;
  assert.notEqual(second, first);
  const failed = interrupted(await lab.drive(runner.resume("r", { answers: { [second]: "yes" } })));
  assert.equal(failed.reason, "errored");
  fails = false;
  const again = interrupted(await lab.drive(runner.resume("r")));
  assert.deepEqual(again.waits.map((w) => w.waitId), [boss], "what lost its race stays closed");
  await lab.drive(runner.answer("r", boss, "fine"));
  const result = await lab.drive(runner.resume("r"));
  assert.deepEqual([result.status, result.state.out.a], ["completed", ["late", "fine"]]);
});

test("two openings of one name side by side are refused at the second, naming key, or the name of a timer (FT-A4, T2)", async () => {
  for (const kind of ["wait", "timer"] as const) {
    const lab = new Lab();
    const graph = lab.graph({
      a: {
        waits: [Ok],
        body: (ctx) =>
          kind === "wait"
            ? Promise.all([ctx.waitFor(Ok, { info: 1 }), ctx.waitFor(Ok, { info: 2 })])
            : Promise.all([ctx.sleep("nap", 1), ctx.sleep("nap", 2)]),
      },
    });
    const runner = lab.engine(graph);
    const { failures, waits } = interrupted(await lab.drive(runner.run(INPUT)));
    assert.match(failures[0]!.failure.message, kind === "wait" ? /wait ok twice.*`key`/ : /timers named nap/);
    assert.deepEqual(waits, []);
    assert.equal(lab.count("a"), 1);
  }
});
