// Runs on deno by default: graphs are plain data, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Duration } from "../../mod.ts";
import { z } from "zod";
import type { BuildError } from "../../src/errors.ts";
import type { CompiledVertex } from "../../src/model/definition.ts";
import { defineWait } from "../../src/decorators/mod.ts";
import { newBuilder, type State, vertex, wrong } from "./fixtures.ts";

type More = Parameters<typeof vertex>[1];

function compiled(more: More): CompiledVertex<State> {
  const graph = newBuilder().addVertex(vertex("a", more)).addVertex(vertex("h")).addEdge("a", "h")
    .build({ entry: "a", finish: "h" });
  const found = graph.vertices.get("a");
  assert.ok(found);
  return found;
}

function refused(more: More, about: RegExp) {
  assert.throws(() => newBuilder().addVertex(vertex("a", more)), (error: BuildError) => {
    assert.equal(error.name, "BuildError");
    assert.equal(error.op, "addVertex");
    assert.equal(error.fields.vertexId, "a");
    assert.match(error.message, about);
    return true;
  });
}

test("a vertex without policies has one attempt, no limit and no handler (O3)", () => {
  const { retry, timeout, handlers, waits, join, label } = compiled({});
  assert.deepEqual(retry, { maxAttempts: 1, backoff: undefined, retryIf: undefined });
  assert.deepEqual(timeout, { attemptMs: undefined, totalMs: undefined });
  assert.deepEqual(handlers, []);
  assert.equal(waits.size, 0);
  assert.equal(join, "any");
  assert.equal(label, "");
});

test("a retry policy becomes plain numbers with its defaults (O3)", () => {
  const retryIf = () => true;
  assert.deepEqual(
    compiled({
      retry: { maxAttempts: 3, retryIf, backoff: { initial: "200ms", factor: 3, max: "10s", jitter: true } },
    }).retry,
    { maxAttempts: 3, retryIf, backoff: { initialMs: 200, factor: 3, maxMs: 10_000, jitter: true } },
  );
  assert.deepEqual(compiled({ retry: { maxAttempts: 2, backoff: { initial: 0 } } }).retry.backoff, {
    initialMs: 0,
    factor: 2,
    maxMs: Infinity,
    jitter: false,
  });
  const backoff = (attempt: number) => attempt * 10;
  assert.equal(compiled({ retry: { maxAttempts: 2, backoff } }).retry.backoff, backoff);
});

test("invalid numbers and durations of a retry policy are build errors (D9)", () => {
  for (const maxAttempts of [0, -1, 1.5, NaN, Infinity, "3", undefined]) {
    refused({ retry: { maxAttempts: wrong(maxAttempts) } }, /retry\.maxAttempts/);
  }
  for (const span of [-1, NaN, Infinity, "soon", "", "5", null]) {
    refused({ retry: { maxAttempts: 2, backoff: { initial: wrong(span) } } }, /retry\.backoff\.initial/);
    refused({ retry: { maxAttempts: 2, backoff: { initial: 1, max: wrong(span) } } }, /retry\.backoff\.max/);
  }
  for (const factor of [0, 0.99, -2, NaN, Infinity, "2"]) {
    refused(
      { retry: { maxAttempts: 2, backoff: { initial: 1, factor: wrong(factor) } } },
      /retry\.backoff\.factor/,
    );
  }
  refused(
    { retry: { maxAttempts: 2, backoff: { initial: 1, jitter: wrong("full") } } },
    /retry\.backoff\.jitter/,
  );
  refused({ retry: { maxAttempts: 2, backoff: wrong("1s") } }, /retry\.backoff/);
  refused({ retry: { maxAttempts: 2, retryIf: wrong(true) } }, /retry\.retryIf/);
  refused({ retry: wrong(3) }, /retry is 3/);
});

test("a duration alone limits each attempt (O3)", () => {
  assert.deepEqual(compiled({ timeout: "30s" }).timeout, { attemptMs: 30_000, totalMs: undefined });
  assert.deepEqual(compiled({ timeout: 250 }).timeout, { attemptMs: 250, totalMs: undefined });
  assert.deepEqual(compiled({ timeout: { attempt: "1m", total: "1h" } }).timeout, {
    attemptMs: 60_000,
    totalMs: 3_600_000,
  });
  assert.deepEqual(compiled({ timeout: { total: "2m" } }).timeout, {
    attemptMs: undefined,
    totalMs: 120_000,
  });
});

test("a timeout of zero, below zero or that is no duration is a build error (D9)", () => {
  for (const span of [0, "0s", -1, "-1s", NaN, Infinity, "later", null]) {
    refused({ timeout: wrong(span) }, /timeout\.attempt/);
    refused({ timeout: { attempt: wrong(span) } }, /timeout\.attempt/);
    refused({ timeout: { total: wrong(span) } }, /timeout\.total/);
  }
});

test("handlers keep their order, and nothing below a pause is asked (D7)", () => {
  const record = (s: State) => s;
  const first = { route: "h", match: TypeError, record };
  assert.deepEqual(compiled({ onError: [first, { route: "a" }, "pause", { route: "h" }] }).handlers, [
    first,
    { route: "a" },
  ]);
  assert.deepEqual(compiled({ onError: "pause" }).handlers, []);
  assert.deepEqual(compiled({ onError: ["pause", { route: "h" }] }).handlers, []);
  assert.deepEqual(compiled({ onError: { route: "h" } }).handlers, [{ route: "h" }]);
});

test("a handler without a route, or with a match or record that is none, is a build error (D9)", () => {
  refused({ onError: wrong("retry") }, /error handler is "retry"/);
  refused({ onError: [wrong({})] }, /error handler/);
  refused({ onError: [wrong(undefined)] }, /error handler is undefined/);
  refused({ onError: { route: "h", match: wrong("TypeError") } }, /match "TypeError"/);
  refused({ onError: { route: "h", match: wrong(undefined) } }, /match undefined.*loaded before/);
  refused({ onError: { route: "h", record: wrong(1) } }, /record 1/);
  refused({ onError: ["pause", { route: wrong(1) }] }, /error handler/);
});

test("a caller's policies may change after the call without reaching the graph", () => {
  const handler = { route: "h" };
  const retry = { maxAttempts: 2, backoff: { initial: 1 } };
  const stack = [handler];
  const builder = newBuilder().addVertex(vertex("a", { onError: stack, retry })).addVertex(vertex("h"));
  handler.route = "nowhere";
  stack.length = 0;
  retry.maxAttempts = 9;
  const a = builder.build({ entry: "a", finish: "a" }).vertices.get("a");
  assert.deepEqual(a?.handlers, [{ route: "h" }]);
  assert.equal(a?.retry.maxAttempts, 2);
});

test("declared waits are kept by name (T3)", () => {
  const approved = defineWait("approved", z.boolean());
  const noted = { name: "noted", schema: z.string() };
  const { waits } = compiled({ waits: [approved, noted] });
  assert.deepEqual([...waits.keys()], ["approved", "noted"]);
  assert.equal(waits.get("approved"), approved);
  assert.deepEqual(waits.get("noted"), noted);
});

test("a wait that is none, or is listed twice, is a build error (T3)", () => {
  const approved = defineWait("approved", z.boolean());
  refused({ waits: [approved, defineWait("approved", z.string())] }, /approved is listed twice/);
  refused({ waits: [wrong(undefined)] }, /wait is undefined.*loaded before/);
  refused({ waits: [wrong({ name: "a b", schema: z.string() })] }, /named "a b"/);
  refused({ waits: wrong(approved) }, /waits is an object/);
});

test("defineWait refuses a malformed name, a schema that is none and an invalid deadline (T3)", () => {
  const error = (about: RegExp) => (e: BuildError) => {
    assert.equal(e.op, "defineWait");
    assert.match(e.message, about);
    return true;
  };
  assert.throws(() => defineWait("", z.string()), error(/named ""/));
  assert.throws(() => defineWait("a", wrong({})), error(/no Standard Schema/));
  for (const deadline of [0, "0s", -1, "-1s", NaN, Infinity, "soon" as Duration] as const) {
    assert.throws(() => defineWait("a", z.string(), { deadline }), error(/deadline/));
  }
  const wait = defineWait("a", z.string(), { deadline: "7d" });
  assert.equal(wait.deadline, "7d");
  assert.ok(Object.isFrozen(wait));
});
