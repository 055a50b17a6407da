// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, WaitExpiredError } from "../../mod.ts";
import type { AnswerError } from "../../mod.ts";
import { anotherHandle, freezable, gate, INPUT, interrupted, Lab, openId } from "./lab.ts";

const Ok = defineWait("ok", z.string());

test("a wait is found by its definition and key among more open waits of that name than a page holds (I2)", async () => {
  const lab = new Lab();
  const keys = Array.from({ length: 130 }, (_, i) => `k${i}`);
  const graph = lab.graph({
    a: { waits: [Ok], body: async (ctx) => await Promise.all(keys.map((key) => ctx.waitFor(Ok, { key }))) },
  });
  const runner = lab.engine(graph);
  const paused = interrupted(await lab.drive(runner.run(INPUT)));
  const { runId } = paused.run;
  assert.equal(paused.waits.length, 130);
  const error = await lab.fails<AnswerError>(runner.answer(runId, Ok, "all"), "AnswerError");
  assert.equal(error.reason, "ambiguous");
  assert.equal((error.fields.waits as readonly string[]).length, 130);
  for (const key of keys) await runner.answer(runId, Ok, `of ${key}`, { key });
  const done = await lab.drive(lab.elsewhere(graph).resume(runId));
  assert.deepEqual(done.state.out.a, keys.map((key) => `of ${key}`));
});

test("where no wait of a definition is open, the refusal is about its newest opening (I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: async (ctx) => {
        const first = await ctx.waitFor(Ok);
        const second = await ctx.waitFor(Ok, { deadline: "1h" }).catch((error) => {
          if (error instanceof WaitExpiredError) return "expired";
          throw error;
        });
        return [first, second, await ctx.sleep("nap", "10h")];
      },
    },
  });
  for (const [reason, end] of [["answered", "yes"], ["expired", undefined]] as const) {
    const { run } = await lab.drive(lab.engine(graph).run(INPUT));
    await lab.drive(lab.engine(graph).resume(run.runId, { payload: "first" }));
    await lab.clock.advance("1m");
    if (end === undefined) {
      await lab.clock.advance("1h");
      for (const handle of await lab.elsewhere(graph).recover()) await lab.drive(handle.result());
    } else await lab.drive(lab.engine(graph).resume(run.runId, { payload: end }));
    assert.equal(interrupted(await lab.engine(graph).get(run.runId)).reason, "sleeping");
    const late = lab.elsewhere(graph).answer(run.runId, Ok, "late");
    assert.equal((await lab.fails<AnswerError>(late, "AnswerError")).reason, reason);
  }
});

test("an answer given to the runner of another graph is refused, by id and by definition, and the wait stays open (I2)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } }));
  const other = lab.engine(
    lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } }, { id: "other" }),
  );
  const paused = await lab.drive(runner.run(INPUT));
  const { runId } = paused.run;
  const id = openId(paused, "ok");
  await lab.fails(other.answer(runId, id, "yes"), "GraphMismatchError");
  await lab.fails(other.answer(runId, Ok, "yes"), "GraphMismatchError");
  assert.equal(openId(await runner.get(runId), "ok"), id);
  await runner.answer(runId, id, "yes");
});

test("an answer that meets a wish to cancel which nobody has recorded yet is refused, and the run ends cancelled (I2, O5)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    b: { body: () => gate().promise },
  });
  const slow = freezable(lab.store);
  const owner = lab.engine(graph, { store: slow.store });
  const handle = await owner.start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const { rows: [row] } = await lab.engine(graph).waits();
  slow.freeze();
  const cancelling = lab.elsewhere(graph).cancel("r", "enough");
  await lab.clock.settle();
  const error = await lab.fails<AnswerError>(
    lab.elsewhere(graph).answer("r", row!.waitId, "late"),
    "AnswerError",
  );
  assert.equal(error.reason, "closed");
  assert.match(error.message, /cancelled/);
  slow.thaw();
  assert.equal((await lab.drive(cancelling)).status, "cancelled");
  assert.equal((await lab.drive(handle.result())).run.cancelReason, "enough");
});

test("answers that meet in the mailbox of one run are all accepted, each once (I2)", async () => {
  const lab = new Lab();
  const keys = ["a", "b", "c", "d"];
  const graph = lab.graph({
    a: { waits: [Ok], body: async (ctx) => await Promise.all(keys.map((key) => ctx.waitFor(Ok, { key }))) },
  });
  const paused = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  const { runId } = paused.run;
  let before = 0;
  const store = anotherHandle(lab.store);
  const meeting = {
    ...store,
    post: async (...args: Parameters<typeof store.post>) => {
      if (before++ === 0) await lab.engine(graph).answer(runId, Ok, "first", { key: "a" });
      return await store.post(...args);
    },
  };
  await lab.engine(graph, { store: meeting }).answer(runId, Ok, "second", { key: "b" });
  await Promise.all(["c", "d"].map((key) => lab.elsewhere(graph).answer(runId, Ok, key, { key })));
  const done = await lab.drive(lab.elsewhere(graph).resume(runId));
  assert.deepEqual(done.state.out.a, ["first", "second", "c", "d"]);
});

test("an answer to a run at work in this process is taken up at once, in another one within a second (I2)", async () => {
  for (const elsewhere of [false, true]) {
    const lab = new Lab();
    const graph = lab.graph({
      v: { body: () => 0, to: ["a", "b"] },
      a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
      b: { body: () => gate().promise },
    });
    const runner = lab.engine(graph);
    await runner.start(INPUT, { runId: "r" });
    await lab.clock.settle();
    const { rows: [row] } = await runner.waits();
    const at = lab.clock.now();
    await (elsewhere ? lab.elsewhere(graph) : runner).answer("r", row!.waitId, "yes");
    await lab.clock.settle();
    assert.equal((await runner.get("r")).vertices.a === "done", !elsewhere);
    if (elsewhere) await lab.clock.advance("1s");
    assert.equal((await runner.get("r")).vertices.a, "done");
    assert.ok(lab.clock.now() - at <= 1_000);
    await lab.drive(runner.cancel("r"));
  }
});

test("a run that halted is taken up by nobody when a timer or an answer of it is due, and is cancelled at its deadline (E8, E1)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { body: () => 0, route: { targets: ["b"], pick: () => "nowhere" as "b" } },
    b: { body: () => 0 },
  });
  const halted = interrupted(await lab.drive(lab.engine(graph).run(INPUT, { deadline: "1h" })));
  assert.equal(halted.reason, "halted");
  await lab.clock.advance(3_599_999);
  assert.deepEqual(await lab.elsewhere(graph).recover(), []);
  assert.equal(await lab.elsewhere(graph).claim(halted.run.runId), undefined);
  await lab.clock.advance(1);
  const [handle] = await lab.elsewhere(graph).recover();
  assert.equal((await lab.drive(handle!.result())).run.cancelReason, "deadline");
  assert.equal(lab.count("a"), 1);
});

test("a takeover that meets an append of the living owner is tried again until it has the run (O1)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      body: async (ctx) => {
        for (let i = 0; i < 3; i++) await ctx.once(`n${i}`, () => lab.clock.sleep("1s"));
        return lab.count("a") === 1 ? await gate().promise : "done";
      },
    },
  });
  const owner = lab.engine(graph);
  const handle = await owner.start(INPUT, { runId: "r" });
  const lost = handle.result().then(() => "kept", (error: Error) => error.name);
  await lab.clock.settle();
  const store = anotherHandle(lab.store);
  let meetings = 0;
  const meeting = {
    ...store,
    append: async (...args: Parameters<typeof store.append>) => {
      if (meetings++ < 2) await lab.clock.advance("1s");
      return await store.append(...args);
    },
  };
  const done = await lab.drive(lab.engine(graph, { store: meeting }).resume("r", { takeover: true }));
  assert.deepEqual([done.status, await lost], ["completed", "OwnershipLostError"]);
  assert.ok(meetings > 2);
});

for (const id of [{ runId: "order-7" }, { idempotencyKey: "order-7" }]) {
  test(`a run that is begun anew under the id of a purged one refuses the ids of its waits, by ${Object.keys(id)} (FT-A13, I2)`, async () => {
    const lab = new Lab();
    const runner = lab.engine(lab.graph({ v: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } }));
    const { waits: [old], run } = interrupted(await lab.drive(runner.run(INPUT, id)));
    await runner.purge({ runId: run.runId, force: true });
    const { waits: [wait] } = interrupted(await lab.drive(runner.run(INPUT, id)));
    await lab.fails(runner.answer(run.runId, old!.waitId, "for the first"), "AnswerError");
    await runner.answer(run.runId, wait!.waitId, "for the second");
    const { state } = await lab.drive(runner.resume(run.runId));
    assert.equal(state.out.v, "for the second");
  });
}
