// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskContext } from "../../mod.ts";
import { gate, INPUT, Lab, recorded, revisionOf } from "../waits/lab.ts";

const ask = (ctx: TaskContext) => ctx.answer()?.value ?? ctx.interrupt();

test("an unknown run cannot be resumed, answered or read (RES-24)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: () => 0 } }));
  for (
    const call of [
      () => runner.resume("nobody"),
      () => runner.resume("nobody", { payload: 1 }),
      () => runner.answer("nobody", "w", 1),
      () => runner.get("nobody"),
      () => runner.status("nobody"),
      () => runner.history("nobody"),
    ]
  ) {
    const error = await lab.fails<Error & { runId: string }>(call(), "CheckpointNotFoundError");
    assert.equal(error.runId, "nobody");
  }
  assert.equal(lab.count("a"), 0);
});

test("an accepted resume is a revision of its own that names the owner, before any body runs (RES-25)", async () => {
  const lab = new Lab();
  let seen: unknown;
  const graph = lab.graph({
    a: {
      body: async (ctx) => {
        const answer = ctx.answer();
        if (answer === undefined) return ctx.interrupt();
        const { status, revision, owner } = await lab.engine(graph).status(ctx.runId);
        seen = [status, revision, typeof owner];
        return 0;
      },
    },
  });
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  await lab.drive(runner.resume(run.runId, { payload: 1 }));
  assert.deepEqual(seen, ["running", run.revision + 1, "string"]);
  const claim = (await runner.history(run.runId)).rows[run.revision + 1]!;
  assert.equal(claim.events[0]?.type, "claimed");
});

test("a resumed run that completes keeps the time of its last pause (RES-26)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: ask } }));
  const paused = await lab.drive(runner.run(INPUT));
  const pausedAt = lab.clock.now();
  await lab.clock.advance("1h");
  const { run } = await lab.drive(runner.resume(paused.run.runId, { payload: 1 }));
  assert.equal(run.interruptedAt, pausedAt);
  assert.equal(run.completedAt, pausedAt + 3_600_000);
});

test("a run that is at work elsewhere cannot be resumed; the refused one has run and written nothing (RES-27)", async () => {
  const lab = new Lab();
  const stuck = gate<number>();
  const graph = lab.graph({ a: { body: () => stuck.promise } });
  const handle = await lab.engine(graph).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  for (const other of [lab.engine(graph), lab.elsewhere(graph)]) {
    await lab.fails(other.resume("r"), "RunBusyError");
  }
  assert.deepEqual([lab.count("a"), await revisionOf(lab.engine(graph), "r")], [1, 0]);
  stuck.open(5);
  assert.equal((await lab.drive(handle.result())).state.out.a, 5);
});

test("a run id among the options of a resume changes nothing (RES-28)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: ask } }));
  const { run } = await lab.drive(runner.run(INPUT, { runId: "mine" }));
  const options = { payload: 1, runId: "yours" };
  const result = await lab.drive(runner.resume(run.runId, options));
  assert.deepEqual([result.status, result.run.runId], ["completed", "mine"]);
  await lab.fails(runner.get("yours"), "CheckpointNotFoundError");
});

for (const [first, then] of [["vertex", "step"], ["step", "vertex"]] as const) {
  test(`a run begun with a checkpoint every ${first} goes on with one every ${then} (RES-29)`, async () => {
    const lab = new Lab();
    const graph = lab.graph({
      a: { body: ask, to: ["b", "c"] },
      b: { body: () => 1, to: "end" },
      c: {
        to: "end",
        body: () => new Promise((resolve) => lab.clock.wakeAt(lab.clock.now() + 5, () => resolve(2))),
      },
      end: { body: () => 3 },
    });
    const { run } = await lab.drive(lab.engine(graph).run(INPUT, { checkpointEvery: first }));
    const runner = lab.elsewhere(graph);
    const result = await lab.drive(runner.resume(run.runId, { payload: 0, checkpointEvery: then }));
    assert.deepEqual(result.state.out, { a: 0, b: 1, c: 2, end: 3 });
    const own = (await recorded(runner, run.runId)).filter((types) => types.join() === "done");
    assert.equal(own.length, then === "vertex" ? 1 : 0);
  });
}
