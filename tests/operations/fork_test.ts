// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, GraphBuilder } from "../../mod.ts";
import type { AnswerError, Runner } from "../../mod.ts";
import { gate, INPUT, interrupted, Lab, openId, recorder } from "../waits/lab.ts";
import { finish, Ok, revisionWith, story, told } from "./story.ts";

test("a fork of the end of a completed run is completed, with nothing to wake (H2)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: () => 1 } }));
  const { run } = await lab.drive(runner.run(INPUT));
  const { runId } = await runner.fork(run.runId, run.revision, { state: (s) => void s.log.push("edited") });
  const view = await runner.get(runId);
  assert.deepEqual([view.status, view.state.log, view.run.completedAt], [
    "completed",
    ["a", "edited"],
    lab.clock.now(),
  ]);
  assert.deepEqual(await lab.store.wakes(Number.MAX_SAFE_INTEGER, 10), []);
});

test("a fork of a running step keeps what was done and every once; the rest runs again, with another key (H2)", async () => {
  const lab = new Lab();
  const keys = new Set<string>();
  const held = gate();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b", "m"] },
    a: { body: () => "done" },
    b: {
      body: async (ctx) => {
        keys.add(ctx.idempotencyKey);
        const first = await ctx.once("o", () => lab.count("b"));
        if (lab.count("b") === 1) await held.promise;
        return first;
      },
    },
    m: {
      each: () => [0, 1],
      body: (_, item) => item === 0 ? "zero" : lab.count("m") === 2 ? held.promise : "one",
    },
  });
  const runner = lab.engine(graph);
  await runner.start(INPUT, { runId: "src" });
  await lab.clock.settle();
  const { revision } = await runner.status("src");
  const { runId } = await runner.fork("src", revision);
  const result = await finish(lab, lab.elsewhere(graph), runId);
  assert.deepEqual(result.state.out, { v: 0, a: "done", b: 1, m: ["zero", "one"] });
  assert.deepEqual(["a", "b", "m"].map((id) => lab.count(id)), [1, 2, 3]);
  assert.deepEqual([...keys].map((key) => key.includes("run=src")), [true, false]);
  assert.equal((await runner.status("src")).status, "running");
});

test("failed attempts up to the point count on in the fork, which does not wait out the backoff (H2)", async () => {
  const lab = new Lab();
  const attempts: number[] = [];
  const graph = lab.graph({
    a: {
      retry: { maxAttempts: 4, backoff: () => 3_600_000 },
      body: (ctx) => {
        attempts.push(ctx.attempt);
        return ctx.attempt < 3 ? Promise.reject(new Error("no")) : "third";
      },
    },
  });
  const runner = lab.engine(graph);
  await lab.drive(runner.run(INPUT, { runId: "src" }));
  const second = interrupted(
    await (async () => {
      await lab.clock.advance("1h");
      return await lab.drive(runner.resume("src"));
    })(),
  );
  const from = lab.clock.now();
  const { runId } = await runner.fork("src", second.run.revision);
  assert.equal((await finish(lab, runner, runId)).state.out.a, "third");
  assert.deepEqual([attempts, lab.clock.now()], [[1, 2, 3], from]);
});

test("results of waits up to the point keep their order; what was open opens anew with a new due time (H2, T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: async (ctx) => {
        const first = await Promise.race([
          ctx.waitFor(Ok).then(() => "answer"),
          ctx.sleep("s", "1h").then(() => "timer"),
        ]);
        const second = ctx.waitFor(Ok);
        await ctx.sleep("t", "2h");
        return [first, await second];
      },
    },
  });
  const runner = lab.engine(graph);
  await lab.drive(runner.run(INPUT, { runId: "src" }));
  await lab.clock.advance("1h");
  const after = interrupted(await lab.drive(runner.resume("src")));
  assert.deepEqual(after.waits.map((w) => [w.name, w.kind]), [["ok", "answer"], ["t", "timer"]]);
  await lab.clock.advance("1h");
  const { runId } = await runner.fork("src", after.run.revision);
  const forked = interrupted(await finish(lab, runner, runId));
  const timer = forked.waits.find((w) => w.name === "t")!;
  assert.equal(timer.due, lab.clock.now() + 2 * 3_600_000);
  await runner.answer(runId, openId(forked, "ok"), "late");
  await lab.drive(runner.resume(runId));
  await lab.clock.advance("2h");
  const done = await finish(lab, runner, runId);
  assert.deepEqual(done.state.out.a, ["timer", "late"]);
});

test("an opening that a later, answered one had closed stays closed in the fork (H2, T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: async (ctx) => {
        const first = ctx.waitFor(Ok);
        await ctx.once("look", () => {});
        const value = await Promise.race([first, ctx.waitFor(Ok)]);
        await ctx.sleep("t", "2h");
        return value;
      },
    },
  });
  const runner = lab.engine(graph);
  await runner.answer("src", openId(await lab.drive(runner.run(INPUT, { runId: "src" })), "ok"), "second");
  const { run } = interrupted(await lab.drive(runner.resume("src")));
  const { runId } = await runner.fork("src", run.revision);
  const forked = interrupted(await finish(lab, runner, runId));
  assert.deepEqual(forked.waits.map((w) => w.name), ["t"]);
  await lab.clock.advance("2h");
  assert.equal((await finish(lab, runner, runId)).state.out.a, "second");
});

test("an answer that the source has accepted is part of its newest revision, and of no earlier one (H2)", async () => {
  const lab = new Lab();
  const runner = lab.engine(story(lab));
  const paused = await lab.drive(runner.run(INPUT, { runId: "src" }));
  await runner.answer("src", openId(paused, "ok"), "posted");
  const newest = await runner.fork("src", paused.run.revision);
  const earlier = await runner.fork("src", await revisionWith(runner, "src", "routed"));
  assert.equal(interrupted(await finish(lab, runner, newest.runId)).state.out.b, "posted");
  assert.equal(interrupted(await finish(lab, runner, earlier.runId)).reason, "awaiting");
});

test("an answer that was accepted after a revision is not part of it, although its wait was open then (H2)", async () => {
  const lab = new Lab();
  const runner = lab.engine(story(lab));
  const paused = await lab.drive(runner.run(INPUT, { runId: "src" }));
  const { revision } = await runner.update("src", (s) => void s.log.push("edit")).then((view) => view.run);
  await runner.answer("src", openId(paused, "ok"), "posted");
  const before = await runner.fork("src", revision - 1);
  assert.equal(interrupted(await finish(lab, runner, before.runId)).reason, "awaiting");
  const newest = await runner.fork("src", revision);
  assert.equal(interrupted(await finish(lab, runner, newest.runId)).state.out.b, "posted");
});

test("a wait whose answer the code had refused has the later one in the fork (H2, I2)", async () => {
  const lab = new Lab();
  let refused = "";
  const Picky = defineWait("picky", z.string().refine((value) => value !== refused));
  const graph = lab.graph({ a: { waits: [Picky], body: (ctx) => ctx.waitFor(Picky) } });
  const runner = lab.engine(graph);
  await runner.answer("src", openId(await lab.drive(runner.run(INPUT, { runId: "src" })), "picky"), "first");
  refused = "first";
  const again = await lab.drive(runner.resume("src"));
  await runner.answer("src", openId(again, "picky"), "second");
  const { runId } = await runner.fork("src", again.run.revision);
  assert.equal((await finish(lab, runner, runId)).state.out.a, "second");
});

test("ids of the source's waits are foreign in a fork, also those of vertices that were done (H2, I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    v: { body: () => 1, to: ["a", "b"] },
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    b: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
  });
  const runner = lab.engine(graph);
  const paused = await lab.drive(runner.run(INPUT, { runId: "src" }));
  const ids = ["a", "b"].map((id) => openId(paused, "ok", id));
  await runner.answer("src", ids[0]!, "yes");
  const { run } = await lab.drive(runner.resume("src"));
  const { runId } = await runner.fork("src", run.revision);
  await finish(lab, runner, runId);
  for (const id of ids) {
    const error = await lab.fails<AnswerError>(runner.answer(runId, id, "no"), "AnswerError");
    assert.equal(error.reason, "foreign");
  }
});

test("a fork of a halted run lifts the halt, and routes by the state that it was given (H2, E8)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      body: () => 1,
      route: { targets: ["b"], pick: (s) => s.log.includes("go") ? "b" : (undefined as never) },
    },
    b: { body: () => 2 },
  });
  const runner = lab.engine(graph);
  const halted = interrupted(await lab.drive(runner.run(INPUT, { runId: "src" })));
  assert.equal(halted.reason, "halted");
  const same = await runner.fork("src", halted.run.revision);
  assert.equal(interrupted(await finish(lab, runner, same.runId)).reason, "halted");
  const { runId } = await runner.fork("src", halted.run.revision, { state: (s) => void s.log.push("go") });
  const done = await finish(lab, runner, runId);
  assert.deepEqual([done.status, done.state.out, lab.count("a")], ["completed", { a: 1, b: 2 }, 1]);
});

test("a fork of a cancelled run goes on where that was cancelled; it has no deadline (H2, O5)", async () => {
  const lab = new Lab();
  const runner = lab.engine(story(lab));
  await lab.drive(runner.run(INPUT, { runId: "src", deadline: "1h" }));
  await runner.cancel("src");
  const { revision, status } = await runner.status("src");
  assert.equal(status, "cancelled");
  const { runId } = await runner.fork("src", revision);
  await lab.clock.advance("2h");
  const again = interrupted(await finish(lab, runner, runId));
  assert.deepEqual([again.reason, again.run.deadline], ["awaiting", undefined]);
  assert.equal((await runner.get("src")).status, "cancelled");
});

test("the same fork under the same id is the same run; another one under it, or a start, conflicts (H2, E1)", async () => {
  const lab = new Lab();
  const { runner, failed } = await told(lab);
  const { revision } = failed.run;
  const others = [runner, lab.elsewhere(runner.graph)];
  const made = await Promise.all(
    others.flatMap((r) => [1, 2].map(() => r.fork("src", revision, { runId: "f" }))),
  );
  assert.deepEqual(new Set(made.map((m) => m.runId)), new Set(["f"]));
  await finish(lab, runner, "f");
  assert.deepEqual(await runner.fork("src", revision, { runId: "f" }), { runId: "f" });
  await lab.fails(runner.fork("src", revision - 1, { runId: "f" }), "RunExistsError");
  await lab.fails(runner.fork("src", revision, { runId: "f", state: INPUT }), "RunExistsError");
  await lab.fails(runner.fork("src", revision, { runId: "src" }), "RunExistsError");
  await lab.fails(runner.start(INPUT, { runId: "f" }), "RunExistsError");
  assert.equal((await runner.status("f")).status, "completed");
});

test("a fork is refused by type, and nothing is stored: unknown run or revision, no id, a state that the schema refuses (H2)", async () => {
  const lab = new Lab();
  const graph = new GraphBuilder({ id: "typed", schema: z.object({ n: z.number() }) })
    .addVertex({ id: "a", task: { execute: () => 1 }, select: (s) => s.n, reduce: (s) => void (s.n += 1) })
    .build({ entry: "a", finish: "a" });
  const runner = lab.engine(graph as never) as unknown as Runner<{ n: number }>;
  const { run } = await lab.drive(runner.run({ n: 1 }));
  const { runId } = run;
  await lab.fails(runner.fork("unknown", 0), "CheckpointNotFoundError");
  await lab.fails(runner.fork(runId, run.revision + 1), "CheckpointNotFoundError");
  for (const revision of [-1, 0.5, NaN]) await lab.fails(runner.fork(runId, revision), "ArgumentError");
  await lab.fails(runner.fork(runId, 0, { runId: "no id" }), "ArgumentError");
  await lab.fails(runner.fork(runId, 0, { tags: ["no tag"] }), "ArgumentError");
  await lab.fails(runner.fork(runId, 0, { state: { n: "one" } as never }), "ValidationError");
  await lab.fails(runner.fork(runId, 0, { state: (s) => void (s.n = "x" as never) }), "ValidationError");
  await lab.fails(runner.fork(runId, 0, { state: { n: 1, f: () => {} } as never }), "SerializationError");
  await lab.fails(runner.fork(runId, 0, { state: {} as never }), "ValidationError");
  await lab.fails(runner.fork(runId, 0, { state: (async () => {}) as never }), "ReducerError");
  assert.equal((await runner.list()).rows.length, 1);
  await lab.fails(lab.engine(lab.graph({ a: { body: () => 1 } })).fork(runId, 0), "GraphMismatchError");
});

test("another state may not change the items of a map of which an outcome is kept; of one without it may (H2, D5)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    v: { body: () => 1, reduce: () => {}, to: "m" },
    m: {
      each: (s) => s.log,
      waits: [Ok],
      body: async (ctx, item) => item === "quick" ? item : `${item} ${await ctx.waitFor(Ok)}`,
    },
  });
  const runner = lab.engine(graph);
  const begin = async (runId: string, ...log: readonly string[]) =>
    interrupted(await lab.drive(runner.run({ out: {}, log: [...log] }, { runId }))).run.revision;
  const mixed = await begin("mixed", "quick", "slow");
  const slow = await begin("slow", "slow", "slower");
  const refused = await lab.fails(
    runner.fork("mixed", mixed, { state: (s) => void s.log.push("more") }),
    "ArgumentError",
  );
  assert.match(refused.message, /\bm\b.*item 0/);
  const kept = await runner.fork("mixed", mixed, { state: (s) => void (s.out.x = 1) });
  assert.equal(interrupted(await finish(lab, runner, kept.runId)).waits.length, 1);
  const { runId } = await runner.fork("slow", slow, { state: (s) => void (s.log = ["only"]) });
  const paused = interrupted(await finish(lab, runner, runId));
  await runner.answer(runId, openId(paused, "ok"), "now");
  assert.deepEqual((await finish(lab, runner, runId)).state.out.m, ["only now"]);
});

test("the history of a fork begins with where it comes from, and its first claim tells its start (H1, H2)", async () => {
  const lab = new Lab();
  const { runner, failed } = await told(lab);
  const { hooks, events } = recorder();
  const observed = lab.engine(runner.graph, { hooks });
  const { runId } = await observed.fork("src", failed.run.revision);
  assert.equal(events.length, 0);
  await finish(lab, observed, runId);
  const { rows: [first] } = await runner.history(runId);
  const [event] = first!.events;
  assert.ok(event?.type === "forked");
  assert.deepEqual(event.parent, { runId: "src", revision: failed.run.revision });
  assert.deepEqual([first!.step, first!.frontier, first!.phase], [2, ["c"], "running"]);
  assert.equal(events.filter((e) => e.type === "runStart").length, 1);
});
