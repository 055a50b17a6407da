// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { GraphBuilder } from "../../mod.ts";
import type { StartOptions } from "../../mod.ts";
import { gate, INPUT, Lab, mortal, recorder } from "./lab.ts";

const slow = (lab: Lab) =>
  lab.graph({
    a: { body: () => new Promise((r) => lab.clock.wakeAt(lab.clock.now() + 9_000, () => r("a"))) },
  });

test("the input goes through the schema, with its defaults, before anything is written; a refused one writes nothing (E1)", async () => {
  const lab = new Lab();
  const schema = z.object({
    out: z.record(z.string(), z.unknown()).default({}),
    log: z.array(z.string()).default([]),
  });
  const graph = new GraphBuilder({ id: "g", schema })
    .addVertex({
      id: "a",
      task: { execute: () => 1 },
      select: () => null,
      reduce: (s) => void s.log.push("a"),
    })
    .build({ entry: "a", finish: "a" });
  const runner = lab.engine(graph);
  const result = await lab.drive(runner.run({}));
  assert.deepEqual(result.state, { out: {}, log: ["a"] });
  await lab.fails(runner.run({ log: [1] }, { runId: "r" }), "ValidationError");
  await lab.fails(runner.status("r"), "CheckpointNotFoundError");
});

test("the first record is the entry as frontier of an owned, running run with its tags and budget (E1)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: () => 0 } }));
  const { runId } = await runner.start(INPUT, { tags: ["b", "a", "b"], maxSteps: 7, deadline: "1h" });
  const run = await runner.status(runId);
  assert.match(runId, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.deepEqual([run.revision, run.status, run.tags, run.maxSteps], [0, "running", ["a", "b"], 7]);
  assert.equal(run.deadline, lab.clock.now() + 3_600_000);
  assert.ok(run.owner !== undefined);
  await lab.clock.settle();
  const { rows: [first] } = await runner.history(runId);
  assert.deepEqual([first?.phase, first?.frontier], ["routed", ["a"]]);
});

const BAD: readonly StartOptions[] = [
  { runId: "" },
  { runId: "a/b" },
  { runId: "x".repeat(129) },
  { maxSteps: 0 },
  { maxSteps: 1.5 },
  { concurrency: 0 },
  { concurrency: -1 },
  { concurrency: NaN },
  { deadline: "whenever" as never },
];

for (const options of BAD) {
  test(`start with ${JSON.stringify(options)} is refused and writes nothing (E1)`, async () => {
    const lab = new Lab();
    const runner = lab.engine(lab.graph({ a: { body: () => 0 } }));
    await lab.fails(runner.start(INPUT, options), "ArgumentError");
    assert.deepEqual((await runner.list()).rows, []);
  });
}

test("what a caller changes in its input after the start is never seen (E1)", async () => {
  const lab = new Lab();
  const input = { out: { list: ["given"] }, log: [] as string[] };
  const runner = lab.engine(lab.graph({ a: { select: (s) => s.out.list, body: (_, list) => list } }));
  const handle = await runner.start(input);
  input.out.list.push("later");
  const result = await lab.drive(handle.result());
  assert.deepEqual(result.state.out.a, ["given"]);
});

test("the handle of an equal start in another process follows the run to its end and runs nothing (E1)", async () => {
  const lab = new Lab();
  const graph = slow(lab);
  const first = await lab.engine(graph).start(INPUT, { runId: "r" });
  const second = await lab.elsewhere(graph).start(INPUT, { runId: "r" });
  const [one, two] = await lab.drive(Promise.all([first.result(), second.result()]));
  assert.deepEqual([one.status, two.status], ["completed", "completed"]);
  assert.deepEqual(two.state, one.state);
  assert.equal(lab.count("a"), 1);
});

test("a handle that follows a run recovers it when its owner has died (E1)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { body: () => "a", to: "b" },
    b: { body: () => lab.count("b") === 1 ? gate().promise : "b" },
  });
  const dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const handle = await lab.elsewhere(graph).start(INPUT, { runId: "r" });
  const result = handle.result();
  await lab.clock.advance("60s");
  assert.equal((await lab.engine(graph).status("r")).recoveries, 0, "a living owner is left alone");
  assert.equal(lab.count("b"), 1);
  const killedAt = lab.clock.now();
  dying.kill();
  assert.equal((await lab.drive(result)).status, "completed");
  assert.deepEqual([lab.count("a"), lab.count("b")], [1, 2]);
  assert.ok(lab.clock.now() - killedAt <= 21_000, "within one lease and a beat");
});

test("following an interrupted run gives the interruption, and a finished one its end (E1)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: (ctx) => ctx.answer() ?? ctx.interrupt() } });
  await lab.drive(lab.engine(graph).run(INPUT, { runId: "r" }));
  const again = await lab.elsewhere(graph).start(INPUT, { runId: "r" });
  assert.equal((await lab.drive(again.result())).status, "interrupted");
  await lab.drive(lab.engine(graph).resume("r", { payload: 1 }));
  const third = await lab.elsewhere(graph).run(INPUT, { runId: "r" });
  assert.equal(third.status, "completed");
  assert.equal(lab.count("a"), 2);
});

test("events of a handle are told from the first on, in order, and end with the claim (E1)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const runner = lab.engine(lab.graph({ a: { body: (ctx) => ctx.emit("hello", { n: 1 }) } }));
  const handle = await runner.start(INPUT, { hooks });
  const told: string[] = [];
  const reading = (async () => {
    for await (const event of handle.events()) told.push(event.type);
  })();
  await lab.drive(handle.result());
  await lab.drive(reading);
  assert.deepEqual(told, events.map((e) => e.type));
  assert.deepEqual(told.slice(0, 3), ["checkpoint", "runStart", "vertexStart"]);
  assert.equal(told.at(-1), "runFinish");
  const emitted = events.find((e) => e.type === "emit");
  assert.deepEqual(emitted?.type === "emit" && [emitted.vertexId, emitted.name, emitted.data], [
    "a",
    "hello",
    {
      n: 1,
    },
  ]);
  assert.equal((await runner.history(handle.runId)).rows.flatMap((h) => h.events).length, 5);
});
