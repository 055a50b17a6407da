// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { isSuperstepError, VertexError } from "../../src/errors.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { defineWait } from "../../src/decorators/mod.ts";
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
const raise = (): never => {
  throw boom;
};
const rejected = (): never => Promise.reject(boom) as never;
const cyclic = () => {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
};
class Custom {
  readonly field = 1;
}
const failing = { run: raise };
const declared = defineWait("declared", z.string());

/** A vertex for each kind of fault, and the phase that its failure must name. */
const FAULTS: Readonly<Record<string, readonly [phase: string, vertex: VertexOf<Notes>]>> = {
  "a task that throws": ["execute", failing],
  "a task that rejects": ["execute", { run: () => Promise.reject(boom) }],
  "a task that rejects later": ["execute", { run: async () => (await undefined, raise()) }],
  "a thenable that throws when it is asked": ["execute", { run: () => ({ then: raise }) }],
  "a selector that throws": ["select", { select: raise }],
  "a selector that returns a rejected promise": ["select", { select: rejected }],
  "an each that throws": ["select", { each: raise }],
  "an each that returns a rejected promise": ["select", { each: rejected }],
  "a reducer that throws": ["reduce", { reduce: raise }],
  "a reducer that returns a rejected promise": ["reduce", { reduce: rejected }],
  "a reducer that is asynchronous and edits": ["reduce", {
    reduce: (async (s: Notes) => (s.log.push("x"), await undefined, raise())) as never,
  }],
  "a reducer that edits and returns another state": ["reduce", { reduce: (s) => (s.log.push("x"), notes()) }],
  "a record that throws": ["record", { ...failing, onError: { route: "handler", record: raise } }],
  "a record that returns a rejected promise": ["record", {
    ...failing,
    onError: { route: "handler", record: rejected },
  }],
  "a match that throws": ["match", { ...failing, onError: { route: "handler", match: raise } }],
  "a match that returns a rejected promise": ["match", {
    ...failing,
    onError: { route: "handler", match: rejected },
  }],
  "a retryIf that throws": ["retry", { ...failing, retry: { maxAttempts: 3, retryIf: raise } }],
  "a retryIf that returns a rejected promise": ["retry", {
    ...failing,
    retry: { maxAttempts: 3, retryIf: rejected },
  }],
  "a backoff that throws": ["retry", { ...failing, retry: { maxAttempts: 3, backoff: raise } }],
  "a backoff that returns a rejected promise": ["retry", {
    ...failing,
    retry: { maxAttempts: 3, backoff: rejected },
  }],
  "a backoff of NaN": ["retry", { ...failing, retry: { maxAttempts: 3, backoff: () => NaN } }],
  "an infinite backoff": ["retry", { ...failing, retry: { maxAttempts: 3, backoff: () => Infinity } }],
  "an output with a function": ["serialize", { run: () => ({ deep: [() => {}] }) }],
  "an output with a symbol": ["serialize", { run: () => Symbol("x") }],
  "an output with a cycle": ["serialize", { run: cyclic }],
  "an output of a class": ["serialize", { run: () => new Custom() }],
  "an output with a promise in it": ["serialize", { run: () => ({ later: Promise.resolve(1) }) }],
  "an oversized output": ["serialize", { run: () => "x".repeat(200_000) }],
  "an item's output with a function": ["serialize", { each: () => [1], run: () => () => {} }],
  "a state with a function": ["serialize", { reduce: (s) => void (s.bad = () => {}) }],
  "an oversized state": ["serialize", { reduce: (s) => void (s.big = "x".repeat(200_000)) }],
  "an info that cannot be stored": ["serialize", { run: (_input, ctx) => ctx.interrupt(cyclic()) }],
  "a wait's info that cannot be stored": ["serialize", {
    waits: [declared],
    run: (_input, ctx) => ctx.waitFor(declared, { info: new Custom() }),
  }],
  "a continuation that cannot be stored": ["serialize", {
    run: (_input, ctx) => ctx.interrupt(1, { continuation: () => {} }),
  }],
  "a once result that cannot be stored": ["serialize", {
    run: (_input, ctx) => ctx.once("o", () => new Custom()),
  }],
  "an oversized once result": ["serialize", {
    run: (_input, ctx) => ctx.once("o", () => "x".repeat(200_000)),
  }],
  "an oversized info": ["serialize", { run: (_input, ctx) => ctx.interrupt("x".repeat(200_000)) }],
  "an oversized continuation": ["serialize", {
    run: (_input, ctx) => ctx.interrupt(1, { continuation: "x".repeat(200_000) }),
  }],
};

/** Runs a task beside a healthy sibling, counting rejections that nobody handled. */
async function runWith(vertex: VertexOf<Notes>, more: Readonly<Record<string, VertexOf<Notes>>> = {}) {
  const e = engine(
    graphOf<Notes>({
      vertices: { start: { to: ["sibling", "v"] }, sibling: {}, v: { reduce: () => {}, ...vertex }, ...more },
      finish: ["sibling", "v"],
    }),
    { maxStateBytes: 100_000 },
  );
  const result = await e.run(notes());
  await e.clock.settle();
  return { e, result };
}

for (const [what, [phase, vertex]] of Object.entries(FAULTS)) {
  const routed = vertex.onError !== undefined;
  test(`${what} is a fault of its vertex in ${phase}: the run pauses, the sibling stays done, nothing escapes (E10, D11)`, async () => {
    const { e, result } = await runWith(
      { retry: { maxAttempts: 3, retryIf: () => phase === "execute" }, ...vertex },
      routed ? { handler: {} } : {},
    );
    const { failures, state, run } = interrupted(result, "errored");
    assert.equal(failures.length, 1);
    const { error, failure } = failures[0]!;
    assert.ok(error instanceof VertexError);
    const attempt = phase === "execute" ? 3 : 1;
    assert.deepEqual([error.vertexId, error.step, error.phase, error.attempt], ["v", 1, phase, attempt]);
    assert.deepEqual([failure.phase, failure.attempt, state], [
      phase,
      attempt,
      notes({ log: ["start", "sibling"] }),
    ]);
    assert.equal(e.ran("v") <= (phase === "execute" ? 3 : 1), true);
    assert.equal(e.ran("handler"), 0);
    const other = e.restart();
    const view = await other.runner.get(run.runId);
    assert.equal(view.status === "interrupted" && view.failures[0]!.failure.message, failure.message);
  });

  if (routed) continue;
  test(`${what} takes the error route where there is one (FT-G15, E10)`, async () => {
    let recorded: unknown;
    const { e, result } = await runWith({
      ...vertex,
      retry: { ...vertex.retry, maxAttempts: vertex.retry?.maxAttempts ?? 1 },
      onError: { route: "handler", record: (_s, f) => void (recorded = f.phase) },
    }, { handler: {} });
    assert.deepEqual([completed(result).path, recorded], [["start", "sibling", "v", "handler"], phase]);
    if (phase === "retry") assert.deepEqual([e.ran("v"), e.ran("handler")], [1, 1]);
  });
}

test("the handlers are asked about the fault of a retryIf or a backoff, not about the one that it was to judge (FT-G15, D7, E10)", async () => {
  class Broken extends Error {}
  const broken = () => {
    throw new Broken("no decision");
  };
  for (const retry of [{ retryIf: broken }, { backoff: broken }]) {
    const { e, result } = await runWith({
      ...failing,
      retry: { maxAttempts: 3, ...retry },
      onError: [
        { route: "wrong", match: (error: unknown) => error === boom },
        { route: "right", match: Broken },
      ],
    }, { wrong: {}, right: {} });
    assert.deepEqual(completed(result).path, ["start", "sibling", "v", "right"]);
    assert.deepEqual([e.ran("v"), e.ran("wrong")], [1, 0]);
  }
});

test("a match that throws pauses the run: no handler after it is asked, and none is taken (FT-G15, E10)", async () => {
  let asked = 0;
  const { e, result } = await runWith({
    ...failing,
    onError: [{ route: "one", match: raise }, { route: "two", match: () => ++asked > 0 }],
  }, { one: {}, two: {} });
  assert.equal(interrupted(result, "errored").failures[0]!.failure.phase, "match");
  assert.deepEqual([asked, e.ran("one"), e.ran("two")], [0, 0, 0]);
});

test("serialization faults use no further attempt and name vertex, path and type (E10)", async () => {
  const { e, result } = await runWith({
    retry: { maxAttempts: 5 },
    run: () => ({ list: [1, { made: new Custom() }] }),
  });
  const { failures } = interrupted(result, "errored");
  assert.equal(e.ran("v"), 1);
  assert.match(failures[0]!.error.message, /vertex v\b.*list\[1\]\.made.*Custom/);
});

test("an oversized state names its largest field and the remedy (E10)", async () => {
  const { result } = await runWith({ reduce: (s) => void (s.big = "x".repeat(200_000), s.small = 1) });
  const { failures } = interrupted(result, "errored");
  assert.ok(isSuperstepError(failures[0]!.error.cause, "STATE_SIZE"));
  assert.match(failures[0]!.error.message, /big.*blob store/);
});

test("hooks that throw, reject and hang, and a logger that throws, disturb nothing (E10)", async () => {
  for (const hook of [raise, rejected, () => new Promise(() => {})]) {
    const hooks = new Proxy({}, { get: () => hook });
    const e = engine(graphOf<Notes>({ vertices: { a: { to: "b" }, b: {} } }), {
      hooks,
      logger: { info: raise, warn: raise },
    });
    assert.deepEqual(completed(await e.run(notes(), { hooks })).path, ["a", "b"]);
    await e.clock.settle();
  }
});

test("an error whose message, name or data cannot be read is a failure like any other (E10)", async () => {
  const strange = {
    message: Object.defineProperty(new Error("x"), "message", { get: raise }),
    name: Object.defineProperty(new Error("x"), "name", { get: raise }),
    data: Object.assign(new Error("x"), { data: cyclic() }),
    oddMessage: Object.assign(new Error("x"), { message: { not: "a text" } }),
    oddName: Object.assign(new Error("x"), { name: () => "not a text", code: {} }),
    proxy: new Proxy({}, { get: raise, getPrototypeOf: raise, has: raise }),
  };
  for (const [what, error] of Object.entries(strange)) {
    const { result } = await runWith({
      run: () => {
        throw error;
      },
    });
    const { failures } = interrupted(result, "errored");
    assert.equal(typeof failures[0]!.failure.message, "string", what);
  }
});

test("a bad input rejects the call, and nothing was appended (E10)", async () => {
  const schema = z.object({ log: z.array(z.string()), n: z.number() });
  const e = engine(graphOf<z.infer<typeof schema>>({ schema, vertices: { v: {} } }), {
    maxStateBytes: 1_000,
  });
  for (
    const bad of [undefined, null, {}, { log: [] }, { log: [], n: "1" }, { log: ["x".repeat(2_000)], n: 1 }]
  ) {
    await assert.rejects(e.run(bad), (error) => isSuperstepError(error));
  }
  assert.deepEqual([e.ran(), (await e.runner.list()).rows], [0, []]);
});

test("a reduced state that its schema refuses is the reducer's fault (E10)", async () => {
  const schema = z.object({ log: z.array(z.string()), n: z.number() });
  const e = engine(
    graphOf<z.infer<typeof schema>>({
      schema,
      vertices: { v: { reduce: (s) => void (s.n = "text" as never) } },
    }),
  );
  const { failures, state } = interrupted(await e.run({ log: [], n: 1 }), "errored");
  assert.deepEqual([failures[0]!.failure.phase, failures[0]!.failure.name, state.n], [
    "reduce",
    "ValidationError",
    1,
  ]);
  assert.match(failures[0]!.error.message, /\bn\b/);
});

test("a body that rejects after the run is over, or twice, is nobody's unhandled rejection (E10)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: {
      v: {
        timeout: "1s",
        run: (_input: unknown, ctx: TaskContext) =>
          new Promise((_, reject) => {
            ctx.signal.addEventListener("abort", () => void Promise.resolve().then(() => reject(boom)));
          }),
      },
    },
  }));
  interrupted(await e.run(notes()), "errored");
  await e.clock.settle();
  assert.match(e.warnings[0]!.message, /vertex v ended after its attempt/);
});
