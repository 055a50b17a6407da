// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Duration } from "../../mod.ts";
import { FatalError, RetryLater, VertexTimeoutError } from "../../src/errors.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { RetryPolicy } from "../../src/model/definition.ts";
import {
  completed,
  type Engine,
  engine,
  gate,
  graphOf,
  interrupted,
  type Notes,
  notes,
  type VertexOf,
} from "../support/graphs.ts";

const boom = new Error("boom");
const single = (vertex: VertexOf<Notes>) => graphOf<Notes>({ vertices: { v: vertex } });
const failingUntil = (attempt: number) => (_input: unknown, ctx: TaskContext) => {
  if (ctx.attempt < attempt) throw boom;
  return ctx.attempt;
};

/** When each attempt ran, in milliseconds after the first. */
const pauses = (e: Engine<Notes>) => e.bodies.map((b) => b.at - e.bodies[0]!.at);

const BACKOFFS:
  readonly (readonly [what: string, backoff: NonNullable<RetryPolicy["backoff"]>, at: readonly number[]])[] =
    [
      ["a fixed span", { initial: "1s", factor: 1 }, [0, 1_000, 2_000, 3_000, 4_000]],
      ["a doubling span", { initial: "1s" }, [0, 1_000, 3_000, 7_000, 15_000]],
      ["a growing span with a ceiling", { initial: 100, factor: 3, max: 500 }, [0, 100, 400, 900, 1_400]],
      ["a function of the attempt", (attempt) => attempt * 10, [0, 10, 30, 60, 100]],
      ["a function that answers with texts", (attempt) => `${attempt}s`, [0, 1_000, 3_000, 6_000, 10_000]],
    ];

for (const [what, backoff, at] of BACKOFFS) {
  test(`attempts are as far apart as ${what} says (O3)`, async () => {
    const e = engine(single({ retry: { maxAttempts: 5, backoff }, run: failingUntil(5) }));
    completed(await e.run(notes()));
    assert.deepEqual(pauses(e), at);
  });
}

test("jitter draws each pause from the upper half of its span (O3)", async () => {
  const e = engine(
    single({
      retry: { maxAttempts: 200, backoff: { initial: 1_000, factor: 1, jitter: true } },
      run: failingUntil(200),
    }),
  );
  completed(await e.run(notes()));
  const gaps = pauses(e).slice(1).map((at, i) => at - pauses(e)[i]!);
  assert.ok(gaps.every((gap) => gap >= 500 && gap <= 1_000));
  assert.ok(Math.min(...gaps) < 600 && Math.max(...gaps) > 900);
});

test("a backoff function sees the attempt that failed and its error (O3)", async () => {
  const seen: unknown[] = [];
  const e = engine(single({
    retry: { maxAttempts: 3, backoff: (attempt, error) => (seen.push(attempt, error), 0) },
    run: failingUntil(3),
  }));
  completed(await e.run(notes()));
  assert.deepEqual(seen, [1, boom, 2, boom]);
});

for (const backoff of ["10s", "1h"] as const) {
  test(`a failed attempt and its ${backoff} of backoff survive a crash: what is left of both is used (O3)`, async () => {
    const graph = single({
      retry: { maxAttempts: 3, backoff: { initial: backoff, factor: 1 } },
      run: failingUntil(Infinity),
    });
    const ms = backoff === "10s" ? 10_000 : 3_600_000;
    const e = engine(graph, { inlineTimers: "2h" });
    const { runId } = await e.runner.start(notes());
    await e.clock.settle();
    assert.equal(e.ran(), 1);
    assert.deepEqual((await e.eventsOf(runId, "attempt_failed")).map((f) => f.nextAt), [e.clock.now() + ms]);
    e.kill();
    await e.clock.advance(ms * 0.7);
    const other = e.restart();
    const running = other.runner.resume(runId, { takeover: true });
    running.catch(() => {});
    await e.clock.advance(ms * 0.3 - 1);
    assert.equal(e.ran(), 1);
    await e.clock.advance(1);
    assert.equal(e.ran(), 2);
    other.kill();
    const third = e.restart();
    interrupted(await third.resume(runId, { takeover: true }), "errored");
    assert.deepEqual(e.bodies.map((b) => b.attempt), [1, 2, 3]);
    assert.deepEqual(pauses(e), [0, ms, 2 * ms]);
  });
}

test("a crash in the middle of an attempt does not use it up (O3)", async () => {
  const held = gate();
  let runs = 0;
  const e = engine(single({
    retry: { maxAttempts: 2 },
    run: (input, ctx) => ++runs === 1 ? held.promise : failingUntil(3)(input, ctx),
  }));
  const { runId } = await e.runner.start(notes());
  await e.clock.settle();
  e.kill();
  const { failures } = interrupted(await e.restart().resume(runId, { takeover: true }), "errored");
  assert.deepEqual(e.bodies.map((b) => b.attempt), [1, 1, 2]);
  assert.equal(failures[0]!.error.attempt, 2);
});

test("a backoff beyond the inline limit releases the run with a wake; whoever recovers it then goes on (O3, E13)", async () => {
  const e = engine(single({ retry: { maxAttempts: 2, backoff: { initial: "2h" } }, run: failingUntil(2) }));
  const { run } = interrupted(await e.run(notes()), "sleeping");
  const due = e.clock.now() + 7_200_000;
  assert.deepEqual(await e.store.wakes(due, 10), [
    { runId: run.runId, graphId: "g", graphVersion: e.graph.version, due },
  ]);
  await e.clock.advance("2h");
  const [handle] = await e.restart().runner.recover();
  completed(await e.clock.drive(handle!.result()));
  assert.deepEqual(pauses(e), [0, 7_200_000]);
});

test("a resume before the backoff is over retries nothing (O3)", async () => {
  const e = engine(single({ retry: { maxAttempts: 2, backoff: { initial: "2h" } }, run: failingUntil(2) }));
  const { run } = interrupted(await e.run(notes()), "sleeping");
  const same = interrupted(await e.restart().resume(run.runId), "sleeping");
  assert.deepEqual([e.ran(), same.run.revision], [1, run.revision]);
});

test("fresh attempts after a resume, all of them, with backoff from the start (O3)", async () => {
  const e = engine(
    single({ retry: { maxAttempts: 3, backoff: { initial: "1s" } }, run: failingUntil(Infinity) }),
  );
  const { run } = interrupted(await e.run(notes()), "errored");
  interrupted(await e.restart().resume(run.runId), "errored");
  assert.deepEqual(e.bodies.map((b) => b.attempt), [1, 2, 3, 1, 2, 3]);
  assert.deepEqual(pauses(e), [0, 1_000, 3_000, 3_000, 4_000, 6_000]);
});

test("a FatalError is never retried and keeps its data (T7)", async () => {
  const e = engine(single({
    retry: { maxAttempts: 5, retryIf: () => true },
    run: () => {
      throw new FatalError("no way", { data: { why: 1 } });
    },
  }));
  const { failures } = interrupted(await e.run(notes()), "errored");
  assert.deepEqual([e.ran(), failures[0]!.failure.code, failures[0]!.failure.data], [1, "FATAL", { why: 1 }]);
});

test("a RetryLater sets the time of the next attempt, whatever the backoff, within the attempts there are (T7)", async () => {
  const delays: Duration[] = ["5s", 250, "1m"];
  const e = engine(
    single({
      retry: { maxAttempts: 4, backoff: { initial: "1h" } },
      run: (_input, ctx) => {
        if (ctx.attempt <= 3) throw new RetryLater(delays[ctx.attempt - 1]!);
      },
    }),
    { inlineTimers: "1d" },
  );
  completed(await e.run(notes()));
  assert.deepEqual(pauses(e), [0, 5_000, 5_250, 65_250]);
  const alone = engine(single({
    run: () => {
      throw new RetryLater("1s");
    },
  }));
  interrupted(await alone.run(notes()), "errored");
  assert.equal(alone.ran(), 1);
});

test("a RetryLater into the past is due now and gives no time back to the total (T7, O3)", async () => {
  const e = engine(single({
    retry: { maxAttempts: 9 },
    timeout: { total: "10s" },
    run: async () => {
      await e.clock.sleep("4s");
      throw new RetryLater(-3_000);
    },
  }));
  const { failures } = interrupted(await e.run(notes()), "errored");
  assert.deepEqual([e.ran("v"), failures[0]!.failure.phase], [3, "timeout"]);
  assert.deepEqual(pauses(e), [0, 4_000, 8_000]);
});

test("a RetryLater whose delay is no duration is the vertex's fault (T7)", async () => {
  for (const delay of [NaN, Infinity, "soon" as Duration]) {
    const e = engine(single({
      retry: { maxAttempts: 3 },
      run: () => {
        throw new RetryLater(delay);
      },
    }));
    const { failures } = interrupted(await e.run(notes()), "errored");
    assert.deepEqual([e.ran(), failures[0]!.failure.phase], [1, "retry"]);
  }
});

test("a retry that fails beside a running sibling goes on at its time without waiting for it (O3)", async () => {
  const held = gate();
  const e = engine(graphOf<Notes>({
    vertices: {
      start: { to: ["r", "s"] },
      r: { retry: { maxAttempts: 3, backoff: { initial: "1s" } }, run: failingUntil(3) },
      s: { run: () => held.promise },
    },
  }));
  const running = e.runner.run(notes());
  await e.clock.advance("3s");
  assert.deepEqual(e.bodies.filter((b) => b.vertexId === "r").map((b) => b.attempt), [1, 2, 3]);
  held.open();
  completed(await e.clock.drive(running));
});

test("a backoff takes no place under a concurrency limit of one (O3)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: {
      start: { to: ["a", "b"] },
      a: { retry: { maxAttempts: 2, backoff: { initial: "10s" } }, run: failingUntil(2) },
      b: {},
    },
  }));
  completed(await e.run(notes(), { concurrency: 1 }));
  assert.deepEqual(e.bodies.map((b) => [b.vertexId, b.at - e.bodies[0]!.at]), [["start", 0], ["a", 0], [
    "b",
    0,
  ], ["a", 10_000]]);
});

test("a timeout error is retryable, and the last one is the cause (O3)", async () => {
  const e = engine(single({
    timeout: "1s",
    retry: { maxAttempts: 3 },
    run: (_input, ctx) => ctx.attempt < 3 ? new Promise(() => {}) : "made it",
    reduce: (s, out) => void (s.out = out),
  }));
  assert.equal(completed(await e.run(notes())).state.out, "made it");
  assert.deepEqual(pauses(e), [0, 1_000, 2_000]);
  const failed = await e.eventsOf((await e.runner.list()).rows[0]!.runId, "attempt_failed");
  assert.deepEqual(
    failed.map((f) => [f.failure.phase, f.failure.name]),
    Array(2).fill(["timeout", VertexTimeoutError.errorName]),
  );
});
