// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { VertexTimeoutError } from "../../src/errors.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { defineWait } from "../../src/decorators/mod.ts";
import {
  completed,
  engine,
  gate,
  graphOf,
  interrupted,
  type Notes,
  notes,
  type VertexOf,
} from "../support/graphs.ts";

const single = (vertex: VertexOf<Notes>) => graphOf<Notes>({ vertices: { v: vertex } });
const never = () => new Promise(() => {});
const Answer = defineWait("answer", z.unknown());

test("an attempt ends at its timeout, not before, and its own signal alone is aborted with the timeout (O3)", async () => {
  const signals: AbortSignal[] = [];
  const e = engine(graphOf<Notes>({
    vertices: {
      start: { to: ["s", "v"] },
      v: {
        timeout: "5s",
        retry: { maxAttempts: 2 },
        run: (_input, ctx) => (signals.push(ctx.signal), never()),
      },
      s: {
        run: (_input, ctx) => (signals.push(ctx.signal), new Promise((done) => ctx.signal.onabort = done)),
      },
    },
  }));
  const running = e.runner.run(notes());
  running.catch(() => {});
  await e.clock.advance(4_999);
  assert.deepEqual([e.ran("v"), signals.some((s) => s.aborted)], [1, false]);
  await e.clock.advance(1);
  const [first, second] = [signals[1]!, signals[2]!];
  assert.equal(e.ran("v"), 2);
  assert.ok(first.reason instanceof VertexTimeoutError);
  assert.deepEqual([signals[0]!.aborted, first.aborted, second.aborted], [false, true, false]);
});

test("a body that ignores its timeout is abandoned at once; its late success is ignored and reported (O3)", async () => {
  const late = gate<string>();
  const e = engine(single({
    timeout: "1s",
    retry: { maxAttempts: 2 },
    run: (_input, ctx) => ctx.attempt === 1 ? late.promise : ctx.sleep("s", "2s").then(() => "second"),
    reduce: (s, out) => void (s.out = out),
  }));
  const running = e.runner.run(notes());
  await e.clock.advance("1s");
  assert.equal(e.ran(), 2);
  late.open("first");
  const result = completed(await e.clock.drive(running));
  assert.equal(result.state.out, "second");
  assert.deepEqual((await e.eventsOf(result.run.runId, "done")).map((d) => d.attempt), [2]);
  assert.match(e.warnings[0]!.message, /vertex v.*after its attempt.*ignored/);
  assert.equal(e.warnings[0]!.fields.vertexId, "v");
});

test("what an abandoned body still does is ignored: its once, waits, events and later calls (O3)", async () => {
  const late = gate();
  const after: string[] = [];
  const emitted: unknown[] = [];
  const e = engine(
    single({
      timeout: "1s",
      retry: { maxAttempts: 2 },
      waits: [Answer],
      run: async (_input, ctx) => {
        if (ctx.attempt === 2) return ctx.interrupt("second");
        const begun = ctx.once("slow", () => late.promise.then(() => "late result"));
        begun.then(() => after.push("once resolved"), () => after.push("once rejected"));
        await late.promise;
        ctx.emit("late", 1);
        for (
          const use of [
            () => ctx.waitFor(Answer),
            () => ctx.sleep("s", 1),
            () => ctx.once("x", () => 1),
            () => ctx.interrupt(),
          ]
        ) {
          try {
            void use();
            after.push("pending");
          } catch (error) {
            after.push((error as Error).name);
          }
        }
      },
    }),
    { hooks: { emit: (event) => void emitted.push(event.name) } },
  );
  const running = e.runner.run(notes());
  await e.clock.advance("1s");
  const { run, waits } = interrupted(await e.clock.drive(running), "awaiting");
  late.open();
  await e.clock.settle();
  assert.deepEqual(after, ["pending", "pending", "pending", "InterruptSignal"]);
  const calls = [
    "called ctx.emit",
    "called ctx.waitFor",
    "called ctx.sleep",
    "called ctx.once",
    "called ctx.interrupt",
  ];
  assert.deepEqual(
    e.warnings.map((w) => w.message.match(/vertex v (.*) after its attempt/)?.[1]),
    [...calls, "ended", 'ended once("slow")'],
  );
  assert.deepEqual([waits.map((w) => w.info), emitted], [["second"], []]);
  const types = (await e.events(run.runId)).map((event) => event.type);
  assert.deepEqual(types.filter((type) => type === "once" || type === "opened"), ["opened"]);
  assert.equal((await e.runner.waits()).rows.length, 1);
});

test("the total counts attempts and backoff from the first attempt, and ends the retries (O3)", async () => {
  const e = engine(single({
    timeout: { total: "10s" },
    retry: { maxAttempts: 100, backoff: { initial: "3s", factor: 1 } },
    run: (_input, ctx) => {
      throw new Error(`attempt ${ctx.attempt}`);
    },
  }));
  const { failures } = interrupted(await e.run(notes()), "errored");
  assert.deepEqual(e.bodies.map((b) => b.at - e.bodies[0]!.at), [0, 3_000, 6_000, 9_000]);
  const { failure, error } = failures[0]!;
  assert.deepEqual([failure.phase, failure.code, failure.attempt], ["timeout", "VERTEX_TIMEOUT", 4]);
  assert.equal((error.cause as VertexTimeoutError).scope, "total");
  assert.equal(((error.cause as Error).cause as Error).message, "attempt 4");
});

test("the total ends a running attempt, also one with time left of its own (O3)", async () => {
  const e = engine(single({
    timeout: { attempt: "4s", total: "10s" },
    retry: { maxAttempts: 100 },
    run: never,
  }));
  const { failures } = interrupted(await e.run(notes()), "errored");
  assert.deepEqual(e.bodies.map((b) => b.at - e.bodies[0]!.at), [0, 4_000, 8_000]);
  assert.equal(e.clock.now() - e.bodies[0]!.at, 10_000);
  assert.equal((failures[0]!.error.cause as VertexTimeoutError).scope, "total");
});

test("the total excludes waits and time without an owner, in process and over restarts (O3)", async () => {
  const work = (ctx: TaskContext, ms: number) =>
    new Promise<void>((done) => e.clock.wakeAt(e.clock.now() + ms, done)).then(() => ctx.attempt);
  const e = engine(single({
    timeout: { total: "10s" },
    run: async (_input, ctx) => {
      await work(ctx, 4_000);
      if (ctx.answer() === undefined) return ctx.interrupt();
      await work(ctx, 1_000);
      return "done";
    },
    reduce: (s, out) => void (s.out = out),
  }));
  const { run } = interrupted(await e.run(notes()), "awaiting");
  await e.clock.advance("30d");
  assert.equal(completed(await e.restart().resume(run.runId, { payload: 1 })).state.out, "done");
});

test("the total that earlier runs of the body used up is not given again after an answer (O3)", async () => {
  const e = engine(single({
    timeout: { total: "10s" },
    run: async (_input, ctx) => {
      await new Promise<void>((done) => e.clock.wakeAt(e.clock.now() + 6_000, done));
      return ctx.answer() ?? ctx.interrupt();
    },
  }));
  const { run } = interrupted(await e.run(notes()), "awaiting");
  const began = e.clock.now();
  const { failures } = interrupted(await e.restart().resume(run.runId, { payload: 1 }), "errored");
  assert.equal((failures[0]!.error.cause as VertexTimeoutError).scope, "total");
  assert.equal(e.clock.now() - began, 4_000);
});

test("the total excludes queueing (O3)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: {
      start: { to: ["a", "b"] },
      a: { run: () => new Promise<void>((done) => e.clock.wakeAt(e.clock.now() + 60_000, done)) },
      b: {
        timeout: { total: "10s" },
        run: () => new Promise<void>((done) => e.clock.wakeAt(e.clock.now() + 9_000, done)),
      },
    },
  }));
  completed(await e.run(notes(), { concurrency: 1 }));
});

test("the total is counted afresh after a failed vertex is resumed (O3)", async () => {
  const e = engine(single({
    timeout: { total: "10s" },
    retry: { maxAttempts: 100, backoff: { initial: "4s", factor: 1 } },
    run: () => Promise.reject(new Error("no")),
  }));
  const { run } = interrupted(await e.run(notes()), "errored");
  assert.equal(e.ran(), 3);
  interrupted(await e.restart().resume(run.runId), "errored");
  assert.equal(e.ran(), 6);
});

test("the total is per item (O3)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: {
      m: {
        each: () => [6_000, 7_000, 8_000],
        timeout: { total: "10s" },
        run: (ms) => new Promise((done) => e.clock.wakeAt(e.clock.now() + (ms as number), () => done(ms))),
        reduce: (s, out) => void (s.out = out),
      },
    },
  }));
  assert.deepEqual(completed(await e.run(notes(), { concurrency: 1 })).state.out, [6_000, 7_000, 8_000]);
});

test("the total survives a crash: backoff that was recorded is counted (O3)", async () => {
  const e = engine(single({
    timeout: { total: "10s" },
    retry: { maxAttempts: 100, backoff: { initial: "4s", factor: 1 } },
    run: () => Promise.reject(new Error("no")),
  }));
  const { runId } = await e.runner.start(notes());
  await e.clock.advance("5s");
  assert.equal(e.ran(), 2);
  e.kill();
  const { failures } = interrupted(await e.restart().resume(runId, { takeover: true }), "errored");
  assert.deepEqual([e.ran(), failures[0]!.failure.phase], [3, "timeout"]);
});

test("a wait is not ended by the timeout of the attempt that opened it (O3)", async () => {
  const e = engine(single({ timeout: "1s", waits: [Answer], run: (_input, ctx) => ctx.waitFor(Answer) }));
  const { run, waits } = interrupted(await e.run(notes()), "awaiting");
  await e.clock.advance("1d");
  completed(await e.restart().resume(run.runId, { answers: { [waits[0]!.waitId]: 1 } }));
});
