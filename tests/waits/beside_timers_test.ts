// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { AnswerError } from "../../mod.ts";
import { INPUT, interrupted, Lab } from "./lab.ts";

const Ok = defineWait("ok", z.string());

for (const all of [false, true]) {
  test(`a payload${all ? " for all" : ""} is for the wait, never for the timer beside it (I3, O4)`, async () => {
    const lab = new Lab();
    const graph = lab.graph({
      a: {
        waits: [Ok],
        body: (ctx) => Promise.all([ctx.waitFor(Ok), ctx.sleep("nap", "1h").then(() => "slept")]),
      },
    });
    const runner = lab.engine(graph);
    const paused = interrupted(await lab.drive(runner.run(INPUT)));
    assert.deepEqual(paused.waits.map((w) => w.kind).sort(), ["answer", "timer"]);
    const asleep = interrupted(await lab.drive(runner.resume(paused.run.runId, { payload: "yes", all })));
    assert.deepEqual([asleep.reason, asleep.waits.map((w) => w.name)], ["sleeping", ["nap"]]);
    await lab.clock.advance("1h");
    const [handle] = await lab.elsewhere(graph).recover();
    assert.deepEqual((await lab.drive(handle!.result())).state.out.a, ["yes", "slept"]);
  });
}

test("a timer cannot be answered, neither by its id nor by a payload, and fires when it is due (I2, I3, O4)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: (ctx) => ctx.sleep("nap", "1h").then(() => "slept") } });
  const runner = lab.engine(graph);
  const paused = interrupted(await lab.drive(runner.run(INPUT)));
  const { runId, revision } = paused.run;
  const { waitId } = paused.waits[0]!;
  await lab.fails<AnswerError>(runner.answer(runId, waitId, "now"), "AnswerError");
  await lab.fails<AnswerError>(runner.resume(runId, { answers: { [waitId]: "now" } }), "AnswerError");
  const error = await lab.fails<AnswerError>(runner.resume(runId, { payload: "now" }), "AnswerError");
  assert.equal(error.reason, "ambiguous");
  assert.match(error.message, /no wait is open/);
  assert.equal((await runner.status(runId)).revision, revision);
  await lab.clock.advance("1h");
  const [handle] = await lab.elsewhere(graph).recover();
  assert.equal((await lab.drive(handle!.result())).state.out.a, "slept");
});

test("a definition with the name of the low-level form means its own waits alone (T4, I3)", async () => {
  const Named = defineWait("interrupt", z.string());
  for (const how of ["resume", "answer"] as const) {
    const lab = new Lab();
    const graph = lab.graph({
      v: { body: () => 0, to: ["a", "b"] },
      a: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt() },
      b: { waits: [Named], body: (ctx) => ctx.waitFor(Named) },
    });
    const runner = lab.engine(graph);
    const { run } = await lab.drive(runner.run(INPUT));
    if (how === "answer") await runner.answer(run.runId, Named, "mine");
    const options = how === "resume" ? { wait: Named, payload: "mine" } : {};
    const half = interrupted(await lab.drive(runner.resume(run.runId, options)));
    assert.deepEqual([half.state.out, half.waits.map((w) => w.vertexId)], [{ v: 0, b: "mine" }, ["a"]]);
    await lab.fails<AnswerError>(runner.answer(run.runId, Named, "again"), "AnswerError");
    const done = await lab.drive(runner.resume(run.runId, { payload: "other" }));
    assert.equal(done.state.out.a, "other");
  }
});
