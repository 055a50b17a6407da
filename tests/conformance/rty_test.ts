// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunEvent } from "../../src/engine/events.ts";
import { BuildError, VertexError, VertexTimeoutError } from "../../src/errors.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { RetryPolicy } from "../../src/model/definition.ts";
import {
  completed,
  engine,
  graphOf,
  interrupted,
  type Notes,
  notes,
  type VertexOf,
} from "../support/graphs.ts";

const boom = new Error("boom");

/** A graph of one vertex. */
const single = (vertex: VertexOf<Notes>) => graphOf<Notes>({ vertices: { v: vertex } });

/** A body that throws in its first attempts. */
const failingUntil = (attempt: number, ...thrown: unknown[]) => (_input: unknown, ctx: TaskContext) => {
  if (ctx.attempt < attempt) throw thrown.length === 0 ? boom : thrown[0];
  return ctx.attempt;
};

const always = failingUntil(Infinity);

/** Runs one vertex that fails, and returns its failure with the engine. */
async function failureOf(vertex: VertexOf<Notes>) {
  const e = engine(single(vertex));
  const result = interrupted(await e.run(notes()), "errored");
  assert.equal(result.failures.length, 1);
  const { error, failure } = result.failures[0]!;
  return { e, error, failure, result };
}

test("a vertex that fails twice of five attempts ends with its third (RTY-02)", async () => {
  const e = engine(
    single({ retry: { maxAttempts: 5 }, run: failingUntil(3), reduce: (s, out) => void (s.out = out) }),
  );
  const result = completed(await e.run(notes()));
  assert.deepEqual([e.bodies.map((b) => b.attempt), result.state.out], [[1, 2, 3], 3]);
  const [done] = await e.eventsOf(result.run.runId, "done");
  assert.equal(done!.attempt, 3);
  assert.deepEqual((await e.eventsOf(result.run.runId, "attempt_failed")).map((f) => f.failure.attempt), [
    1,
    2,
  ]);
});

test("a vertex that always fails uses all its attempts, and its error has the last cause (RTY-04)", async () => {
  const causes = [new Error("first"), new Error("second"), new Error("third")];
  let id = "";
  const { e, error } = await failureOf({
    retry: { maxAttempts: 3 },
    run: (_input, ctx) => {
      id = ctx.vertexRunId;
      throw causes[ctx.attempt - 1];
    },
  });
  assert.equal(e.ran(), 3);
  assert.ok(error instanceof VertexError);
  assert.deepEqual([error.vertexId, error.vertexRunId, error.step, error.attempt, error.phase], [
    "v",
    id,
    0,
    3,
    "execute",
  ]);
  assert.equal(error.cause, causes[2]);
});

test("without a policy a vertex has one attempt (RTY-05)", async () => {
  const { e, error } = await failureOf({ run: always });
  assert.deepEqual([e.ran(), error.attempt], [1, 1]);
});

test("one attempt is one call, and a number of attempts that is none is refused when the graph is built (RTY-06)", async () => {
  const { e } = await failureOf({ retry: { maxAttempts: 1 }, run: always });
  assert.equal(e.ran(), 1);
  for (const maxAttempts of [0, -1, 1.5, NaN, Infinity]) {
    assert.throws(() => single({ retry: { maxAttempts } }), BuildError, String(maxAttempts));
  }
});

test("a pause is not a failure: it is never retried and uses no attempt (RTY-07)", async () => {
  let asked = 0;
  const e = engine(single({
    retry: { maxAttempts: 5, retryIf: () => (asked++, true) },
    run: (_input, ctx) => ctx.answer() === undefined ? ctx.interrupt() : ctx.attempt,
    reduce: (s, out) => void (s.out = out),
  }));
  const paused = interrupted(await e.run(notes()), "awaiting");
  assert.deepEqual([e.ran(), asked, paused.failures], [1, 0, []]);
  assert.equal((await e.eventsOf(paused.run.runId, "attempt_failed")).length, 0);
  const result = completed(await e.resume(paused.run.runId, { payload: true }));
  assert.deepEqual([e.ran(), result.state.out], [2, 1]);
});

const THROWN: readonly (readonly [string, unknown])[] = [
  ["an error", boom],
  ["a text", "text"],
  ["undefined", undefined],
  ["null", null],
  ["an object", { a: 1 }],
  ["an object that cannot be shown", Object.create(null)],
  ["a rejected promise", Promise.reject(boom)],
];
(THROWN.at(-1)![1] as Promise<unknown>).catch(() => {});

for (const [what, thrown] of THROWN) {
  test(`${what} thrown is an ordinary failure, retried and then reported (RTY-08, RTY-09)`, async () => {
    const once = engine(single({ retry: { maxAttempts: 2 }, run: failingUntil(2, thrown) }));
    completed(await once.run(notes()));
    assert.equal(once.ran(), 2);
    const { e, error, failure } = await failureOf({
      retry: { maxAttempts: 2 },
      run: failingUntil(3, thrown),
    });
    assert.equal(e.ran(), 2);
    assert.equal(error.cause, thrown);
    assert.deepEqual([typeof failure.message, failure.attempt, failure.phase], ["string", 2, "execute"]);
  });
}

test("an error that retryIf refuses is not retried, and retryIf sees the very error (RTY-10)", async () => {
  const seen: unknown[] = [];
  const { e, error } = await failureOf({
    retry: { maxAttempts: 5, retryIf: (cause) => (seen.push(cause), false) },
    run: always,
  });
  assert.deepEqual([e.ran(), seen.length], [1, 1]);
  assert.equal(seen[0], boom);
  assert.equal(error.cause, boom);
});

const broken = (): never => {
  throw new Error("broken policy");
};
const BROKEN: Readonly<Record<string, RetryPolicy>> = {
  "a retryIf (RTY-11)": { maxAttempts: 5, retryIf: broken },
  "a backoff (RTY-12)": { maxAttempts: 5, backoff: broken },
};

for (const [what, retry] of Object.entries(BROKEN)) {
  test(`${what} that throws ends the attempts, and its error is the vertex's`, async () => {
    const { e, error, failure } = await failureOf({ retry, run: always });
    assert.deepEqual([e.ran(), failure.phase, failure.message], [1, "retry", "broken policy"]);
    assert.equal((error.cause as Error).message, "broken policy");
  });
}

test("on the last attempt neither retryIf nor the backoff is asked (RTY-13)", async () => {
  const asked: string[] = [];
  const { e } = await failureOf({
    retry: {
      maxAttempts: 3,
      retryIf: () => (asked.push("retryIf"), true),
      backoff: (attempt) => (asked.push(`backoff ${attempt}`), 0),
    },
    run: always,
  });
  assert.equal(e.ran(), 3);
  assert.deepEqual(asked, ["retryIf", "backoff 1", "retryIf", "backoff 2"]);
});

const AT_ONCE: Readonly<Record<string, RetryPolicy>> = {
  "a backoff of zero (RTY-15)": { maxAttempts: 3, backoff: { initial: 0 } },
  "a backoff function of zero (RTY-15)": { maxAttempts: 3, backoff: () => 0 },
  "a negative backoff (RTY-15)": { maxAttempts: 3, backoff: () => -5_000 },
  "no backoff (RTY-16)": { maxAttempts: 3 },
};

for (const [what, retry] of Object.entries(AT_ONCE)) {
  test(`${what} waits for nothing and uses all attempts`, async () => {
    const { e } = await failureOf({ retry, run: always });
    assert.equal(e.ran(), 3);
    assert.equal(new Set(e.bodies.map((b) => b.at)).size, 1);
  });
}

test("without retryIf every error is retried (RTY-16)", async () => {
  for (const thrown of [new TypeError("type"), new DOMException("gone", "AbortError"), "text"]) {
    const e = engine(single({ retry: { maxAttempts: 2 }, run: failingUntil(2, thrown) }));
    completed(await e.run(notes()));
  }
});

test("a body that obeys the signal of its timeout fails with the timeout, attempt by attempt (RTY-18)", async () => {
  const reasons: unknown[] = [];
  const { e, error, failure } = await failureOf({
    timeout: "5ms",
    retry: { maxAttempts: 2 },
    run: (_input, ctx) =>
      new Promise((_resolve, reject) => {
        ctx.signal.addEventListener("abort", () => {
          reasons.push(ctx.signal.reason);
          reject(ctx.signal.reason);
        });
      }),
  });
  assert.deepEqual(e.bodies.map((b) => b.attempt), [1, 2]);
  assert.equal(e.bodies[1]!.at - e.bodies[0]!.at, 5);
  assert.ok(error.cause instanceof VertexTimeoutError);
  assert.deepEqual([failure.phase, failure.attempt, failure.code], ["timeout", 2, "VERTEX_TIMEOUT"]);
  assert.deepEqual(reasons.map((r) => r instanceof VertexTimeoutError), [true, true]);
});

test("a timeout error that a body throws by itself is retried like any other (RTY-20)", async () => {
  for (
    const thrown of [new DOMException("too late", "TimeoutError"), new VertexTimeoutError("v", "attempt", 1)]
  ) {
    const e = engine(single({ timeout: "1h", retry: { maxAttempts: 3 }, run: failingUntil(3, thrown) }));
    completed(await e.run(notes()));
    assert.equal(e.ran(), 3);
  }
});

const recordings: Readonly<Record<string, (s: Notes) => void | Notes>> = {
  throws: (s) => {
    s.spoilt = true;
    throw boom;
  },
  "commits what cannot be stored": (s) => void (s.spoilt = () => {}),
  "returns a promise": () => Promise.reject(boom) as never,
};

for (const [what, record] of Object.entries(recordings)) {
  test(`a record that ${what} pauses its vertex: no route, no handler, the state as it was (RTY-22)`, async () => {
    const e = engine(graphOf<Notes>({
      vertices: {
        start: { to: ["v", "w"] },
        v: {
          run: () => Promise.reject(new Error("task")),
          onError: [{ route: "handler", record }, { route: "other" }],
          to: "fin",
        },
        w: {},
        handler: {},
        other: {},
        fin: {},
      },
    }));
    const result = interrupted(await e.run(notes()), "errored");
    assert.deepEqual(result.failures.map((f) => f.vertexId), ["v"]);
    assert.ok(["record", "serialize"].includes(result.failures[0]!.failure.phase));
    assert.deepEqual(result.state, notes({ log: ["start", "w"] }));
    assert.deepEqual([e.ran("handler"), e.ran("other"), e.ran("v")], [0, 0, 1]);
    assert.equal((await e.eventsOf(result.run.runId, "routed")).length, 1);
    assert.equal((await e.restart().runner.get(result.run.runId)).status, "interrupted");
  });
}

test("retries used up without a route pause the run with the error, recorded, and told of once (RTY-24)", async () => {
  const finishes: Extract<RunEvent, { type: "runFinish" }>[] = [];
  const e = engine(single({ retry: { maxAttempts: 3 }, run: always }), {
    hooks: { runFinish: (event) => void finishes.push(event) },
  });
  const result = interrupted(await e.run(notes()), "errored");
  assert.deepEqual([result.halt, result.waits, result.failures.length], [undefined, [], 1]);
  assert.deepEqual([result.failures[0]!.error.attempt, result.failures[0]!.error.cause], [3, boom]);
  const last = (await e.runner.history(result.run.runId)).rows.at(-1)!;
  assert.deepEqual([last.phase, last.status, last.reason], ["paused", "interrupted", "errored"]);
  const failed = last.events.filter((event) => event.type === "failed");
  assert.deepEqual(failed.map((f) => [f.vertexId, f.failure.message, f.handler]), [["v", "boom", undefined]]);
  assert.equal(result.run.interruptedAt, e.clock.now());
  assert.deepEqual(finishes.map((f) => [f.run.status, f.run.reason]), [["interrupted", "errored"]]);
});

test("a retry that succeeds keeps the error route from firing (RTY-25)", async () => {
  let recorded = 0;
  const e = engine(graphOf<Notes>({
    vertices: {
      v: {
        retry: { maxAttempts: 2 },
        run: failingUntil(2),
        onError: { route: "handler", record: () => void recorded++ },
        to: "next",
      },
      next: { finish: true },
      handler: { finish: true },
    },
  }));
  assert.deepEqual(completed(await e.run(notes())).path, ["v", "next"]);
  assert.deepEqual([recorded, e.ran("handler")], [0, 0]);
});

test("a failure that takes a route never interrupts the run; its vertex is recorded as failed, with time and text (RTY-27)", async () => {
  const statuses = new Set<string>();
  const e = engine(
    graphOf<Notes>({
      vertices: {
        v: { run: always, onError: { route: "handler" }, to: "fin" },
        handler: { to: "fin" },
        fin: {},
      },
    }),
    { hooks: { vertexFinish: (event) => void (event.vertexId === "v" && statuses.add(event.status)) } },
  );
  const { run } = completed(await e.run(notes()));
  const { rows: history } = await e.runner.history(run.runId);
  assert.deepEqual(history.filter((entry) => entry.status === "interrupted"), []);
  assert.equal(run.interruptedAt, undefined);
  const [failed] = await e.eventsOf(run.runId, "failed");
  assert.deepEqual([failed!.vertexId, failed!.failure.message, failed!.at], ["v", "boom", e.clock.now()]);
  assert.deepEqual([...statuses], ["failed"]);
});
