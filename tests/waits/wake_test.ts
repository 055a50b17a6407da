// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { Duration, InterruptedResult, Runner } from "../../mod.ts";
import { INPUT, interrupted, Lab, type Spec, type State } from "./lab.ts";

const MINUTE = 60_000;
const Ok = defineWait("ok", z.string());

/** What a vertex may wait for, each with its own due time. */
const WAITING: Readonly<Record<string, (ms: number) => Spec>> = {
  "a timer": (ms) => ({ body: (ctx) => ctx.sleep("nap", ms) }),
  "the deadline of a wait": (ms) => ({
    waits: [Ok],
    body: (ctx) => ctx.waitFor(Ok, { deadline: ms as Duration }),
  }),
  "the deadline of an interrupt": (ms) => ({
    body: (ctx) => ctx.answer() ?? ctx.interrupt(1, { deadline: ms as Duration }),
  }),
  "a retry": (ms) => ({
    retry: { maxAttempts: 9, backoff: () => ms },
    body: () => Promise.reject(new Error("no")),
  }),
};

/** The one wake in the store, in minutes after `begin`. */
async function wake(lab: Lab, begin: number): Promise<number | undefined> {
  const rows = await lab.store.wakes(Number.MAX_SAFE_INTEGER, 10);
  assert.ok(rows.length <= 1, "a run has one wake");
  return rows[0] === undefined ? undefined : (rows[0].due - begin) / MINUTE;
}

async function begun(
  vertices: Readonly<Record<string, Spec>>,
  deadline?: number,
): Promise<{ lab: Lab; runner: Runner<State>; begin: number; paused: InterruptedResult<State> }> {
  const lab = new Lab();
  const begin = lab.clock.now();
  const runner = lab.engine(lab.graph(vertices), { inlineTimers: 0 });
  const options = { runId: "r", ...(deadline === undefined ? {} : { deadline: deadline * MINUTE }) };
  return { lab, runner, begin, paused: interrupted(await lab.drive(runner.run(INPUT, options))) };
}

for (const [what, waiting] of Object.entries(WAITING)) {
  test(`of ${what} and the run's deadline the wake is the earlier one, and due says the same (FT-G5, W1, E1)`, async () => {
    for (const [at, deadline, earlier] of [[60, 90, 60], [90, 60, 60], [60, undefined, 60]] as const) {
      const { lab, runner, begin, paused } = await begun({ a: waiting(at * MINUTE) }, deadline);
      assert.equal(await wake(lab, begin), earlier, `${at} and ${deadline}`);
      assert.equal((paused.due! - begin) / MINUTE, earlier);
      await lab.clock.advance(earlier * MINUTE - 1);
      assert.deepEqual(await lab.elsewhere(runner.graph).recover(), []);
      assert.equal(await wake(lab, begin), earlier, "a look before its time leaves the wake as it is");
      await lab.clock.advance(1);
      const [handle] = await lab.elsewhere(runner.graph, { inlineTimers: 0 }).recover();
      const after = await lab.drive(handle!.result());
      assert.equal(after.status === "cancelled", earlier === deadline, `${at} and ${deadline}`);
      if (after.status === "cancelled") assert.equal(after.cancelReason, "deadline");
    }
  });
}

test("of two vertices the wake is the earlier due time, and when that has passed it is the other one (FT-G5, W1)", async () => {
  for (const [a, b] of [[60, 90], [90, 60]] as const) {
    const { lab, runner, begin } = await begun({
      v: { body: () => 0, to: ["a", "b"] },
      a: WAITING["a timer"]!(a * MINUTE),
      b: WAITING["the deadline of a wait"]!(b * MINUTE),
    });
    assert.equal(await wake(lab, begin), 60);
    await lab.clock.advance(60 * MINUTE);
    const [handle] = await lab.elsewhere(runner.graph, { inlineTimers: 0 }).recover();
    interrupted(await lab.drive(handle!.result()));
    assert.equal(await wake(lab, begin), 90);
  }
});

test("an answer makes the wake now, whatever the run waits for beside it, and a second answer makes it no later (FT-G5, I2)", async () => {
  const Other = defineWait("other", z.string());
  const { lab, runner, begin } = await begun({
    v: { body: () => 0, to: ["a", "b", "c"] },
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok, { deadline: "2h" }) },
    b: { waits: [Other], body: (ctx) => ctx.waitFor(Other) },
    c: { body: (ctx) => ctx.sleep("nap", "1h") },
  }, 90);
  assert.equal(await wake(lab, begin), 60);
  const dueNow = async () => (await lab.store.wakes(lab.clock.now(), 10)).map((row) => [row.runId, row.due]);
  await lab.clock.advance(10 * MINUTE);
  assert.deepEqual(await dueNow(), []);
  await runner.answer("r", Ok, "yes");
  const due = await dueNow();
  assert.equal(due.length, 1);
  await lab.clock.advance(10 * MINUTE);
  await runner.answer("r", Other, "yes");
  assert.deepEqual(await dueNow(), due);
});

test("a timer that is awaited in the process does not hide the run's deadline before it (FT-G5, E1)", async () => {
  const lab = new Lab();
  const begin = lab.clock.now();
  const runner = lab.engine(lab.graph({ a: { body: (ctx) => ctx.sleep("nap", "20s") } }));
  const result = await lab.drive(runner.run(INPUT, { deadline: "10s" }));
  assert.deepEqual([result.status, lab.clock.now() - begin], ["cancelled", 10_000]);
  const later = await lab.drive(lab.engine(runner.graph).run(INPUT, { deadline: "30s" }));
  assert.deepEqual([later.status, lab.clock.now() - begin], ["completed", 30_000]);
});

test("a run that halted has its deadline as its wake, and none without one (FT-G5, E8)", async () => {
  for (const deadline of [60, undefined]) {
    const { lab, begin, paused } = await begun({
      a: { body: () => 0, route: { targets: ["b"], pick: () => "nowhere" as "b" } },
      b: { body: () => 0 },
    }, deadline);
    assert.equal(paused.reason, "halted");
    assert.equal(await wake(lab, begin), deadline);
    assert.equal(paused.due, deadline === undefined ? undefined : begin + 60 * MINUTE);
  }
});
