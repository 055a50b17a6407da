// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { AnswerError, RunHandle } from "../../mod.ts";
import { gate, INPUT, Lab, mortal, openId, type State } from "../waits/lab.ts";

const Ok = defineWait("ok", z.string());

function counting(lab: Lab, id = "g") {
  return lab.graph({
    a: { body: () => 1, to: "b" },
    b: { body: (ctx) => ctx.sleep("s", "1s") },
  }, { id });
}

test("20 parallel starts of one id and one input in two processes are one run, each body once (FC-14, E1)", async () => {
  const lab = new Lab();
  const graph = counting(lab);
  const engines = [lab.engine(graph), lab.elsewhere(graph)];
  const handles = await lab.drive(
    Promise.all(Array.from({ length: 20 }, (_, i) => engines[i % 2]!.start({ ...INPUT }, { runId: "r" }))),
  );
  assert.deepEqual(new Set(handles.map((h) => h.runId)), new Set(["r"]));
  const results = await lab.drive(Promise.all(handles.map((h) => h.result())));
  assert.deepEqual(new Set(results.map((r) => r.status)), new Set(["completed"]));
  assert.deepEqual(results.map((r) => r.run.revision), results.map(() => results[0]!.run.revision));
  assert.deepEqual([lab.count("a"), lab.count("b")], [1, 2]);
  assert.equal((await engines[0]!.list()).rows.length, 1);
});

test("a start under an id in use with another input or graph conflicts, and the first run is recovered after a crash (FC-14, E1)", async () => {
  const lab = new Lab();
  const stuck = gate();
  const graph = lab.graph({
    a: { body: () => "a", to: "b" },
    b: { body: async () => lab.count("b") === 1 ? await stuck.promise : "b" },
  });
  const first = mortal(lab.store);
  await lab.engine(graph, { store: first.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const before = await lab.store.tail("r");
  const others = [lab.engine(graph), lab.elsewhere(graph)];
  const other = lab.graph({ a: { body: () => assert.fail("it ran") } }, { id: "another" });
  for (const engine of others) {
    await lab.fails(engine.start({ out: { x: 1 }, log: [] }, { runId: "r" }), "RunExistsError");
  }
  for (const engine of [lab.engine(other), lab.elsewhere(other)]) {
    await lab.fails(engine.start(INPUT, { runId: "r" }), "RunExistsError");
  }
  assert.deepEqual(await lab.store.tail("r"), before);
  first.kill();
  const recovering = others[1]!.recover();
  await lab.clock.advance("14s");
  assert.equal(lab.count("b"), 1, "the lease still holds");
  const [handle] = await lab.drive(recovering);
  const result = await lab.drive(handle!.result());
  assert.deepEqual([result.status, result.state.out], ["completed", { a: "a", b: "b" }]);
  assert.deepEqual([lab.count("a"), lab.count("b")], [1, 2]);
});

function waiting(lab: Lab) {
  return lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok), to: "b" }, b: { body: () => 0 } });
}

async function outcomes(work: readonly Promise<unknown>[]) {
  const settled = await Promise.allSettled(work);
  const errors = settled.flatMap((s) => s.status === "rejected" ? [s.reason as AnswerError] : []);
  return { accepted: settled.length - errors.length, errors };
}

test("of 20 parallel posts of one answer one is accepted; the rest name its revision, and the vertex runs again once (FC-14, I2)", async () => {
  const lab = new Lab();
  const graph = waiting(lab);
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId, revision } = paused.run;
  const id = openId(paused, "ok");
  const engines = [lab.engine(graph), lab.elsewhere(graph)];
  const { accepted, errors } = await outcomes(
    Array.from({ length: 20 }, (_, i) => engines[i % 2]!.answer(runId, id, "yes")),
  );
  assert.equal(accepted, 1);
  assert.deepEqual(
    new Set(errors.map((e) => `${e.name} ${e.reason} ${e.revision}`)),
    new Set([
      `AnswerError answered ${revision}`,
    ]),
  );
  assert.equal(lab.count("a"), 1, "an answer never runs a task");
  const resumed = await outcomes(engines.map((engine) => lab.drive(engine.resume(runId))));
  assert.equal(resumed.accepted, 1);
  assert.deepEqual([lab.count("a"), lab.count("b")], [2, 1]);
  assert.equal((await lab.engine(graph).get(runId)).state.out.a, "yes");
});

test("of two different answers at one instant from two processes one wins, and only it is ever seen (FC-14, I2)", async () => {
  const lab = new Lab();
  const graph = waiting(lab);
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = paused.run;
  const id = openId(paused, "ok");
  const values = ["left", "right"];
  const engines = [lab.elsewhere(graph), lab.elsewhere(graph)];
  const settled = await Promise.allSettled(engines.map((engine, i) => engine.answer(runId, id, values[i])));
  const winner = settled.findIndex((s) => s.status === "fulfilled");
  assert.deepEqual(settled.map((s) => s.status).sort(), ["fulfilled", "rejected"]);
  const result = await lab.drive(lab.engine(graph).resume(runId));
  assert.deepEqual([result.state.out.a, lab.count("a")], [values[winner], 2]);
});

test("of two resumes with different payloads at one instant one claims the run; the other has run nothing (FC-14, O1)", async () => {
  const lab = new Lab();
  const graph = waiting(lab);
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = paused.run;
  const { accepted, errors } = await outcomes(
    ["left", "right"].map((payload) => lab.drive(lab.elsewhere(graph).resume(runId, { payload }))),
  );
  assert.equal(accepted, 1);
  const allowed = ["RunBusyError", "RevisionConflictError", "ResumeTerminalError", "AnswerError"];
  assert.ok(allowed.includes(errors[0]!.name), errors[0]!.name);
  assert.deepEqual([lab.count("a"), lab.count("b")], [2, 1]);
  const events = (await lab.engine(graph).history(runId)).rows.flatMap((h) => h.events);
  assert.equal(events.filter((e) => e.type === "claimed").length, 1);
});

test("equal starts by one idempotency key are one run per graph; another input under the key conflicts (FC-14, E1)", async () => {
  const lab = new Lab();
  const [mine, theirs] = [counting(lab, "mine"), counting(lab, "theirs")];
  const key = { idempotencyKey: "order-7" };
  const start = (handle: RunHandle<State>) => handle.runId;
  const one = start(await lab.engine(mine).start(INPUT, key));
  assert.equal(start(await lab.elsewhere(mine).start({ log: [], out: {} }, key)), one);
  assert.notEqual(start(await lab.engine(theirs).start(INPUT, key)), one);
  await lab.fails(lab.elsewhere(mine).start({ log: ["x"], out: {} }, key), "RunExistsError");
  await lab.clock.advance("5s");
  assert.deepEqual(lab.count("a"), 2);
});
