// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FatalError } from "../../src/errors.ts";
import type { ErrorHandler } from "../../src/model/definition.ts";
import type { VertexFailure } from "../../src/model/failure.ts";
import { completed, engine, gate, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";

class Base extends Error {}
class Derived extends Base {}
class Other extends Error {}

/** Runs a vertex that throws, under these handlers, and returns where the run went. */
async function handled(thrown: unknown, onError: readonly (ErrorHandler<Notes> | "pause")[]) {
  const routes = [...new Set(onError.flatMap((h) => h === "pause" ? [] : [h.route]))];
  const e = engine(graphOf<Notes>({
    vertices: {
      v: {
        run: () => {
          throw thrown;
        },
        onError,
        to: "fin",
      },
      fin: { finish: true, to: routes },
      ...Object.fromEntries(routes.map((id) => [id, { finish: true }])),
    },
  }));
  const result = await e.run(notes());
  return result.status === "completed"
    ? result.path.slice(1)
    : interrupted(result, "errored").failures[0]!.failure;
}

const STACK: readonly ErrorHandler<Notes>[] = [
  { route: "first", match: Derived },
  { route: "second", match: (error) => error instanceof Error && error.message === "wanted" },
  { route: "third", match: Base },
];

const CASES: readonly (readonly [what: string, thrown: unknown, goesTo: string])[] = [
  ["a subclass, which both class matches take", new Derived("wanted"), "first"],
  ["an error that only the predicate takes", new Other("wanted"), "second"],
  ["an error that predicate and class take", new Base("wanted"), "second"],
  ["an error of the class", new Base("x"), "third"],
];

for (const [what, thrown, goesTo] of CASES) {
  test(`of stacked handlers the first that matches takes ${what} (D7)`, async () => {
    assert.deepEqual(await handled(thrown, STACK), [goesTo]);
  });
}

test("an error that no handler matches pauses (D7)", async () => {
  const failure = await handled(new Other("x"), STACK) as VertexFailure;
  assert.deepEqual([failure.message, failure.phase], ["x", "execute"]);
  assert.equal((await handled("text", STACK) as VertexFailure).message, "text");
});

test("a handler without match takes everything, and a pause above it keeps it from being asked (D7)", async () => {
  assert.deepEqual(await handled("text", [...STACK, { route: "rest" }]), ["rest"]);
  assert.equal((await handled(new Base("x"), ["pause", { route: "rest" }]) as VertexFailure).message, "x");
});

test("a match by class takes superstep's own errors (D7)", async () => {
  assert.deepEqual(await handled(new FatalError("x"), [{ route: "fatal", match: FatalError }]), ["fatal"]);
});

test("the handler is chosen once, on the live error, and stored; a recovery neither asks again nor runs the task (D7)", async () => {
  let asked = 0;
  const live = new Derived("x");
  const seen: unknown[] = [];
  const records: VertexFailure[] = [];
  const slow = gate();
  const graph = graphOf<Notes>({
    vertices: {
      start: { to: ["s", "v"] },
      s: { run: () => slow.promise },
      v: {
        run: () => {
          throw Object.assign(live, { code: "E7", data: { list: [1] } });
        },
        onError: [
          { route: "never", match: (error: unknown) => (asked++, seen.push(error), false) },
          {
            route: "handler",
            match: Derived,
            record: (s, failure) => (records.push(failure), void (s.failed = { ...failure })),
          },
        ],
        to: "never",
      },
      never: {},
      handler: { finish: true },
    },
  });
  const e = engine(graph);
  const handle = await e.runner.start(notes());
  await e.clock.settle();
  assert.equal((await e.eventsOf(handle.runId, "failed"))[0]!.handler, "handler");
  assert.equal((await e.runner.get(handle.runId)).state.failed === undefined, false);
  const before = records.at(-1);
  e.kill();
  slow.open();
  const { path, state } = completed(await e.restart().resume(handle.runId, { takeover: true }));
  assert.deepEqual(path, ["start", "s", "v", "handler"]);
  assert.deepEqual([asked, e.ran("v")], [1, 1]);
  assert.equal(seen[0], live);
  const failure = {
    name: "Error",
    message: "x",
    code: "E7",
    attempt: 1,
    data: { list: [1] },
    phase: "execute",
  };
  assert.deepEqual([state.failed, before, records.at(-1)], [failure, failure, failure]);
});

test("a handler's own vertex fails like any other (D7)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: {
      v: { run: () => Promise.reject(new Base("one")), onError: { route: "h" }, to: "fin" },
      h: { run: () => Promise.reject(new Base("two")), onError: { route: "h2" }, to: "fin" },
      h2: { to: "fin" },
      fin: {},
    },
  }));
  assert.deepEqual(completed(await e.run(notes())).path, ["v", "h", "h2", "fin"]);
});
