import assert from "node:assert/strict";
import { test } from "node:test";
import { compile, defineWait, Graph, OnError, Vertex, WaitExpiredError, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { Ask } from "../../tasks/ask.ts";
import { Delay } from "../../tasks/delay.ts";

const Approved = defineWait("approved", z.object({ by: z.string() }), { deadline: "7d" });
const Order = z.object({ items: z.array(z.string()), approvedBy: z.string().optional() });

@Graph({ id: "waiting" })
class Waiting extends Workflow(Order) {}

@Vertex({
  graph: Waiting,
  id: "cool_down",
  entry: true,
  select: () => ({ for: "2h" }),
  reduce: () => {},
  to: "approve",
})
export class CoolDown extends Delay {}

@Vertex({
  graph: Waiting,
  id: "approve",
  waits: [Approved],
  select: (s) => ({ items: s.items }),
  reduce: (s, answer: { by: string }) => {
    s.approvedBy = answer.by;
  },
  to: "last_call",
})
@OnError({ graph: Waiting, match: WaitExpiredError, route: "last_call" })
export class Approve extends Ask(Approved) {}

@Vertex({
  graph: Waiting,
  id: "last_call",
  finish: true,
  select: () => ({ until: new Date(0) }),
  reduce: () => {},
})
export class LastCall extends Delay {}

function office() {
  const clock = new VirtualClock();
  const runner = compile(Waiting, { store: memoryStore(), runtime: clock });
  return { clock, runner };
}

test("Delay lets the run go until its time, not earlier, and a time in the past is now", async () => {
  const { clock, runner } = office();
  const begun = clock.now();
  const asleep = await clock.drive(runner.run({ items: [] }, { runId: "w" }));
  assert.ok(asleep.status === "interrupted" && asleep.reason === "sleeping");
  assert.deepEqual(asleep.waits.map((wait) => wait.due), [begun + 2 * 3_600_000]);
  await clock.advance(2 * 3_600_000 - 30_001); // a timer that is due within 30 s is awaited
  assert.equal((await runner.resume("w")).run.reason, "sleeping");
  await clock.advance(30_001);
  assert.equal((await clock.drive(runner.resume("w"))).run.reason, "awaiting");
});

test("Ask shows its input with the wait, and its output is the answer", async () => {
  const { clock, runner } = office();
  await clock.drive(runner.run({ items: ["tea"] }, { runId: "w" }));
  await clock.advance("2h");
  await clock.drive(runner.resume("w"));
  const [wait] = (await runner.waits()).rows;
  assert.deepEqual([wait?.name, wait?.info], ["approved", { items: ["tea"] }]);
  await runner.answer("w", wait!.waitId, { by: "kim" });
  const result = await clock.drive(runner.resume("w"));
  assert.equal(result.status, "completed");
  assert.equal(result.state.approvedBy, "kim");
});

test("Ask fails with WaitExpiredError when the deadline of its wait passes", async () => {
  const { clock, runner } = office();
  await clock.drive(runner.run({ items: [] }, { runId: "w" }));
  await clock.advance("2h");
  await clock.drive(runner.resume("w"));
  await clock.advance("7d");
  const result = await clock.drive(runner.resume("w"));
  assert.equal(result.status, "completed");
  assert.equal(result.state.approvedBy, undefined);
});
