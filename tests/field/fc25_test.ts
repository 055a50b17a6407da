// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunResult } from "../../mod.ts";
import { finish, Ok, revisionWith, stored, told } from "../operations/story.ts";
import { gate, INPUT, interrupted, Lab, openId, type State } from "../waits/lab.ts";

test("a fork of the failed step runs that vertex afresh and keeps the answer; its source is untouched, byte for byte (H2, FC-25)", async () => {
  const lab = new Lab();
  const { runner, failed } = await told(lab);
  const before = await stored(lab.store, "src");
  const { runId } = await runner.fork("src", failed.run.revision);
  const run = await runner.status(runId);
  assert.deepEqual([run.status, run.owner, run.revision, run.parent, run.step, run.tags], [
    "running",
    undefined,
    0,
    { runId: "src", revision: failed.run.revision },
    failed.run.step,
    ["t"],
  ]);
  assert.notEqual(runId, "src");
  const due = lab.clock.now();
  const { graphId, graphVersion } = run;
  const wakes = (await lab.store.wakes(due, 10)).map(({ due: _, ...row }) => row);
  assert.deepEqual(wakes, [{ runId, graphId, graphVersion }]);
  const [handle] = await lab.elsewhere(runner.graph).recover();
  const result = await lab.drive(handle!.result());
  assert.deepEqual([result.status, result.state.out.c, result.path], [
    "completed",
    "c after yes",
    ["a", "b", "c"],
  ]);
  assert.deepEqual(["a", "b", "c"].map((id) => lab.count(id)), [1, 2, 2]);
  assert.deepEqual(await stored(lab.store, "src"), before);
});

test("a fork of the pause asks again, under a new id; the answer of the source is no answer there (H2, FC-25)", async () => {
  const lab = new Lab();
  const { runner } = await told(lab);
  const paused = await revisionWith(runner, "src", "released");
  const before = await stored(lab.store, "src");
  const { runId } = await runner.fork("src", paused);
  const again = interrupted(await finish(lab, runner, runId));
  const [wait] = again.waits;
  assert.deepEqual([again.reason, wait!.openedAt, again.waits.length], ["awaiting", lab.clock.now(), 1]);
  const old = (await runner.history("src")).rows.flatMap((r) => r.events).find((e) => e.type === "opened");
  assert.ok(old?.type === "opened");
  assert.notEqual(wait!.waitId, old.id);
  await lab.fails(runner.answer(runId, old.id, "old"), "AnswerError");
  await runner.answer(runId, wait!.waitId, "other");
  const done = await finish(lab, runner, runId);
  assert.deepEqual([done.status, done.state.out], ["completed", { a: "a", b: "other", c: "c after other" }]);
  assert.equal(lab.count("a"), 1);
  assert.deepEqual(await stored(lab.store, "src"), before);
});

test("a fork from after the first vertex, with another state given whole or as an edit, goes on with that (H2, FC-25)", async () => {
  const lab = new Lab();
  const { runner } = await told(lab);
  const routed = await revisionWith(runner, "src", "routed");
  const whole = { out: { a: "whole" }, log: ["mine"] };
  const edits = [
    whole,
    (s: State) => void (s.out.a = "drafted"),
    (s: State) => ({ ...s, out: { a: "returned" } }),
  ];
  for (const [i, state] of edits.entries()) {
    const { runId } = await runner.fork("src", routed, { state, runId: `fork-${i}`, tags: ["x"] });
    assert.equal(runId, `fork-${i}`);
    const paused = interrupted(await finish(lab, runner, runId));
    assert.equal(paused.state.out.a, ["whole", "drafted", "returned"][i]);
    await runner.answer(runId, openId(paused, "ok"), "yes");
    const result = await finish(lab, runner, runId);
    assert.deepEqual([result.status, result.run.tags, lab.count("a")], ["completed", ["x"], 1]);
  }
  whole.out.a = "changed later";
  assert.equal((await runner.get("fork-0")).state.out.a, "whole");
});

test("a fork of a fork, of a completed run at every revision, and of a purged source all come to an end (H2, FC-25)", async () => {
  const lab = new Lab();
  const { runner } = await told(lab);
  await finish(lab, runner, "src");
  const { revision } = await runner.status("src");
  const forks: string[] = [];
  for (let at = 0; at <= revision; at++) forks.push((await runner.fork("src", at)).runId);
  for (const [at, of] of forks.entries()) {
    const second = await runner.fork(of, 0);
    assert.deepEqual((await runner.status(second.runId)).parent, { runId: of, revision: 0 });
    forks[at] = second.runId;
    await lab.store.purge(of);
  }
  await lab.store.purge("src");
  for (const [at, runId] of forks.entries()) {
    let result: RunResult<State> = await lab.drive(
      runner.resume(runId).catch(async (error) => {
        assert.equal(error.name, "ResumeTerminalError");
        return await runner.get(runId) as RunResult<State>;
      }),
    );
    if (result.status === "interrupted") {
      await runner.answer(runId, openId(result, "ok"), "yes");
      result = await finish(lab, runner, runId);
    }
    assert.equal(result.status, "completed", `of revision ${at}`);
    assert.deepEqual(result.state.out, { a: "a", b: "yes", c: "c after yes" }, `of revision ${at}`);
    assert.deepEqual(result.path, ["a", "b", "c"]);
  }
});

test("with a vertex renamed the fork is refused, and the message says which one is missing (H2, FC-25, H3)", async () => {
  const lab = new Lab();
  const { failed } = await told(lab);
  const renamed = lab.graph({
    a: { body: () => "a", to: "renamed" },
    renamed: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok), to: "c" },
    c: { body: () => 1 },
  });
  for (const revision of [0, failed.run.revision]) {
    const error = await lab.fails(lab.engine(renamed).fork("src", revision), "GraphVersionMismatchError");
    assert.match(error.message, /\bb\b/);
  }
  assert.equal((await lab.engine(renamed).list()).rows.length, 1);
});

test("forks of a run that is at work, at every revision that it has so far, do not touch it and come to an end (FC-25)", async () => {
  const lab = new Lab();
  const held = gate();
  const graph = lab.graph({
    a: { body: () => "a", to: ["b", "c"] },
    b: { body: () => "b" },
    c: { body: (ctx) => ctx.runId === "src" ? held.promise : "forked" },
  });
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT, { runId: "src" });
  await lab.clock.settle();
  const before = await stored(lab.store, "src");
  const { revision } = await runner.status("src");
  for (let at = 0; at <= revision; at++) {
    const { runId } = await lab.elsewhere(graph).fork("src", at);
    const result = await finish(lab, lab.elsewhere(graph), runId);
    assert.deepEqual(result.state.out, { a: "a", b: "b", c: "forked" });
  }
  assert.deepEqual(await stored(lab.store, "src"), before);
  held.open();
  assert.equal((await lab.drive(handle.result())).status, "completed");
});
