// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile } from "../../src/compile.ts";
import { defineWait, Graph, OnError, Retry, Schedule, Timeout, Vertex } from "../../src/decorators/mod.ts";
import { isSuperstepError } from "../../src/errors.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { wrong } from "../graph/fixtures.ts";
import { newWorkflow, PLAIN } from "../scanner/fixtures/workflows.ts";

/** The message of the build error that `declare` throws. */
function refusal(declare: () => unknown): string {
  try {
    declare();
  } catch (error) {
    assert.ok(isSuperstepError(error, "BUILD"), String(error));
    return error.message;
  }
  assert.fail("nothing was refused");
}

class Work {
  execute<I>(input: I): I {
    return input;
  }
}

test("a decorator refuses an option that it does not have, and names the class and the closest one (D9)", () => {
  const graph = newWorkflow("options");
  const vertex = { graph, id: "a", ...PLAIN };
  const said: readonly (readonly [() => unknown, string])[] = [
    [
      () => Vertex(wrong({ ...vertex, too: "b" }))(Work),
      '@Vertex: on class Work (vertex a): there is no option "too"; did you mean "to"?',
    ],
    [
      () => Vertex(wrong({ ...vertex, to2: 1 }))(Work),
      '@Vertex: on class Work (vertex a): there is no option "to2"; did you mean "to"?',
    ],
    [
      () => Graph(wrong({ id: "g", verison: 1 }))(graph),
      '@Graph: on class Flow: there is no option "verison"; did you mean "version"?',
    ],
    [
      () => Retry(wrong({ maxAttempts: 2, backof: {} }))(Work),
      '@Retry: on class Work: there is no option "backof"; did you mean "backoff"?',
    ],
    [
      () => Timeout(wrong({ atempt: 1 }))(Work),
      '@Timeout: on class Work: there is no option "atempt"; did you mean "attempt"?',
    ],
    [
      () => OnError(wrong({ route: "b", macth: Error }))(Work),
      '@OnError: on class Work: there is no option "macth"; did you mean "match"?',
    ],
    [
      () => OnError("pause", wrong({ grap: graph }))(Work),
      '@OnError: on class Work: there is no option "grap"; did you mean "graph"?',
    ],
    [
      () => Schedule("0 9 * * *", wrong({ timeZone: "UTC" }))(wrong(graph)),
      '@Schedule: on class Flow: there is no option "timeZone"; did you mean "timezone"?',
    ],
    [
      () => defineWait("ok", z.string(), wrong({ deadlien: "1d" })),
      'defineWait: the wait ok: there is no option "deadlien"; did you mean "deadline"?',
    ],
  ];
  for (const [declare, message] of said) assert.equal(refusal(declare), `superstep: ${message}`);
});

test("an option that is like none is answered with all there are (D9)", () => {
  const message = refusal(() => Timeout(wrong({ 期限: 1 }))(Work));
  assert.match(message, /there is no option "期限"; the options are attempt, total, graph$/);
});

test("compile refuses an option that it does not have (D9)", () => {
  const graph = newWorkflow("compiled");
  Vertex({ graph, id: "a", entry: true, finish: true, ...PLAIN })(Work);
  const options = { store: memoryStore() };
  assert.match(
    refusal(() => compile(graph, wrong({ ...options, provid: () => new Work() }))),
    /compile: graph compiled: there is no option "provid"; did you mean "provide"\?/,
  );
  compile(graph, options);
});

test("a class where the id of a vertex belongs is refused with what to write (D9)", () => {
  const refused = (more: object) => {
    const graph = newWorkflow("routes");
    Vertex(wrong({ graph, id: "a", entry: true, finish: true, ...PLAIN, ...more }))(class A extends Work {});
    return refusal(() => compile(graph, { store: memoryStore() }));
  };
  const advice = 'is the function Work; edges name vertices by their id, a text such as to: "review"';
  assert.equal(refused({ to: Work }), `superstep: addEdge: graph routes: an edge from a: to ${advice}`);
  assert.equal(refused({ to: [Work] }), `superstep: addEdge: graph routes: an edge from a: to ${advice}`);
  const route = { targets: [Work], pick: () => "b" };
  assert.equal(
    refused({ route }),
    `superstep: addConditionalEdge: vertex a (class A) of graph routes: a target ${advice}`,
  );
});
