// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { engine, gate, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";

const HOUR = 3_600_000;

/** A graph whose body lasts until the gate is opened. */
function held() {
  const door = gate<string>();
  const graph = graphOf<Notes>({
    vertices: { a: { to: "b" }, b: { run: () => door.promise, to: "c" }, c: {} },
  });
  return { door, graph };
}

for (const end of ["completed", "cancelled", "interrupted"] as const) {
  test(`a run of which the clock was set back never ends before it began, and its records stay in order: ${end} (FT-G8, O6)`, async () => {
    const { door, graph } = held();
    const e = engine(graph);
    const handle = await e.runner.start(notes());
    await e.clock.advance("1m");
    e.clock.step(-HOUR);
    if (end === "cancelled") await e.clock.drive(e.runner.cancel(handle.runId));
    else if (end === "completed") door.open("done");
    else door.fail(new Error("no"));
    const { run } = await e.clock.drive(handle.result());
    assert.equal(run.status, end);
    const endedAt = run.completedAt ?? run.cancelledAt ?? run.interruptedAt;
    assert.ok(endedAt! >= run.createdAt, `${endedAt} is before ${run.createdAt}`);
    assert.ok(run.updatedAt >= endedAt! && run.startedAt! >= run.createdAt);
    const times = (await e.runner.history(handle.runId)).rows.map((row) => row.at);
    assert.deepEqual(times, [...times].sort((a, b) => a - b));
  });
}

test("a run whose clock was set back while it waited is resumed, updated and cancelled without going back in time (FT-G8, O6)", async () => {
  const graph = graphOf<Notes>({
    vertices: { a: { run: (_input, ctx) => ctx.answer()?.value ?? ctx.interrupt() } },
  });
  for (const end of ["resume", "cancel", "deadline"] as const) {
    const e = engine(graph);
    await e.clock.advance("1m");
    const deadline = end === "deadline" ? { deadline: "2h" } as const : {};
    const { run } = interrupted(await e.run(notes(), deadline), "awaiting");
    e.clock.step(-HOUR);
    const other = e.restart();
    await other.runner.update(run.runId, (s) => void s.log.push("edited"));
    if (end === "cancel") await other.runner.cancel(run.runId);
    else if (end === "resume") await other.resume(run.runId, { payload: 1 });
    else {
      await e.clock.advance(3 * HOUR);
      for (const handle of await other.runner.recover()) await e.clock.drive(handle.result());
    }
    const { run: after } = await other.runner.get(run.runId);
    const endedAt = after.completedAt ?? after.cancelledAt;
    assert.ok(endedAt! >= run.interruptedAt!, end);
    const times = (await other.runner.history(run.runId)).rows.map((row) => row.at);
    assert.deepEqual(times, [...times].sort((a, b) => a - b), end);
  }
});
