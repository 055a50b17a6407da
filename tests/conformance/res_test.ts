// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskContext } from "../../mod.ts";
import { gate, INPUT, interrupted, Lab, openId, revisionOf } from "../waits/lab.ts";

const ask = (ctx: TaskContext) => ctx.answer()?.value ?? ctx.interrupt();

/** Fails as often as told, then works. */
function failing(times: number): () => string {
  let left = times;
  return () => {
    if (left-- > 0) throw new Error("not yet");
    return "works";
  };
}

test("a resume runs the paused vertex again with the answer and none that was done, and appends (RES-01)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ first: { body: () => 1, to: "second" }, second: { body: ask } });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  const result = await lab.drive(lab.elsewhere(graph).resume(run.runId, { payload: "p" }));
  assert.equal(result.status, "completed");
  assert.deepEqual(result.state.out, { first: 1, second: "p" });
  assert.deepEqual([lab.count("first"), lab.count("second")], [1, 2]);
  assert.ok(result.run.revision > run.revision);
});

test("only the paused sibling runs again; the other's outcome is kept and the step is routed whole (RES-02)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: { body: ask, to: "c" },
    b: { body: () => "kept", to: "d" },
    c: { body: () => 0 },
    d: { body: () => 0 },
  });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  assert.deepEqual([lab.count("c"), lab.count("d")], [0, 0]);
  const result = await lab.drive(lab.elsewhere(graph).resume(run.runId, { payload: 1 }));
  assert.equal(result.status, "completed");
  assert.equal(result.state.out.b, "kept");
  assert.deepEqual(["a", "b", "c", "d"].map((id) => lab.count(id)), [2, 1, 1, 1]);
  assert.deepEqual(result.path, ["start", "a", "b", "c", "d"]);
});

test("one payload goes to every paused sibling when all are named, and is refused when they are not (RES-03)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: { body: ask },
    b: { body: ask },
  });
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  const refused = await lab.fails<Error & { reason: string }>(
    runner.resume(run.runId, { payload: "x" }),
    "AnswerError",
  );
  assert.equal(refused.reason, "ambiguous");
  assert.equal(await revisionOf(runner, run.runId), run.revision);
  const result = await lab.drive(runner.resume(run.runId, { payload: "shared", all: true }));
  assert.deepEqual(result.state.out, { start: 0, a: "shared", b: "shared" });
});

test("a vertex that failed runs again on a resume without a payload: attempt 1, new vertex run, same key (RES-04, RES-31)", async () => {
  const lab = new Lab();
  const seen: TaskContext[] = [];
  const work = failing(2);
  const graph = lab.graph({
    a: {
      retry: { maxAttempts: 2 },
      body: (ctx) => {
        seen.push(ctx);
        return work();
      },
    },
  });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  const result = await lab.drive(lab.elsewhere(graph).resume(run.runId));
  assert.deepEqual([result.status, result.state.out.a], ["completed", "works"]);
  assert.deepEqual(seen.map((c) => c.attempt), [1, 2, 1]);
  assert.equal(new Set(seen.map((c) => c.idempotencyKey)).size, 1);
  assert.equal(seen[0]!.vertexRunId, seen[1]!.vertexRunId);
  assert.notEqual(seen[1]!.vertexRunId, seen[2]!.vertexRunId);
});

test("a resumed vertex reads its own continuation, equal to the one it gave, and its sibling's stays its own (RES-05)", async () => {
  const lab = new Lab();
  const read: unknown[] = [];
  const body = (ctx: TaskContext) => {
    const continuation = ctx.continuation();
    if (ctx.answer() === undefined) return ctx.interrupt(0, { continuation: { of: ctx.vertexId, at: [1n] } });
    read.push(continuation?.value);
    return 0;
  };
  const graph = lab.graph({ start: { body: () => 0, to: ["a", "b"] }, a: { body }, b: { body } });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = paused.run;
  const answer = (id: string) => ({ answers: { [openId(paused, "interrupt", id)]: 1 } });
  await lab.drive(lab.elsewhere(graph).resume(runId, answer("b")));
  assert.deepEqual(read, [{ of: "b", at: [1n] }]);
  await lab.drive(lab.elsewhere(graph).resume(runId, answer("a")));
  assert.deepEqual(read, [{ of: "b", at: [1n] }, { of: "a", at: [1n] }]);
});

test("a vertex that pauses again on a resume is a fresh pause with another id; the next resume completes (RES-06)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: (ctx) => ctx.answer()?.value === "yes" ? 1 : ctx.interrupt() } });
  const runner = lab.engine(graph);
  const first = await lab.drive(runner.run(INPUT));
  const second = interrupted(await lab.drive(runner.resume(first.run.runId, { payload: "no" })));
  assert.equal(second.waits.length, 1);
  assert.notEqual(openId(second, "interrupt"), openId(first, "interrupt"));
  const third = await lab.drive(runner.resume(first.run.runId, { payload: "yes" }));
  assert.equal(third.status, "completed");
  assert.equal(lab.count("a"), 3);
});

test("a run left at a boundary goes on with its frontier, each vertex once (RES-08)", async () => {
  const lab = new Lab();
  const stop = new AbortController();
  const graph = lab.graph({
    a: { body: () => 1, to: "b" },
    b: {
      to: "c",
      body: (ctx) => {
        if (!stop.signal.aborted) {
          stop.abort();
          return new Promise((_, reject) => ctx.signal.addEventListener("abort", reject));
        }
        return 2;
      },
    },
    c: { body: () => 3 },
  });
  await lab.fails(lab.engine(graph).run(INPUT, { runId: "r", signal: stop.signal }), "RunAbortedError");
  const boundary = (await lab.engine(graph).history("r")).rows.at(-1)!;
  assert.deepEqual([boundary.phase, boundary.status, boundary.frontier], ["routed", "running", ["b"]]);
  const result = await lab.drive(lab.elsewhere(graph).resume("r"));
  assert.equal(result.status, "completed");
  assert.deepEqual(result.state.out, { a: 1, b: 2, c: 3 });
  assert.deepEqual([lab.count("a"), lab.count("b"), lab.count("c")], [1, 2, 1]);
});

test("a run of which only revision 0 exists begins with its entry as step 0 (RES-10)", async () => {
  const lab = new Lab();
  const stop = new AbortController();
  const steps: number[] = [];
  const graph = lab.graph({ a: { body: (ctx) => void steps.push(ctx.step) } });
  const handle = await lab.engine(graph).start(INPUT, { runId: "r", signal: stop.signal });
  stop.abort();
  await lab.fails(handle.result(), "RunAbortedError");
  assert.equal(lab.count("a"), 0);
  const result = await lab.drive(lab.elsewhere(graph).resume("r"));
  assert.deepEqual([result.status, steps], ["completed", [0]]);
});

test("a run left in the middle of a step runs what had no outcome; what had one is kept (RES-11)", async () => {
  const lab = new Lab();
  const stop = new AbortController();
  const stuck = gate();
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: { body: () => "kept", to: "end" },
    b: { body: (ctx) => stop.signal.aborted ? ctx.step : stuck.promise, to: "end" },
    end: { body: () => 0 },
  });
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT, { runId: "r", signal: stop.signal });
  await lab.clock.settle();
  assert.equal((await runner.history("r")).rows.at(-1)!.phase, "running");
  stop.abort();
  await lab.fails(handle.result(), "RunAbortedError");
  const result = await lab.drive(lab.elsewhere(graph).resume("r"));
  assert.deepEqual(result.state.out, { start: 0, a: "kept", b: 1, end: 0 });
  assert.deepEqual([lab.count("a"), lab.count("b"), lab.count("end")], [1, 2, 1]);
});

test("of a done and a failed sibling only the failed one runs again (RES-12)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: { body: () => 0 },
    b: { body: failing(1) },
  });
  const paused = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  assert.deepEqual(paused.failures.map((f) => f.vertexId), ["b"]);
  const result = await lab.drive(lab.elsewhere(graph).resume(paused.run.runId));
  assert.equal(result.status, "completed");
  assert.deepEqual([lab.count("a"), lab.count("b")], [1, 2]);
});

test("a vertex that failed under a route is over: its handler runs beside its siblings' successors (RES-13)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: {
      body: () => Promise.reject(new Error("broken")),
      onError: { route: "handler", record: (s, e) => void (s.out.error = e.message) },
      to: "end",
    },
    b: { body: ask, to: "end" },
    handler: { body: () => "handled", to: "end" },
    end: { body: () => 0 },
  });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  const result = await lab.drive(lab.elsewhere(graph).resume(run.runId, { payload: 1 }));
  assert.equal(result.status, "completed");
  assert.deepEqual([lab.count("a"), lab.count("handler")], [1, 1]);
  assert.equal(result.state.out.error, "broken");
  const step = (await lab.engine(graph).history(run.runId)).rows.find((h) =>
    h.routes.some((r) => r.kind === "error")
  )!;
  assert.deepEqual(step.routes.map((r) => [r.from, r.to, r.kind]), [["a", "handler", "error"], [
    "b",
    "end",
    "static",
  ]]);
  assert.deepEqual(step.frontier, ["end", "handler"]);
});

test("a vertex run again by a resume selects from the state that the step began with (RES-18)", async () => {
  const lab = new Lab();
  const inputs: unknown[] = [];
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: { body: () => 1 },
    b: {
      select: (s) => [...s.log],
      body: (ctx, input) => {
        inputs.push(input);
        return ask(ctx);
      },
    },
  });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  assert.deepEqual(paused.state.log, ["start", "a"]);
  await lab.drive(lab.elsewhere(graph).resume(paused.run.runId, { payload: 1 }));
  assert.deepEqual(inputs, [["start"], ["start"]]);
});

test("an answer reaches the vertex that asked; failed siblings and later vertices read none (RES-20, RES-22)", async () => {
  const lab = new Lab();
  const read: unknown[] = [];
  const reads = (ctx: TaskContext) => void read.push([ctx.vertexId, ctx.answer()]);
  const work = failing(1);
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: { body: ask, to: "end" },
    b: { body: (ctx) => (reads(ctx), work()), to: "end" },
    end: { body: reads },
  });
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  const result = await lab.drive(runner.resume(run.runId, { payload: "for a" }));
  assert.deepEqual([result.status, result.state.out.a], ["completed", "for a"]);
  assert.deepEqual(read, [["b", undefined], ["b", undefined], ["end", undefined]]);
});

test("a payload for a run without an open wait is refused; nothing is written and nothing runs (RES-22)", async () => {
  const lab = new Lab();
  let halts = true;
  const graph = lab.graph({
    a: {
      body: () => 0,
      route: {
        targets: ["end"],
        pick: () => {
          if (halts) throw new Error("no way");
          return "end";
        },
      },
    },
    end: { body: () => 0 },
  });
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  halts = false;
  await lab.fails(runner.resume(run.runId, { payload: 1 }), "AnswerError");
  assert.equal(await revisionOf(runner, run.runId), run.revision);
  assert.deepEqual([lab.count("a"), lab.count("end")], [1, 0]);
});

test("answer and continuation are there in every attempt of a resumed vertex (RES-21)", async () => {
  const lab = new Lab();
  const read: unknown[] = [];
  const graph = lab.graph({
    a: {
      retry: { maxAttempts: 3, backoff: { initial: "1s" } },
      body: (ctx) => {
        const answer = ctx.answer();
        if (answer === undefined) return ctx.interrupt(0, { continuation: "c" });
        read.push([ctx.attempt, answer.value, ctx.continuation()?.value]);
        if (ctx.attempt < 3) throw new Error("again");
        return 0;
      },
    },
  });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  const result = await lab.drive(lab.elsewhere(graph).resume(run.runId, { payload: "p" }));
  assert.equal(result.status, "completed");
  assert.deepEqual(read, [[1, "p", "c"], [2, "p", "c"], [3, "p", "c"]]);
});

test("a finish that was done before the pause still counts after it, in another process (RES-23)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["fin", "a"] },
    fin: { body: () => 0, finish: true },
    a: { body: () => 0, to: "b", finish: false },
    b: { body: ask, finish: false },
  });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const result = await lab.drive(lab.elsewhere(graph).resume(paused.run.runId, { payload: 1 }));
  assert.equal(result.status, "completed");
  assert.equal(lab.count("fin"), 1);
});
