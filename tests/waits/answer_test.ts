// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, WaitExpiredError } from "../../mod.ts";
import type { AnswerError, TaskContext } from "../../mod.ts";
import { anotherHandle, gate, INPUT, interrupted, Lab, mortal, openId } from "./lab.ts";

const Ok = defineWait("ok", z.string());

function waiting(lab: Lab) {
  return lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } });
}

test("an accepted answer survives the process that accepted it, wakes the run, and is shown as no longer open (I2)", async () => {
  const lab = new Lab();
  const graph = waiting(lab);
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = paused.run;
  const dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).answer(runId, openId(paused, "ok"), "kept");
  dying.kill();
  assert.deepEqual((await lab.store.wakes(lab.clock.now(), 10)).map((w) => w.runId), [runId]);
  assert.deepEqual((await lab.engine(graph).waits()).rows, []);
  const [handle] = await lab.elsewhere(graph).recover();
  const result = await lab.drive(handle!.result());
  assert.deepEqual([result.status, result.state.out.a], ["completed", "kept"]);
});

test("an answer is stored as the declared schema makes it, and handed out so (I2, D13)", async () => {
  const lab = new Lab();
  const Shaped = defineWait("shaped", z.object({ n: z.number().default(3) }).strip());
  const graph = lab.graph({ a: { waits: [Shaped], body: (ctx) => ctx.waitFor(Shaped) } });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  await lab.elsewhere(graph).answer(paused.run.runId, openId(paused, "shaped"), { more: 1 });
  const result = await lab.drive(lab.engine(graph).resume(paused.run.runId));
  assert.deepEqual(result.state.out.a, { n: 3 });
});

test("after the schema has changed, an accepted answer is refused when it is read: the wait opens again under a new id (I2)", async () => {
  const lab = new Lab();
  const graph = (schema: z.ZodType) => {
    const wait = defineWait("verdict", schema);
    return lab.graph({ a: { waits: [wait], body: (ctx) => ctx.waitFor(wait, { info: "?" }) } });
  };
  const old = graph(z.string());
  const paused = await lab.drive(lab.engine(old).run(INPUT));
  const { runId } = paused.run;
  const id = openId(paused, "verdict");
  await lab.engine(old).answer(runId, id, "yes");
  const changed = lab.elsewhere(graph(z.object({ yes: z.boolean() })));
  const again = await lab.drive(changed.resume(runId));
  const newId = openId(again, "verdict");
  assert.notEqual(newId, id);
  const [row] = (await changed.waits()).rows;
  assert.deepEqual([row?.waitId, row?.info], [newId, "?"]);
  const error = await lab.fails<AnswerError>(changed.answer(runId, id, { yes: true }), "AnswerError");
  assert.ok(["closed", "answered"].includes(error.reason), error.reason);
  const invalid = await lab.fails<AnswerError>(changed.answer(runId, newId, "yes"), "AnswerError");
  assert.equal(invalid.reason, "invalid");
  await changed.answer(runId, newId, { yes: true });
  const result = await lab.drive(lab.elsewhere(graph(z.object({ yes: z.boolean() }))).resume(runId));
  assert.deepEqual([result.status, result.state.out.a], ["completed", { yes: true }]);
});

test("each answer that the code refuses opens the wait under another id, and none of the old ones takes an answer (I2)", async () => {
  const lab = new Lab();
  const graph = (schema: z.ZodType) => {
    const wait = defineWait("verdict", schema);
    return lab.graph({ a: { waits: [wait], body: (ctx) => ctx.waitFor(wait) } });
  };
  const old = lab.engine(graph(z.string()));
  const changed = lab.elsewhere(graph(z.boolean()));
  let paused = await lab.drive(old.run(INPUT));
  const { runId } = paused.run;
  const ids = [openId(paused, "verdict")];
  for (const answer of ["yes", "no", "well"]) {
    await old.answer(runId, ids.at(-1)!, answer);
    paused = await lab.drive(changed.resume(runId));
    ids.push(openId(paused, "verdict"));
  }
  assert.equal(new Set(ids).size, 4);
  const open = ids.pop()!;
  for (const id of ids) {
    const { reason } = await lab.fails<AnswerError>(changed.answer(runId, id, true), "AnswerError");
    assert.equal(reason, "closed");
  }
  assert.equal((await lab.drive(changed.resume(runId, { answers: { [open]: true } }))).state.out.a, true);
});

test("an answer posted while a claim is on its way is taken in or the claim is made again; it is never lost (I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    b: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
  });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = paused.run;
  const a = openId(paused, "ok", "a");
  const b = openId(paused, "ok", "b");
  let posted = false;
  const store = anotherHandle(lab.store);
  const racing = {
    ...store,
    append: async (...args: Parameters<typeof store.append>) => {
      if (!posted) {
        posted = true;
        await lab.elsewhere(graph).answer(runId, b, "racing");
      }
      return await store.append(...args);
    },
  };
  const result = await lab.drive(
    lab.engine(graph, { store: racing }).resume(runId, { answers: { [a]: "own" } }),
  );
  assert.ok(posted);
  assert.equal(result.status, "completed");
  assert.deepEqual(result.state.out, { v: 0, a: "own", b: "racing" });
  assert.deepEqual([lab.count("a"), lab.count("b")], [2, 2]);
});

test("an answer posted while the run is being released is not lost: the release takes it in and goes on (I2)", async () => {
  const lab = new Lab();
  const body = gate();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    b: { body: () => body.promise },
  });
  let posted = 0;
  const store = anotherHandle(lab.store);
  const racing = {
    ...store,
    append: async (...args: Parameters<typeof store.append>) => {
      const [row] = (await lab.store.waits({})).rows;
      if (row !== undefined && posted++ === 0) {
        await lab.elsewhere(graph).answer(row.runId, row.waitId, "now");
      }
      return await store.append(...args);
    },
  };
  const handle = await lab.engine(graph, { store: racing }).start(INPUT);
  await lab.clock.settle();
  assert.equal(posted, 0);
  body.open();
  const result = await lab.drive(handle.result());
  assert.ok(posted > 0);
  assert.deepEqual([result.status, result.state.out.a], ["completed", "now"]);
  assert.deepEqual([lab.count("a"), lab.count("b")], [2, 1]);
});

test("at the instant of its deadline a wait is expired: an answer is refused, and the body sees the expiry (I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: (ctx) =>
        ctx.waitFor(Ok, { deadline: "1h" }).catch((e) => {
          if (e instanceof WaitExpiredError) return "expired";
          throw e;
        }),
    },
  });
  for (const [ms, seen] of [[3_599_999, "in time"], [3_600_000, "expired"]] as const) {
    const paused = await lab.drive(lab.engine(graph).run(INPUT));
    const { runId } = paused.run;
    lab.clock.step(ms);
    const now = lab.clock.now();
    const answer = lab.elsewhere(graph).answer(runId, openId(paused, "ok"), "in time");
    if (seen === "expired") {
      const error = await lab.fails<AnswerError>(answer, "AnswerError");
      assert.equal(error.reason, "expired");
    } else await answer;
    const claims = await Promise.all([lab.elsewhere(graph).recover(), lab.elsewhere(graph).recover()]);
    const [handle, ...more] = claims.flat();
    assert.equal(more.length, 0);
    const result = await lab.drive(handle!.result());
    assert.deepEqual([result.state.out.a, lab.clock.now()], [seen, now]);
  }
});

test("an answer accepted in time wins although the run is looked at after the deadline only (I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok, { deadline: "1h" }) } });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  await lab.engine(graph).answer(paused.run.runId, openId(paused, "ok"), "in time");
  await lab.clock.advance("9h");
  const result = await lab.drive(lab.elsewhere(graph).resume(paused.run.runId));
  assert.deepEqual([result.status, result.state.out.a], ["completed", "in time"]);
});

test("a resume without anything to do writes nothing, runs nothing, and gives the pause (I3)", async () => {
  const lab = new Lab();
  const graph = waiting(lab);
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const before = await lab.store.tail(paused.run.runId);
  const again = interrupted(await lab.drive(lab.elsewhere(graph).resume(paused.run.runId)));
  assert.deepEqual(again.waits.map((w) => w.waitId), [openId(paused, "ok")]);
  assert.deepEqual(await lab.store.tail(paused.run.runId), before);
  assert.equal(lab.count("a"), 1);
});

test("answers of a resume are all accepted in one record, and answered vertices alone run again (I3)", async () => {
  const lab = new Lab();
  const ask = { waits: [Ok], body: (ctx: TaskContext) => ctx.waitFor(Ok) };
  const graph = lab.graph({ v: { body: () => 0, to: ["a", "b", "c"] }, a: ask, b: ask, c: ask });
  const runner = lab.engine(graph);
  const paused = await lab.drive(runner.run(INPUT));
  const answers = { [openId(paused, "ok", "a")]: "1", [openId(paused, "ok", "c")]: "3" };
  const half = await lab.drive(lab.elsewhere(graph).resume(paused.run.runId, { answers }));
  assert.deepEqual(interrupted(half).waits.map((w) => w.waitId), [openId(paused, "ok", "b")]);
  assert.deepEqual(["a", "b", "c"].map((v) => lab.count(v)), [2, 1, 2]);
  const claim = (await runner.history(paused.run.runId)).rows[paused.run.revision + 1]!;
  assert.deepEqual(claim.events.map((e) => e.type), ["claimed", "resolved", "resolved"]);
});

test("an answer without its wait is an ArgumentError that says what the arguments are, and nothing is answered (D9)", async () => {
  const lab = new Lab();
  const graph = waiting(lab);
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const runner = lab.engine(graph);
  for (const value of [{ approve: true }, true, undefined]) {
    const error = await lab.fails(
      (runner.answer as (...args: unknown[]) => Promise<void>).call(runner, paused.run.runId, value),
      "ArgumentError",
    );
    assert.match(error.message, /the second argument is the id of the wait or its definition/);
    assert.ok(!error.message.includes("[object"), error.message);
  }
  assert.equal((await runner.waits()).rows.length, 1);
});

test("an answer above maxStateBytes is refused at the door, by every way, and nothing has changed (FT-D11, C5)", async () => {
  const lab = new Lab();
  const Text = defineWait("text", z.object({ text: z.string(), again: z.string().optional() }));
  const graph = lab.graph({
    a: { body: () => undefined, to: ["b", "c"] },
    b: { waits: [Text], body: (ctx) => ctx.waitFor(Text), to: "d" },
    c: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt("?"), to: "d" },
    d: { body: () => undefined, join: "all" },
  });
  const options = { maxStateBytes: 10_000 };
  const runner = lab.engine(graph, options);
  const { run, waits } = interrupted(await lab.drive(runner.run(INPUT)));
  const { runId, revision } = run;
  const huge = { text: "x".repeat(20_000) };
  for (const { waitId } of waits) {
    const calls = [
      () => runner.answer(runId, waitId, huge),
      () => runner.resume(runId, { answers: { [waitId]: huge } }),
    ];
    for (const call of calls) {
      const error = await lab.fails<AnswerError>(call(), "AnswerError");
      assert.equal(error.reason, "invalid");
      assert.match(
        error.message,
        /takes 200\d\d bytes, at most 10000 are allowed; the largest field is text/,
      );
      assert.equal((error.cause as Error).name, "StateSizeError");
    }
  }
  assert.equal((await runner.status(runId)).revision, revision);
  assert.equal((await runner.waits({ runId })).rows.length, 2);
  for (const { waitId } of waits) await runner.answer(runId, waitId, { text: "x".repeat(4_000) });
  assert.equal((await lab.drive(runner.resume(runId))).status, "completed");
});

test("an answer that its schema makes larger than maxStateBytes is refused at the door (FT-D11, C5)", async () => {
  const lab = new Lab();
  const Padded = defineWait("padded", z.object({ text: z.string().default("x".repeat(20_000)) }));
  const graph = lab.graph({ a: { waits: [Padded], body: (ctx) => ctx.waitFor(Padded) } });
  const runner = lab.engine(graph, { maxStateBytes: 10_000 });
  const { run, waits } = interrupted(await lab.drive(runner.run(INPUT)));
  const error = await lab.fails<AnswerError>(runner.answer(run.runId, waits[0]!.waitId, {}), "AnswerError");
  assert.equal(error.reason, "invalid");
  await runner.answer(run.runId, waits[0]!.waitId, { text: "short" });
  assert.equal((await lab.drive(runner.resume(run.runId))).status, "completed");
});
