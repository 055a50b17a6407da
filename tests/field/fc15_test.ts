// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { setTimeout as realTimer } from "node:timers/promises";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, type Duration, WaitExpiredError } from "../../mod.ts";
import type { Runtime } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { INPUT, interrupted, Lab } from "../waits/lab.ts";

const Ok = defineWait("ok", z.string());
const DAY = 86_400_000;

for (const [name, days] of [["30 days", 30], ["10 years", 3_650]] as const) {
  test(`a sleep, a deadline of a wait and a deadline of a run of ${name} end once, not before, over a restart half-way (FC-15, O4)`, async () => {
    const lab = new Lab();
    const start = lab.clock.now();
    const due = start + days * DAY;
    let expired = 0;
    const graph = lab.graph({
      v: { body: () => 0, to: ["sleeper", "waiter"] },
      sleeper: { body: (ctx) => ctx.sleep("s", `${days}d`) },
      waiter: {
        waits: [Ok],
        body: async (ctx) => {
          try {
            return await ctx.waitFor(Ok, { deadline: days * DAY });
          } catch (error) {
            if (!(error instanceof WaitExpiredError)) throw error;
            return ++expired;
          }
        },
      },
    });
    const bound = lab.graph({ v: { body: (ctx) => ctx.interrupt() } }, { id: "bound" });
    const { run } = await lab.drive(lab.engine(graph).run(INPUT));
    const deadline = await lab.drive(lab.engine(bound).run(INPUT, { deadline: new Date(due) }));
    assert.deepEqual((await lab.store.wakes(Infinity, 10)).map((w) => w.due), [due, due]);
    for (const at of [start + (days / 2) * DAY, due - 30_001]) {
      await lab.clock.advanceTo(at);
      assert.deepEqual(await lab.elsewhere(graph).recover(), []);
      const early = interrupted(await lab.drive(lab.elsewhere(graph).resume(run.runId)));
      assert.deepEqual(early.waits.map((w) => w.due), [due, due]);
    }
    assert.equal(lab.count("sleeper") + lab.count("waiter"), 2);
    await lab.clock.advanceTo(due - 1);
    assert.deepEqual(await lab.elsewhere(graph).recover(), []);
    await lab.clock.advanceTo(due);
    const [handle] = await lab.elsewhere(graph).recover();
    const result = await lab.drive(handle!.result());
    assert.deepEqual([result.status, expired], ["completed", 1]);
    assert.deepEqual([lab.count("sleeper"), lab.count("waiter")], [2, 2]);
    const [last] = await lab.elsewhere(bound).recover();
    assert.equal((await lab.drive(last!.result())).status, "cancelled");
    assert.equal(deadline.status, "interrupted");
    assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
  });
}

test("with the real platform timer 30 days do not fire at once and cost fewer than 10 callbacks (FC-15)", {
  timeout: 30_000,
}, async () => {
  let callbacks = 0;
  const runtime: Runtime = {
    ...systemRuntime,
    wakeAt: (at, run, options) =>
      systemRuntime.wakeAt(at, () => {
        callbacks += 1;
        run();
      }, options),
  };
  const lab = new Lab();
  const stop = new AbortController();
  const graph = lab.graph({ a: { body: (ctx) => ctx.sleep("s", "30d") } });
  const engine = lab.engine(graph, { runtime, inlineTimers: "60d" });
  const handle = await engine.start(INPUT, { signal: stop.signal });
  await realTimer(2_000);
  assert.equal((await engine.status(handle.runId)).status, "running");
  assert.equal(lab.count("a"), 1);
  assert.ok(callbacks < 10, `${callbacks} callbacks`);
  stop.abort();
  await assert.rejects(handle.result(), { name: "RunAbortedError" });
});

for (const deadline of [NaN, Infinity, "forever" as Duration, new Date(NaN)]) {
  test(`a run deadline of ${JSON.stringify(String(deadline))} is refused before anything is written (FC-15, E1)`, async () => {
    const lab = new Lab();
    const runner = lab.engine(lab.graph({ a: { body: () => 0 } }));
    await lab.fails(runner.run(INPUT, { runId: "r", deadline }), "ArgumentError");
    await lab.fails(runner.get("r"), "CheckpointNotFoundError");
    assert.throws(() => defineWait("w", z.string(), { deadline: deadline as number }), {
      name: "BuildError",
    });
  });
}

test("a run deadline that has passed cancels the run at once (FC-15, E1)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: (ctx) => ctx.sleep("s", "9d") } }));
  for (const deadline of [0, -5, new Date(0)]) {
    const result = await lab.drive(runner.run(INPUT, { deadline }));
    assert.deepEqual([result.status, "cancelReason" in result && result.cancelReason], [
      "cancelled",
      "deadline",
    ]);
  }
});
