// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { AnswerError, PurgeQuery, Runner, Store } from "../../mod.ts";
import { StoreError } from "../../src/errors.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { appendBytes } from "../waits/damage.ts";
import { gate, INPUT, interrupted, Lab, mortal, openId, type State } from "../waits/lab.ts";

const Ok = defineWait("ok", z.string());

/** A graph whose runs end, wait, fail or hang, as their input says. */
function various(lab: Lab, id = "g") {
  return lab.graph({
    a: {
      waits: [Ok],
      select: (s) => s.out.kind,
      body: (ctx, kind) => {
        if (kind === "waits") return ctx.waitFor(Ok);
        if (kind === "fails") throw new Error("no");
        return kind === "hangs" ? gate().promise : "done";
      },
    },
  }, { id });
}

async function begin(lab: Lab, runner: Runner<State>, kind: string, runId = kind, tags: string[] = []) {
  const handle = await runner.start({ out: { kind }, log: [] }, { runId, tags });
  if (kind === "hangs") await lab.clock.settle();
  else await lab.drive(handle.result());
  return handle;
}

async function ids(runner: Runner<State>): Promise<string[]> {
  return (await runner.list()).rows.map((row) => row.runId).sort();
}

test("purge removes runs that are over, with everything of them, and says how many; the others stay (H4)", async () => {
  const lab = new Lab();
  const runner = lab.engine(various(lab));
  const other = lab.engine(various(lab, "other"));
  for (const kind of ["ends", "waits", "fails", "hangs"]) await begin(lab, runner, kind);
  await begin(lab, runner, "waits", "cancelled");
  await runner.cancel("cancelled");
  await begin(lab, other, "ends", "foreign");
  assert.equal(await runner.purge({}), 2);
  assert.deepEqual(await ids(runner), ["fails", "hangs", "waits"]);
  assert.deepEqual(await ids(other), ["foreign"]);
  for (const gone of ["ends", "cancelled"]) {
    const calls: readonly (() => Promise<unknown>)[] = [
      () => runner.get(gone),
      () => runner.status(gone),
      () => runner.history(gone),
      () => runner.resume(gone),
      () => runner.cancel(gone),
      () => runner.fork(gone, 0),
      () => runner.update(gone, () => {}),
      () => runner.retain(gone, 1),
      () => runner.answer(gone, "w", "yes"),
    ];
    for (const call of calls) await lab.fails(call(), "CheckpointNotFoundError");
  }
  assert.equal(await runner.purge({}), 0);
});

test("with force a run that is not over is cancelled first, in every state, and its bodies are told (H4)", async () => {
  const lab = new Lab();
  const runner = lab.engine(various(lab));
  const hanging = await begin(lab, runner, "hangs");
  for (const kind of ["waits", "fails"]) await begin(lab, runner, kind);
  await runner.submit(INPUT, { runId: "submitted" });
  assert.equal(await lab.drive(runner.purge({ force: true })), 4);
  assert.equal((await lab.drive(hanging.result())).run.cancelReason, "purged");
  assert.deepEqual(await ids(runner), []);
  assert.deepEqual((await lab.store.waits({})).rows, []);
  assert.deepEqual(await lab.store.wakes(Number.MAX_SAFE_INTEGER, 10), []);
  assert.deepEqual(await lab.elsewhere(runner.graph).recover(), []);
});

test("with force a run whose owner is dead or in another process is purged as well (H4, O5)", async () => {
  const lab = new Lab();
  const graph = various(lab);
  const dying = mortal(lab.store);
  await begin(lab, lab.engine(graph, { store: dying.store }), "hangs", "dead");
  const alive = await begin(lab, lab.engine(graph), "hangs", "alive");
  dying.kill();
  const purger = lab.elsewhere(graph);
  assert.equal(await lab.drive(purger.purge({ force: true })), 2);
  assert.equal((await lab.drive(alive.result())).status, "cancelled");
  const owners = await lab.store.owners.list();
  for (const { ownerId } of owners) assert.deepEqual(await lab.store.owners.ownedBy(ownerId, 10), []);
});

test("every field of a query must hold: run, status, reason, tag, age (H4)", async () => {
  const purging = async (query: PurgeQuery) => {
    const lab = new Lab();
    const runner = lab.engine(various(lab));
    await begin(lab, runner, "ends", "old", ["x"]);
    await begin(lab, runner, "waits", "stopped", ["y"]);
    await runner.cancel("stopped");
    await lab.clock.advance("1h");
    await begin(lab, runner, "ends", "new", ["x"]);
    await begin(lab, runner, "waits", "open", ["x"]);
    await begin(lab, runner, "fails", "failed");
    const before = await ids(runner);
    const count = await lab.drive(runner.purge(query));
    const after = await ids(runner);
    assert.equal(count, before.length - after.length);
    return before.filter((id) => !after.includes(id));
  };
  assert.deepEqual(await purging({ runId: "new" }), ["new"]);
  assert.deepEqual(await purging({ runId: "new", tag: "y" }), []);
  assert.deepEqual(await purging({ runId: "open", reason: "errored", force: true }), []);
  assert.deepEqual(await purging({ runId: "open", status: "running", force: true }), []);
  assert.deepEqual(await purging({ status: "completed" }), ["new", "old"]);
  assert.deepEqual(await purging({ status: "cancelled" }), ["stopped"]);
  assert.deepEqual(await purging({ tag: "x" }), ["new", "old"]);
  assert.deepEqual(await purging({ tag: "x", force: true }), ["new", "old", "open"]);
  assert.deepEqual(await purging({ status: "interrupted", force: true }), ["failed", "open"]);
  assert.deepEqual(await purging({ reason: "errored", force: true }), ["failed"]);
  assert.deepEqual(await purging({ olderThan: "30m" }), ["old", "stopped"]);
  assert.deepEqual(await purging({ olderThan: "30m", tag: "x" }), ["old"]);
  assert.deepEqual(await purging({ olderThan: new Date(Date.UTC(2026, 0, 1)) }), ["old", "stopped"]);
  assert.deepEqual(await purging({ olderThan: "2h" }), []);
});

test("the age of a run is that of its newest record, not of its beginning: what went on lately is not purged (FT-G2, H4)", async () => {
  const lab = new Lab();
  const runner = lab.engine(various(lab));
  await begin(lab, runner, "waits", "resumed");
  await begin(lab, runner, "waits", "stopped");
  await begin(lab, runner, "waits", "updated");
  await begin(lab, runner, "waits", "idle");
  await begin(lab, runner, "ends", "old");
  await lab.clock.advance("2h");
  await lab.drive(runner.resume("resumed", { payload: "yes" }));
  await runner.cancel("stopped");
  await runner.update("updated", (s) => void s.log.push("edited"));
  assert.equal(await runner.purge({ olderThan: "1h" }), 1);
  assert.deepEqual(await ids(runner), ["idle", "resumed", "stopped", "updated"]);
  assert.equal(await runner.purge({ olderThan: "1h", force: true }), 1);
  assert.deepEqual(await ids(runner), ["resumed", "stopped", "updated"]);
  assert.equal(await runner.purge({ runId: "resumed", olderThan: "1h" }), 0);
  await lab.clock.advance("1h");
  assert.equal(await runner.purge({ olderThan: "1h" }), 2);
  assert.deepEqual(await ids(runner), ["updated"]);
});

test("a query that cannot be meant is refused, and nothing is removed (H4)", async () => {
  const lab = new Lab();
  const runner = lab.engine(various(lab));
  await begin(lab, runner, "ends");
  await begin(lab, runner, "waits");
  await begin(lab, lab.engine(various(lab, "other")), "ends", "foreign");
  for (
    const query of [
      { status: "running" },
      { status: "interrupted" },
      { reason: "awaiting" },
      { runId: "waits" },
      { runId: "no id" },
      { olderThan: "soon" },
      { olderThan: -1 },
      { olderThan: new Date(NaN) },
    ] as unknown as PurgeQuery[]
  ) await lab.fails(runner.purge(query), "ArgumentError");
  await lab.fails(runner.purge({ runId: "foreign", force: true }), "GraphMismatchError");
  assert.equal(await runner.purge({ runId: "unknown" }), 0);
  assert.deepEqual(await ids(runner), ["ends", "waits"]);
});

test("250 runs are purged page by page, beside runs that begin and end meanwhile (H4)", async () => {
  const lab = new Lab();
  const runner = lab.engine(various(lab));
  for (let i = 0; i < 250; i++) await begin(lab, runner, "ends", `run-${i}`);
  const [count] = await lab.drive(
    Promise.all([
      runner.purge({ tag: "none" }).then(() => runner.purge({})),
      begin(lab, runner, "waits", "stays"),
    ]),
  );
  assert.equal(count, 250);
  assert.deepEqual(await ids(runner), ["stays"]);
});

test("a run begun anew under a purged id is another run: no old state, history, wait or answer (STORE-6, H4)", async () => {
  const lab = new Lab();
  const runner = lab.engine(various(lab));
  await begin(lab, runner, "waits", "r");
  const old = openId(await runner.get("r"), "ok");
  await runner.answer("r", old, "old answer");
  assert.equal(await runner.purge({ runId: "r", force: true }), 1);
  const paused = await begin(lab, runner, "waits", "r").then(() => runner.get("r"));
  const now = interrupted(paused);
  const { waitId } = now.waits[0]!;
  assert.equal(
    (await lab.fails<AnswerError>(runner.answer("r", old, "old link"), "AnswerError")).reason,
    "not_open",
  );
  assert.equal((await runner.history("r")).rows[0]!.revision, 0);
  await runner.answer("r", waitId, "new answer");
  assert.equal((await lab.drive(runner.resume("r"))).state.out.a, "new answer");
  const twice = await lab.fails<AnswerError>(runner.answer("r", waitId, "late"), "AnswerError");
  assert.equal(twice.reason, "answered");
});

for (const op of ["tail", "purge"]) {
  test(`a run that was purged and begun anew before the ${op} of a purge that had found it is not removed (H4)`, async () => {
    const lab = new Lab();
    const graph = various(lab);
    const runner = lab.engine(graph);
    await begin(lab, runner, "ends", "r");
    let between = 0;
    const slow: Store = aroundStore(lab.store, async (call) => {
      if (call.op === op && between++ === 0) {
        await runner.purge({});
        await begin(lab, runner, "waits", "r");
      }
      return await call.apply();
    });
    await lab.drive(lab.engine(graph, { store: slow }).purge({}));
    assert.deepEqual([between, (await runner.status("r")).status], [1, "interrupted"]);
  });
}

test("a purge of a run that is not there any more still has the store finish what may be left of it (H4)", async () => {
  const lab = new Lab();
  const asked: unknown[] = [];
  const store = aroundStore(lab.store, (call) => {
    if (call.op === "purge") asked.push(call.args[0]);
    return call.apply();
  });
  assert.equal(await lab.engine(various(lab), { store }).purge({ runId: "left" }), 0);
  assert.deepEqual(asked, ["left"]);
});

test("a run that cannot be read keeps none of the others from being purged; with force it is removed unread (H4)", async () => {
  const lab = new Lab();
  const runner = lab.engine(various(lab));
  for (const runId of ["a", "b", "c"]) await begin(lab, runner, "ends", runId);
  await appendBytes(lab.store, "b", new Uint8Array([1, 2, 3]));
  assert.equal(await runner.purge({}), 2);
  assert.match(lab.warnings.join(), /run b was not purged/);
  await lab.fails(runner.purge({ runId: "b" }), "CheckpointDecodeError");
  assert.equal(await runner.purge({ runId: "b", force: true }), 1);
  assert.deepEqual(await ids(runner), []);
});

test("a store that fails in the middle rejects the call; purging again removes what is left (H4)", async () => {
  const lab = new Lab();
  const graph = various(lab);
  const runner = lab.engine(graph);
  for (const runId of ["a", "b", "c"]) await begin(lab, runner, "ends", runId);
  let calls = 0;
  const broken = aroundStore(lab.store, (call) => {
    if (call.op === "purge" && ++calls === 2) throw new StoreError("purge", "the disk is gone");
    return call.apply();
  });
  await lab.fails(lab.engine(graph, { store: broken }).purge({}), "StoreError");
  assert.equal((await ids(runner)).length, 2);
  assert.equal(await runner.purge({}), 2);
});
