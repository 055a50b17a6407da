// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryEntry, Store } from "../../mod.ts";
import { StoreError } from "../../mod.ts";
import { gate, INPUT, interrupted, Lab, recorder, type Spec } from "../waits/lab.ts";

type Granularity = "vertex" | "step";
const BOTH: readonly Granularity[] = ["vertex", "step"];

/** `v`, then `a` and `b` of which `b` ends only after `a` could have been recorded, then `fin`. */
function fan(lab: Lab) {
  const slow = () => new Promise((resolve) => lab.clock.wakeAt(lab.clock.now() + 1_000, () => resolve("b")));
  return lab.graph({
    v: { body: () => "v", to: ["a", "b"] },
    a: { body: () => "a", to: "fin" },
    b: { body: slow, to: "fin" },
    fin: { body: () => "fin" },
  });
}

async function historyOf(lab: Lab, vertices: Record<string, Spec>, checkpointEvery: Granularity = "vertex") {
  const runner = lab.engine(lab.graph(vertices));
  const { run } = await lab.drive(runner.run(INPUT, { checkpointEvery }));
  return (await runner.history(run.runId)).rows;
}

const types = (entry: HistoryEntry) => entry.events.map((e) => e.type);
const indexOf = (history: readonly HistoryEntry[], of: (entry: HistoryEntry) => boolean) => {
  const i = history.findIndex(of);
  assert.notEqual(i, -1);
  return i;
};

for (const every of BOTH) {
  const id = every === "vertex" ? "CKP-01" : "CKP-02";
  test(`with a checkpoint every ${every} a chain is the seed, each outcome with its boundary, and the completion (${id})`, async () => {
    const history = await historyOf(
      new Lab(),
      { a: { body: () => 1, to: "fin" }, fin: { body: () => 2 } },
      every,
    );
    assert.deepEqual(types(history[0]!), ["created"]);
    assert.deepEqual([history[0]!.phase, history[0]!.status, history[0]!.frontier], ["routed", "running", [
      "a",
    ]]);
    assert.equal(typeof history[0]!.owner, "string");
    const boundaries = history.filter((h) => h.routes.length > 0 || h.status === "completed");
    assert.deepEqual(boundaries.map((h) => [h.phase, h.status, h.frontier, h.owner !== undefined]), [
      ["routed", "running", ["fin"], true],
      ["routed", "completed", [], false],
    ]);
    assert.equal(boundaries[1], history.at(-1));
    const order = history.flatMap((h) => types(h));
    assert.deepEqual(order, ["created", "done", "folded", "routed", "done", "folded", "routed", "completed"]);
  });
}

test("an outcome is durable while its sibling still works (CKP-03)", async () => {
  const lab = new Lab();
  const runner = lab.engine(fan(lab));
  const { runId } = await runner.start(INPUT);
  await lab.clock.settle();
  const during = (await runner.history(runId)).rows.at(-1)!;
  assert.deepEqual([during.phase, during.status], ["running", "running"]);
  assert.deepEqual(during.events.map((e) => [e.type, "vertexId" in e && e.vertexId]), [["done", "a"]]);
  await lab.clock.advance("1s");
  assert.equal((await runner.status(runId)).status, "completed");
});

test("with a checkpoint every step no outcome is recorded before its boundary, and none is lost (CKP-04)", async () => {
  const lab = new Lab();
  const runner = lab.engine(fan(lab));
  const { run } = await lab.drive(runner.run(INPUT, { checkpointEvery: "step" }));
  const { rows: history } = await runner.history(run.runId);
  assert.deepEqual(history.map((h) => h.phase), ["routed", "routed", "routed", "routed"]);
  assert.deepEqual(
    history.flatMap((h) => h.events).flatMap((e) => e.type === "done" ? [e.vertexId] : []).sort(),
    ["a", "b", "fin", "v"],
  );
});

test("both granularities end alike and tell of the same vertices and waits; every step writes fewer checkpoints (CKP-05, CKP-06)", async () => {
  const told = [];
  for (const every of BOTH) {
    const lab = new Lab();
    const { hooks, events } = recorder();
    const graph = lab.graph({
      v: { body: () => "v", to: ["a", "b"] },
      a: { body: () => "a", to: "fin" },
      b: {
        to: "fin",
        body: async (ctx) => {
          await new Promise<void>((resolve) => lab.clock.wakeAt(lab.clock.now() + 1_000, resolve));
          return ctx.answer()?.value ?? ctx.interrupt("?");
        },
      },
      fin: { body: () => "fin" },
    });
    const runner = lab.engine(graph, { hooks });
    const { run } = await lab.drive(runner.run(INPUT, { checkpointEvery: every }));
    const result = await lab.drive(runner.resume(run.runId, { payload: "b", checkpointEvery: every }));
    const count = (type: string) => events.filter((e) => e.type === type).length;
    const { status, state } = result;
    told.push({
      same: { status, state, finishes: count("vertexFinish"), waits: count("wait") },
      n: count("checkpoint"),
    });
  }
  assert.deepEqual(told[0]!.same, told[1]!.same);
  assert.ok(told[1]!.n < told[0]!.n, `${told[1]!.n} < ${told[0]!.n}`);
});

for (const every of BOTH) {
  test(`a pause is a paused checkpoint that holds the wait, with a checkpoint every ${every} too (CKP-07)`, async () => {
    const history = await historyOf(new Lab(), { a: { body: (ctx) => ctx.interrupt("?") } }, every);
    const last = history.at(-1)!;
    assert.deepEqual([last.phase, last.status, last.reason, last.frontier], [
      "paused",
      "interrupted",
      "awaiting",
      ["a"],
    ]);
    const before = history.slice(0, -1);
    assert.ok(before.every((h) => h.phase !== "paused"));
    assert.equal(history.flatMap((h) => types(h)).filter((t) => t === "opened").length, 1);
  });

  test(`a failure under the default policy is recorded and pauses, with a checkpoint every ${every} too (CKP-08)`, async () => {
    const history = await historyOf(new Lab(), { a: { body: () => Promise.reject(new Error("x")) } }, every);
    const last = history.at(-1)!;
    assert.deepEqual([last.phase, last.status, last.reason], ["paused", "interrupted", "errored"]);
    const failed = history.flatMap((h) => h.events).flatMap((e) => e.type === "failed" ? [e] : []);
    assert.deepEqual(failed.map((e) => [e.vertexId, e.failure.message, "handler" in e]), [["a", "x", false]]);
  });
}

test("a failure under a route pauses nothing: the handler is the next frontier, and its end completes the run (CKP-09)", async () => {
  const history = await historyOf(new Lab(), {
    a: { body: () => Promise.reject(new Error("x")), onError: { route: "handler" }, to: "fin" },
    fin: { body: () => 0 },
    handler: { body: () => 1 },
  });
  const order = history.flatMap((h) => types(h));
  assert.deepEqual(order, ["created", "failed", "folded", "routed", "done", "folded", "routed", "completed"]);
  assert.deepEqual(history.find((h) => h.routes.length > 0)!.frontier, ["handler"]);
  assert.ok(history.every((h) => h.phase !== "paused"));
});

test("a paused run that its deadline cancels gets exactly one more checkpoint (CKP-10)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: (ctx) => ctx.interrupt() } }));
  const { run } = await lab.drive(runner.run(INPUT, { deadline: "1h" }));
  await lab.clock.advance("61m");
  const [handle] = await runner.recover();
  assert.equal((await lab.drive(handle!.result())).status, "cancelled");
  const more = (await runner.history(run.runId)).rows.slice(run.revision + 1);
  assert.equal(more.length, 1);
  assert.deepEqual([more[0]!.status, lab.count("a")], ["cancelled", 1]);
});

test("in the middle of a step a checkpoint has the step's vertices, no routes, and the status running though one waits (CKP-11, CKP-13)", async () => {
  const lab = new Lab();
  const slow = gate<number>();
  const runner = lab.engine(lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { body: (ctx) => ctx.interrupt(), to: "fin" },
    b: { body: () => slow.promise, to: "fin" },
    fin: { body: () => 0 },
  }));
  const handle = await runner.start(INPUT);
  await lab.clock.settle();
  const during = (await runner.history(handle.runId)).rows.at(-1)!;
  assert.ok(types(during).includes("opened"));
  assert.deepEqual([during.phase, during.status, during.frontier, during.routes], [
    "running",
    "running",
    ["a", "b"],
    [],
  ]);
  slow.open(1);
  assert.equal(interrupted(await lab.drive(handle.result())).waits.length, 1);
});

test("the checkpoint of the completion has no frontier and no routes, the last outcome, and the time (CKP-15)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: () => 0, to: "fin" }, fin: { body: () => 1 } }));
  const { run } = await lab.drive(runner.run(INPUT));
  const last = (await runner.history(run.runId)).rows.at(-1)!;
  assert.deepEqual([last.frontier, last.routes], [[], []]);
  assert.deepEqual(last.events.flatMap((e) => e.type === "done" ? [e.vertexId] : []), ["fin"]);
  assert.equal(run.completedAt, lab.clock.now());
});

test("the boundary of step N has the step N and the frontier of N + 1 (CKP-16)", async () => {
  const history = await historyOf(new Lab(), {
    a: { body: () => 0, to: "b" },
    b: { body: () => 0, to: "c" },
    c: { body: () => 0 },
  });
  const boundaries = history.filter((h) => h.routes.length > 0);
  assert.deepEqual(boundaries.map((h) => [h.step, h.frontier]), [[0, ["b"]], [1, ["c"]]]);
  assert.equal(history.at(-1)!.step, 2);
});

test("revisions have no gap over a run and all its resumes, in whichever process (CKP-23)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt(), to: "b" },
    b: { body: () => lab.count("b") < 3 ? Promise.reject(new Error("x")) : 0 },
  });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  await lab.drive(lab.elsewhere(graph).resume(run.runId, { payload: 1 }));
  await lab.drive(lab.elsewhere(graph).resume(run.runId));
  const { status, revision } = (await lab.drive(lab.elsewhere(graph).resume(run.runId))).run;
  const { rows: history } = await lab.engine(graph).history(run.runId);
  assert.equal(status, "completed");
  assert.deepEqual(history.map((h) => h.revision), Array.from({ length: revision + 1 }, (_, i) => i));
});

/** A store that refuses to append at one revision, as a driver that is gone. */
function failingAt(store: Store, revision: number): Store {
  return {
    ...store,
    append: (runId, at, entry, options) =>
      at === revision
        ? Promise.reject(new StoreError("append", "the disk is gone"))
        : store.append(runId, at, entry, options),
  };
}

test("a failed append rejects the call at every revision, leaves the one before whole, and the run can go on (CKP-25, CKP-26)", async () => {
  const lab = new Lab();
  const graph = fan(lab);
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  for (let at = 0; at <= run.revision; at++) {
    const runId = `r${at}`;
    const broken = lab.engine(graph, { store: failingAt(lab.store, at) });
    const error = await lab.fails(broken.run(INPUT, { runId }), "StoreError");
    assert.match(error.message, /the disk is gone/);
    if (at === 0) {
      await lab.fails(lab.engine(graph).get(runId), "CheckpointNotFoundError");
      continue;
    }
    const left = await lab.elsewhere(graph).status(runId);
    assert.deepEqual([left.revision, left.status], [at - 1, "running"]);
    assert.equal((await lab.engine(graph).history(runId)).rows.length, at);
    await lab.clock.advance("1m");
    const result = await lab.drive(lab.elsewhere(graph).resume(runId));
    assert.deepEqual([result.status, result.state], ["completed", {
      out: { v: "v", a: "a", b: "b", fin: "fin" },
      log: ["v", "a", "b", "fin"],
    }]);
  }
});

test("after the pause of a single vertex come its claim with the answer, its outcome, and the completion (CKP-28)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt() } }));
  const { run } = await lab.drive(runner.run(INPUT));
  await lab.drive(runner.resume(run.runId, { payload: 1 }));
  const after = (await runner.history(run.runId)).rows.slice(run.revision + 1);
  assert.deepEqual(after.flatMap((h) => types(h)), [
    "claimed",
    "resolved",
    "done",
    "folded",
    "routed",
    "completed",
  ]);
  assert.deepEqual(after.map((h) => h.status).at(-1), "completed");
  const claim = indexOf(after, (h) => types(h).includes("claimed"));
  const outcome = indexOf(after, (h) => types(h).includes("done"));
  assert.ok(claim < outcome, "the body ran from what was durable");
});
