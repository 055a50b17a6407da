// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { AnswerError, TaskContext } from "../../mod.ts";
import { INPUT, interrupted, Lab, openId } from "./lab.ts";

const Ok = defineWait("ok", z.string());

const KINDS = {
  "a wait": { waits: [Ok], body: (ctx: TaskContext) => ctx.waitFor(Ok, { deadline: "1h" }) },
  "a wait whose definition has the deadline": (() => {
    const Timed = defineWait("ok", z.string(), { deadline: "1h" });
    return { waits: [Timed], body: (ctx: TaskContext) => ctx.waitFor(Timed) };
  })(),
  "an interrupt": {
    body: (ctx: TaskContext) => {
      const answer = ctx.answer();
      return answer === undefined ? ctx.interrupt("?", { deadline: "1h" }) : answer.value;
    },
  },
};

for (const [what, spec] of Object.entries(KINDS)) {
  test(`after ${what} has expired and failed its vertex, a resume opens it anew, with a deadline of its own, as often as it takes (FT-G7, I3)`, async () => {
    const lab = new Lab();
    const graph = lab.graph({ a: spec });
    let paused = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
    const { runId } = paused.run;
    for (let round = 1; round <= 3; round++) {
      const [wait] = paused.waits;
      assert.equal(wait!.due, lab.clock.now() + 3_600_000);
      await lab.clock.advance("1h");
      const [handle] = await lab.elsewhere(graph).recover();
      const failed = interrupted(await lab.drive(handle!.result()));
      assert.deepEqual([failed.reason, failed.failures[0]!.failure.code], ["errored", "WAIT_EXPIRED"]);
      assert.deepEqual([failed.waits, lab.count("a")], [[], 2 * round]);
      const late = await lab.fails<AnswerError>(
        lab.engine(graph).answer(runId, wait!.waitId, "late"),
        "AnswerError",
      );
      assert.equal(late.reason, "expired");
      await lab.clock.advance("1h");
      paused = interrupted(await lab.drive(lab.elsewhere(graph).resume(runId)));
      assert.deepEqual([paused.reason, paused.failures, paused.waits.length], ["awaiting", [], 1]);
      assert.equal(lab.count("a"), 2 * round + 1);
    }
    await lab.clock.advance("59m");
    await lab.engine(graph).answer(runId, paused.waits[0]!.waitId, "in time");
    const done = await lab.drive(lab.elsewhere(graph).resume(runId));
    assert.deepEqual([done.status, done.state.out.a], ["completed", "in time"]);
  });
}

test("an expired wait is not opened anew by a retry of its vertex: the body of the next attempt gets the expiry again (FT-G7, T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Ok],
      retry: { maxAttempts: 3, backoff: { initial: "1m" } },
      body: (ctx) => ctx.waitFor(Ok, { deadline: "1h" }),
    },
  });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  await lab.clock.advance("1h");
  let last: unknown;
  for (let i = 0; i < 3; i++) {
    for (const handle of await lab.elsewhere(graph).recover()) last = await lab.drive(handle.result());
    await lab.clock.advance("5m");
  }
  const failed = interrupted(last as Awaited<typeof paused>);
  assert.deepEqual([failed.reason, failed.failures[0]!.failure.attempt], ["errored", 3]);
  assert.equal(lab.count("a"), 4);
});

test("a resume opens anew only what had expired: the answer beside it is kept and not asked for again (FT-G7, I3)", async () => {
  const lab = new Lab();
  const Other = defineWait("other", z.string());
  const graph = lab.graph({
    a: {
      waits: [Ok, Other],
      body: async (ctx) => [await ctx.waitFor(Other), await ctx.waitFor(Ok, { deadline: "1h" })],
    },
  });
  const first = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = first.run;
  const second = await lab.drive(
    lab.engine(graph).resume(runId, { answers: { [openId(first, "other")]: "kept" } }),
  );
  openId(second, "ok");
  await lab.clock.advance("1h");
  const [handle] = await lab.elsewhere(graph).recover();
  assert.equal(interrupted(await lab.drive(handle!.result())).reason, "errored");
  const again = await lab.drive(lab.elsewhere(graph).resume(runId));
  assert.deepEqual(interrupted(again).waits.map((w) => w.name), ["ok"]);
  const done = await lab.drive(lab.elsewhere(graph).resume(runId, { payload: "new" }));
  assert.deepEqual(done.state.out.a, ["kept", "new"]);
});

for (const give of ["payload", "answers", "both"] as const) {
  test(`a resume that brings ${give} for a wait whose deadline has just passed is refused, and the wait expires (I2, I3)`, async () => {
    const lab = new Lab();
    const graph = lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok, { deadline: "1h" }) } });
    const paused = await lab.drive(lab.engine(graph).run(INPUT));
    const { runId, revision } = paused.run;
    const id = openId(paused, "ok");
    await lab.clock.advance("1h");
    const late = lab.elsewhere(graph).resume(runId, {
      ...(give === "answers" ? {} : { payload: "late" }),
      ...(give === "payload" ? {} : { answers: { [id]: "late" } }),
    });
    const error = await lab.fails<AnswerError>(late, "AnswerError");
    assert.equal(error.reason, give === "answers" ? "expired" : "ambiguous");
    assert.equal((await lab.engine(graph).status(runId)).revision, revision);
    const failed = interrupted(await lab.drive(lab.elsewhere(graph).resume(runId)));
    assert.equal(failed.failures[0]!.failure.code, "WAIT_EXPIRED");
  });
}
