// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { INPUT, interrupted, Lab, recorded, recorder, type Spec } from "../waits/lab.ts";

const Anything = defineWait("anything", z.unknown());

test("an interrupt ends the call as a result with one open wait and its info, and is no error (INT-01)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: (ctx) => ctx.interrupt("reason") } }));
  const result = interrupted(await lab.drive(runner.run(INPUT)));
  assert.equal(result.reason, "awaiting");
  assert.deepEqual(result.failures, []);
  const [wait, ...more] = result.waits;
  assert.equal(more.length, 0);
  assert.deepEqual(
    [wait?.vertexId, wait?.kind, wait?.info, wait?.runId],
    ["a", "interrupt", "reason", result.run.runId],
  );
  const last = (await runner.history(result.run.runId)).rows.at(-1)!;
  assert.deepEqual([last.phase, last.status, last.reason], ["paused", "interrupted", "awaiting"]);
  assert.equal((await recorded(runner, result.run.runId)).flat().filter((e) => e === "opened").length, 1);
});

test("a pause that arrives wrapped in another error is still a pause (INT-02)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({
    a: {
      retry: { maxAttempts: 3 },
      body: (ctx) => {
        try {
          ctx.interrupt();
        } catch (cause) {
          throw new TypeError("the helper failed", { cause });
        }
      },
    },
  }));
  const result = interrupted(await lab.drive(runner.run(INPUT)));
  assert.deepEqual([result.reason, result.waits.length, result.failures.length], ["awaiting", 1, 0]);
  assert.equal(lab.count("a"), 1);
});

test("the text of the signal of an interrupt tells nothing of the info or the continuation (INT-03)", async () => {
  const lab = new Lab();
  const texts: string[] = [];
  const note = (error: unknown) => texts.push(String(error), (error as Error).message, JSON.stringify(error));
  const runner = lab.engine(lab.graph({
    a: {
      waits: [Anything],
      body: (ctx) => {
        try {
          ctx.interrupt("s3cret", { continuation: "s3cret" });
        } catch (error) {
          note(error);
        }
      },
    },
  }));
  assert.equal(interrupted(await lab.drive(runner.run(INPUT))).waits.length, 1);
  assert.equal(texts.length, 3);
  assert.doesNotMatch(texts.join("\n"), /s3cret/);
});

test("info and continuation of a pause are stored as they were given (INT-04)", async () => {
  const lab = new Lab();
  const continuation = { cursor: "b7", note: new Map([["k", [1n, undefined]]]) };
  const info = { at: new Date(5), ids: new Set([1]) };
  const graph = lab.graph({ a: { body: (ctx) => ctx.interrupt(info, { continuation }) } });
  const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  const other = lab.elsewhere(graph);
  const opened = (await other.history(result.run.runId)).rows.flatMap((h) => h.events)
    .find((e) => e.type === "opened");
  assert.deepEqual(opened?.type === "opened" && [opened.info, opened.continuation], [info, continuation]);
  assert.deepEqual(result.waits[0]?.info, info);
});

for (const kind of ["continuation", "info"] as const) {
  const id = kind === "continuation" ? "INT-05" : "INT-06";
  test(`${kind} of a pause that cannot be stored fails the vertex without a retry and opens nothing (${id})`, async () => {
    const lab = new Lab();
    const bad = () => {};
    const runner = lab.engine(lab.graph({
      a: {
        retry: { maxAttempts: 5 },
        body: (ctx) => kind === "info" ? ctx.interrupt(bad) : ctx.interrupt("ok", { continuation: bad }),
      },
    }));
    const result = interrupted(await lab.drive(runner.run(INPUT)));
    assert.equal(result.reason, "errored");
    assert.equal(lab.count("a"), 1);
    assert.deepEqual(result.waits, []);
    const [failure] = result.failures;
    assert.equal(failure?.vertexId, "a");
    assert.deepEqual([failure?.failure.name, failure?.failure.phase], ["SerializationError", "serialize"]);
    assert.match(failure!.error.message, new RegExp(`the ${kind} of .*vertex a`));
    assert.ok(!(await recorded(runner, result.run.runId)).flat().includes("opened"));
  });
}

test("every pause of a step is in the result in ascending id, and told exactly once (INT-07, HKS-25)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const pause = (info: string): Spec => ({ to: "end", body: (ctx) => ctx.interrupt(info) });
  const runner = lab.engine(
    lab.graph({
      start: { body: () => 0, to: ["c", "a", "b"] },
      c: pause("C"),
      a: pause("A"),
      b: pause("B"),
      end: { body: () => 0 },
    }),
    { hooks },
  );
  const result = interrupted(await lab.drive(runner.run(INPUT)));
  assert.deepEqual(result.waits.map((w) => [w.vertexId, w.info]), [["a", "A"], ["b", "B"], ["c", "C"]]);
  assert.deepEqual(
    events.filter((e) => e.type === "wait").map((e) => e.type === "wait" && e.vertexId),
    ["a", "b", "c"],
  );
  const last = (await runner.history(result.run.runId)).rows.at(-1)!;
  assert.deepEqual([last.phase, last.frontier], ["paused", ["a", "b", "c"]]);
  assert.equal(lab.count("end"), 0);
});

test("a sibling runs to its end beside a pause, and its reduction is in the state of the result (INT-08, INT-16)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "slow"] },
    a: { body: (ctx) => ctx.answer() ?? ctx.interrupt() },
    slow: {
      body: async (ctx) => {
        await new Promise<void>((resolve) => lab.clock.wakeAt(lab.clock.now() + 60_000, resolve));
        return ctx.signal.aborted ? "aborted" : "whole";
      },
    },
  });
  const runner = lab.engine(graph);
  const result = interrupted(await lab.drive(runner.run(INPUT)));
  assert.deepEqual(result.state, { out: { start: 0, slow: "whole" }, log: ["start", "slow"] });
  assert.deepEqual(result.waits.map((w) => w.vertexId), ["a"]);
  const { runId } = result.run;
  assert.deepEqual((await lab.elsewhere(graph).get(runId)).state, result.state);
  const done = (await runner.history(runId)).rows.flatMap((h) => h.events)
    .filter((e) => e.type === "done" && e.vertexId === "slow");
  assert.equal(done.length, 1);
  assert.equal((await lab.drive(runner.resume(runId, { payload: 1 }))).status, "completed");
  assert.equal(lab.count("slow"), 1);
});

test("a pause and a failure in one step are both in one paused checkpoint (INT-09)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: { body: (ctx) => ctx.interrupt("why") },
    b: { body: () => Promise.reject(new RangeError("broken")) },
  });
  const runner = lab.engine(graph);
  const result = interrupted(await lab.drive(runner.run(INPUT)));
  assert.equal(result.reason, "errored");
  assert.deepEqual(result.waits.map((w) => w.vertexId), ["a"]);
  assert.deepEqual(result.failures.map((f) => [f.vertexId, f.failure.message]), [["b", "broken"]]);
  assert.ok(result.failures[0]?.error.cause instanceof RangeError);
  const paused = (await runner.history(result.run.runId)).rows.filter((h) => h.phase === "paused");
  assert.equal(paused.length, 1);
});

test("a paused run read by another process has its waits, its failures as recorded text, and no halt (INT-10)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: { body: (ctx) => ctx.interrupt({ ask: 1 }) },
    b: { body: () => Promise.reject(new RangeError("broken")) },
  });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  const view = interrupted(await lab.elsewhere(graph).get(run.runId));
  assert.deepEqual(view.waits.map((w) => [w.vertexId, w.kind, w.info]), [["a", "interrupt", { ask: 1 }]]);
  const [failure] = view.failures;
  const cause = failure?.error.cause as Error;
  assert.deepEqual([cause.name, cause.message], ["RangeError", "broken"]);
  assert.equal(Object.getPrototypeOf(cause), Error.prototype);
  assert.ok(!("halt" in view));
  assert.equal(lab.count("a") + lab.count("b"), 2);
});

test("an answer is read with its type; a wrong type is refused, and before there is one it reads as undefined (INT-11)", async () => {
  const lab = new Lab();
  const read: unknown[] = [];
  const runner = lab.engine(lab.graph({
    a: {
      body: (ctx) => {
        const answer = ctx.answer(z.number());
        read.push(answer);
        return answer === undefined ? ctx.interrupt() : answer.value;
      },
    },
  }));
  const { run } = await lab.drive(runner.run(INPUT));
  assert.deepEqual(read, [undefined]);
  const again = interrupted(await lab.drive(runner.resume(run.runId, { payload: "seven" })));
  assert.deepEqual([again.waits.length, lab.count("a")], [1, 3], "a refused answer opens the wait again");
  assert.deepEqual(read, [undefined, undefined]);
  const done = await lab.drive(runner.resume(run.runId, { payload: 7 }));
  assert.deepEqual([done.status, done.state.out.a], ["completed", 7]);
  assert.deepEqual(read.at(-1), { value: 7 });
});

test("a continuation is read back with its type, fails the vertex when it is another, and is undefined when there is none (INT-12)", async () => {
  const lab = new Lab();
  const read: unknown[] = [];
  const graph = (schema: z.ZodType) =>
    lab.graph({
      a: {
        body: (ctx) => {
          read.push(ctx.continuation(schema));
          return ctx.answer() === undefined ? ctx.interrupt(null, { continuation: { cursor: 3 } }) : "end";
        },
      },
    });
  const right = lab.engine(graph(z.object({ cursor: z.number() })));
  const { run } = await lab.drive(right.run(INPUT));
  const wrong = lab.engine(graph(z.object({ cursor: z.string() })));
  const refused = interrupted(await lab.drive(wrong.resume(run.runId, { payload: 0 })));
  assert.deepEqual([refused.reason, refused.failures[0]?.failure.name], ["errored", "ValidationError"]);
  const done = await lab.drive(right.resume(run.runId));
  assert.equal(done.status, "completed");
  assert.deepEqual(read, [undefined, { value: { cursor: 3 } }]);
});

test("the info null is an info, no info is none, live and read back (INT-14)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["none", "null"] },
    none: { body: (ctx) => ctx.interrupt() },
    null: { body: (ctx) => ctx.interrupt(null) },
  });
  const live = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  const stored = interrupted(await lab.elsewhere(graph).get(live.run.runId));
  for (const { waits } of [live, stored]) {
    assert.deepEqual(waits.map((w) => [w.vertexId, "info" in w, w.info]), [
      ["none", false, undefined],
      ["null", true, null],
    ]);
  }
});

test("a wait has an info and no failure, a failed vertex a failure and neither info nor continuation (INT-18)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: { body: (ctx) => ctx.interrupt("info", { continuation: "c" }) },
    b: { body: () => Promise.reject(new Error("broken")) },
  });
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  const events = (await runner.history(run.runId)).rows.flatMap((h) => h.events);
  const opened = events.filter((e) => e.type === "opened");
  const failed = events.filter((e) => e.type === "failed");
  assert.deepEqual(opened.map((e) => [e.vertexId, e.info, e.continuation, "failure" in e]), [
    ["a", "info", "c", false],
  ]);
  assert.deepEqual(failed.map((e) => [e.vertexId, e.failure.message, "info" in e, "continuation" in e]), [
    ["b", "broken", false, false],
  ]);
});
