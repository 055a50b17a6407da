// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, WaitExpiredError } from "../../mod.ts";
import type { AnswerError, ResumeOptions } from "../../mod.ts";
import { anotherHandle, gate, INPUT, interrupted, Lab, openId } from "./lab.ts";

const Ok = defineWait("ok", z.string());

/** `a` and `b` wait side by side. */
function twoWaits(lab: Lab) {
  return lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    b: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
  });
}

for (const what of ["payload", "payload of the wait", "payload for all", "answers"] as const) {
  test(`an accepted answer stands against a later resume with ${what}, which is refused and changes nothing (FT-G1, I2)`, async () => {
    const lab = new Lab();
    const graph = lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } });
    const runner = lab.engine(graph);
    const paused = await lab.drive(runner.run(INPUT));
    const { runId, revision } = paused.run;
    const id = openId(paused, "ok");
    await runner.answer(runId, id, "first");
    const options: ResumeOptions = what === "answers" ? { answers: { [id]: "second" } } : {
      payload: "second",
      ...(what === "payload of the wait" ? { wait: Ok } : {}),
      ...(what === "payload for all" ? { all: true } : {}),
    };
    const error = await lab.fails<AnswerError>(lab.elsewhere(graph).resume(runId, options), "AnswerError");
    assert.equal(error.reason, what === "answers" ? "answered" : "ambiguous");
    assert.deepEqual([(await runner.status(runId)).revision, lab.count("a")], [revision, 1]);
    const done = await lab.drive(lab.elsewhere(graph).resume(runId));
    assert.deepEqual([done.status, done.state.out.a, lab.count("a")], ["completed", "first", 2]);
  });
}

for (const all of [false, true]) {
  test(`a payload${all ? " for all" : ""} goes to the wait that is still open, and the accepted answer of the other stands (FT-G1, I2, I3)`, async () => {
    const lab = new Lab();
    const graph = twoWaits(lab);
    const runner = lab.engine(graph);
    const paused = await lab.drive(runner.run(INPUT));
    const { runId } = paused.run;
    await runner.answer(runId, openId(paused, "ok", "a"), "first");
    const done = await lab.drive(lab.elsewhere(graph).resume(runId, { payload: "second", all }));
    assert.equal(done.status, "completed");
    assert.deepEqual([done.state.out.a, done.state.out.b], ["first", "second"]);
    assert.deepEqual([lab.count("a"), lab.count("b")], [2, 2]);
  });
}

test("answers that name one wait which is accepted already are refused whole, and the other wait stays open (FT-G1, I3)", async () => {
  const lab = new Lab();
  const graph = twoWaits(lab);
  const runner = lab.engine(graph);
  const paused = await lab.drive(runner.run(INPUT));
  const { runId } = paused.run;
  const [a, b] = [openId(paused, "ok", "a"), openId(paused, "ok", "b")];
  await runner.answer(runId, a, "first");
  const both = runner.resume(runId, { answers: { [b]: "second", [a]: "second" } });
  assert.equal((await lab.fails<AnswerError>(both, "AnswerError")).reason, "answered");
  assert.equal(openId(await runner.get(runId), "ok"), b);
  const half = interrupted(await lab.drive(runner.resume(runId)));
  assert.deepEqual([half.state.out.a, half.waits.map((w) => w.waitId)], ["first", [b]]);
});

test("an answer that is accepted while a resume with a payload is on its way stands, and that resume is refused (FT-G1, I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = paused.run;
  const store = anotherHandle(lab.store);
  let accepted = 0;
  const slow = {
    ...store,
    append: async (...args: Parameters<typeof store.append>) => {
      if (accepted++ === 0) await lab.engine(graph).answer(runId, openId(paused, "ok"), "first");
      return await store.append(...args);
    },
  };
  const late = lab.engine(graph, { store: slow }).resume(runId, { payload: "second" });
  assert.equal((await lab.fails<AnswerError>(late, "AnswerError")).reason, "ambiguous");
  const done = await lab.drive(lab.elsewhere(graph).resume(runId));
  assert.deepEqual([done.state.out.a, lab.count("a")], ["first", 2]);
});

test("of a resume with a payload and an answer at one instant one value is accepted, and it is the one that the body gets (FT-G1, I2)", async () => {
  for (let round = 0; round < 4; round++) {
    const lab = new Lab();
    const held = gate();
    const graph = lab.graph({
      a: {
        waits: [Ok],
        body: async (ctx) => {
          const ok = await ctx.waitFor(Ok);
          await ctx.once("held", () => held.promise);
          return ok;
        },
      },
    });
    const paused = await lab.drive(lab.engine(graph).run(INPUT));
    const { runId } = paused.run;
    const resume = () => lab.elsewhere(graph).resume(runId, { payload: "resumed" });
    const answer = () => lab.elsewhere(graph).answer(runId, openId(paused, "ok"), "answered");
    const calls = round % 2 === 0 ? [resume(), answer()] : [answer(), resume()];
    for (const call of calls) call.catch(() => {});
    await lab.clock.settle();
    held.open();
    await lab.drive(Promise.allSettled(calls));
    const done = await lab.drive(
      lab.elsewhere(graph).resume(runId).catch(() => lab.elsewhere(graph).get(runId)),
    );
    assert.equal(done.status, "completed");
    const results = (await lab.engine(graph).history(runId)).rows.flatMap((row) => row.events)
      .flatMap((e) => e.type === "resolved" && e.result.kind === "answered" ? [e.result.value] : []);
    assert.deepEqual(results, [done.state.out.a]);
  }
});

test("answers and a payload in one resume: the payload is for the wait that is not named, and a named one is answered once (I3)", async () => {
  const lab = new Lab();
  const graph = twoWaits(lab);
  const runner = lab.engine(graph);
  for (const options of [{}, { wait: Ok }, { all: true }]) {
    const paused = await lab.drive(runner.run(INPUT));
    const answers = { [openId(paused, "ok", "b")]: "named" };
    const done = await lab.drive(runner.resume(paused.run.runId, { answers, payload: "rest", ...options }));
    assert.deepEqual([done.status, done.state.out.a, done.state.out.b], ["completed", "rest", "named"]);
  }
  const one = lab.engine(lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } }, { id: "one" }));
  const paused = await lab.drive(one.run(INPUT));
  const { runId, revision } = paused.run;
  const both = one.resume(runId, { answers: { [openId(paused, "ok")]: "named" }, payload: "rest" });
  assert.equal((await lab.fails<AnswerError>(both, "AnswerError")).reason, "ambiguous");
  assert.equal((await one.status(runId)).revision, revision);
});

test("a wait whose answer is recorded is answered, for answer and for resume alike, and an expired one is expired (FT-A10, I2)", async () => {
  const lab = new Lab();
  const Next = defineWait("next", z.string());
  const graph = lab.graph({
    a: {
      waits: [Ok, Next],
      body: async (ctx) => {
        const first = await ctx.waitFor(Ok, { deadline: "1h" }).catch((error) => {
          if (error instanceof WaitExpiredError) return "expired";
          throw error;
        });
        return [first, await ctx.waitFor(Next)];
      },
    },
  });
  for (const reason of ["answered", "expired"] as const) {
    const paused = await lab.drive(lab.engine(graph).run(INPUT));
    const { runId } = paused.run;
    const id = openId(paused, "ok");
    if (reason === "answered") await lab.drive(lab.engine(graph).resume(runId, { payload: "first" }));
    else {
      await lab.clock.advance("1h");
      for (const handle of await lab.elsewhere(graph).recover()) await lab.drive(handle.result());
    }
    openId(await lab.engine(graph).get(runId), "next");
    const calls = [
      () => lab.engine(graph).answer(runId, id, "again"),
      () => lab.engine(graph).resume(runId, { answers: { [id]: "again" } }),
    ];
    for (const call of calls) {
      assert.equal((await lab.fails<AnswerError>(call(), "AnswerError")).reason, reason);
    }
  }
});

test("what became of a wait is said also when its step is long over: answered at which revision, expired, or of another run (FT-A10, I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: (ctx) => ctx.waitFor(Ok, { deadline: "1h" }),
      onError: { route: "b" },
      to: "b",
    },
    b: { body: () => 0, to: "c" },
    c: { body: (ctx) => ctx.answer() ?? ctx.interrupt() },
  });
  const runner = lab.engine(graph);
  const other = await lab.drive(runner.run(INPUT));
  for (const reason of ["answered", "expired"] as const) {
    const paused = await lab.drive(runner.run(INPUT));
    const { runId, revision } = paused.run;
    const id = openId(paused, "ok");
    if (reason === "answered") await runner.answer(runId, id, "first");
    else await lab.clock.advance("1h");
    const later = interrupted(await lab.drive(runner.resume(runId)));
    assert.equal(later.waits[0]!.vertexId, "c");
    const error = await lab.fails<AnswerError>(
      lab.elsewhere(graph).answer(runId, id, "again"),
      "AnswerError",
    );
    assert.equal(error.reason, reason);
    if (reason === "answered") assert.equal(error.revision, revision);
    const foreign = lab.elsewhere(graph).answer(
      runId,
      other.run.runId === runId ? id : openId(other, "ok"),
      1,
    );
    assert.equal((await lab.fails<AnswerError>(foreign, "AnswerError")).reason, "foreign");
  }
});

test("an answer to a wait that a cancelled run never opened says that the run was cancelled (I2, O5)", async () => {
  const lab = new Lab();
  const ids: string[] = [];
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: async (ctx) => {
        ids.push(ctx.waitId(Ok, 1), ctx.waitId(Ok, 2));
        return [await ctx.waitFor(Ok), await ctx.waitFor(Ok)];
      },
    },
  });
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  const never = runner.answer(run.runId, ids[1]!, "early");
  assert.equal((await lab.fails<AnswerError>(never, "AnswerError")).reason, "not_open");
  await runner.cancel(run.runId);
  for (const id of ids) {
    const error = await lab.fails<AnswerError>(runner.answer(run.runId, id, "late"), "AnswerError");
    assert.equal(error.reason, "closed");
    assert.match(error.message, /cancelled/);
  }
});
