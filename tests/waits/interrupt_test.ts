import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { WaitExpiredError } from "../../mod.ts";
import { INPUT, interrupted, Lab, openId } from "./lab.ts";

for (const value of [false, 0, -0, "", null, undefined, NaN, 0n]) {
  test(`the answer ${Object.is(value, -0) ? "-0" : String(value)}${typeof value === "string" ? " (empty text)" : ""} is an answer (T4)`, async () => {
    const lab = new Lab();
    const graph = lab.graph({
      a: {
        body: (ctx) => {
          const answer = ctx.answer();
          return answer === undefined ? ctx.interrupt() : [answer.value];
        },
      },
    });
    const { run } = await lab.drive(lab.engine(graph).run(INPUT));
    const result = await lab.drive(lab.elsewhere(graph).resume(run.runId, { payload: value }));
    assert.equal(result.status, "completed");
    assert.ok(Object.is((result.state.out.a as unknown[])[0], value));
  });
}

test("each interrupt of an execution has its own info and continuation; answer and continuation read the latest (T4)", async () => {
  const lab = new Lab();
  const read: unknown[] = [];
  const graph = lab.graph({
    a: {
      body: (ctx) => {
        const done = (ctx.continuation<number>()?.value ?? 0) as number;
        read.push([ctx.answer()?.value, done]);
        return done === 3 ? "end" : ctx.interrupt(`ask ${done}`, { continuation: done + 1 });
      },
    },
  });
  let result = await lab.drive(lab.engine(graph).run(INPUT));
  const ids = new Set<string>();
  for (const n of [1, 2, 3]) {
    assert.equal(interrupted(result).waits[0]?.info, `ask ${n - 1}`);
    ids.add(openId(result, "interrupt"));
    result = await lab.drive(lab.elsewhere(graph).resume(result.run.runId, { payload: `answer ${n}` }));
  }
  assert.equal(result.status, "completed");
  assert.equal(ids.size, 3);
  assert.deepEqual(read, [[undefined, 0], ["answer 1", 1], ["answer 2", 2], ["answer 3", 3]]);
});

test("an interrupt whose deadline passes throws WaitExpiredError from answer, which the body may handle (T4)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      body: (ctx) => {
        try {
          return ctx.answer()?.value ?? ctx.interrupt("?", { deadline: "1h" });
        } catch (error) {
          if (error instanceof WaitExpiredError) return "too late";
          throw error;
        }
      },
    },
  });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  await lab.clock.advance("1h");
  const late = await lab.fails<Error & { reason: string }>(
    lab.engine(graph).answer(paused.run.runId, openId(paused, "interrupt"), 1),
    "AnswerError",
  );
  assert.equal(late.reason, "expired");
  const [handle] = await lab.elsewhere(graph).recover();
  assert.equal((await lab.drive(handle!.result())).state.out.a, "too late");
});

test("an answer that the code refuses is recorded as refused, and the pause opens again under a new id (T4)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { body: (ctx) => ctx.answer(z.object({ yes: z.boolean() }))?.value ?? ctx.interrupt("?") },
  });
  const runner = lab.engine(graph);
  const paused = await lab.drive(runner.run(INPUT));
  const { runId } = paused.run;
  const id = openId(paused, "interrupt");
  await runner.answer(runId, id, { yes: "perhaps" });
  const again = await lab.drive(lab.elsewhere(graph).resume(runId));
  const newId = openId(again, "interrupt");
  assert.notEqual(newId, id);
  assert.equal(interrupted(again).waits[0]?.info, "?");
  const reopened = (await runner.history(runId)).rows.flatMap((h) => h.events).filter((e) =>
    e.type === "reopened"
  );
  assert.deepEqual(reopened.map((e) => [e.id, e.newId]), [[id, newId]]);
  assert.match(reopened[0]!.problem, /yes/);
  await runner.answer(runId, newId, { yes: false });
  const result = await lab.drive(lab.elsewhere(graph).resume(runId));
  assert.deepEqual(result.state.out.a, { yes: false });
  const events = (await runner.history(runId)).rows.flatMap((h) => h.events);
  assert.ok(!events.some((e) => e.type === "failed" || e.type === "attempt_failed"));
});

test("a wait and an interrupt in one body do not mix their answers, and each item of a map has its own (T4)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      each: () => ["x", "y"],
      body: (ctx, item: string) => {
        const answer = ctx.answer();
        return answer === undefined ? ctx.interrupt(item, { continuation: item }) : [
          ctx.continuation()?.value,
          answer.value,
        ];
      },
    },
  });
  const paused = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  const { runId } = paused.run;
  const [x, y] = paused.waits;
  assert.deepEqual([x?.item, y?.item], [0, 1]);
  const half = await lab.drive(lab.engine(graph).resume(runId, { answers: { [y!.waitId]: 2 } }));
  assert.deepEqual(interrupted(half).waits.map((w) => w.waitId), [x!.waitId]);
  assert.equal(lab.count("a"), 3, "the answered item alone runs again");
  const result = await lab.drive(lab.elsewhere(graph).resume(runId, { payload: 1 }));
  assert.deepEqual(result.state.out.a, [["x", 1], ["y", 2]]);
});
