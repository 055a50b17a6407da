// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunEvent } from "../../src/engine/events.ts";
import { ConditionError, UndeclaredTargetError } from "../../src/errors.ts";
import type { Route } from "../../src/model/run.ts";
import { completed, type Engine, engine, graphOf, interrupted, notes } from "../support/graphs.ts";

const failing = () => {
  throw new Error("boom");
};

/** Every route recorded, step by step. */
async function routesOf<S>(e: Engine<S>, runId: string): Promise<readonly (readonly Route[])[]> {
  return (await e.eventsOf(runId, "routed")).map((event) => event.routes);
}

/** Hooks that keep the edges taken. */
function edges() {
  const taken: Route[] = [];
  return {
    taken,
    hooks: { edge: (event: Extract<RunEvent, { type: "edge" }>) => void taken.push(event.route) },
  };
}

test("both targets of a static fan-out run in the next step, and both routes are recorded (RTE-01)", async () => {
  const e = engine(graphOf({ vertices: { v: { to: ["b", "a"] }, a: {}, b: {} }, finish: "b" }));
  const { run } = completed(await e.run(notes()));
  assert.deepEqual(e.bodies.map((b) => [b.vertexId, b.step]), [["v", 0], ["a", 1], ["b", 1]]);
  assert.deepEqual(await routesOf(e, run.runId), [
    [{ from: "v", to: "b", kind: "static" }, { from: "v", to: "a", kind: "static" }],
    [],
  ]);
});

test("a vertex that two of a step lead to runs once and selects from both reductions (RTE-02)", async () => {
  const seen: unknown[] = [];
  const e = engine(graphOf({
    vertices: {
      start: { to: ["a", "b"] },
      a: { to: "j" },
      b: { to: "j" },
      j: { select: (s) => [...s.log], run: (input) => void seen.push(input) },
    },
  }));
  const { run } = completed(await e.run(notes()));
  assert.deepEqual(seen, [["start", "a", "b"]]);
  const { rows: history } = await e.runner.history(run.runId);
  assert.deepEqual(history.filter((h) => h.frontier.includes("j")).map((h) => h.frontier), [["j"]]);
});

test("an edge declared twice is recorded and told of twice, and its target runs once (RTE-04)", async () => {
  const { taken, hooks } = edges();
  const e = engine(graphOf({ vertices: { v: { to: ["a", "a"] }, a: {} } }), { hooks });
  const { run } = completed(await e.run(notes()));
  const route = { from: "v", to: "a", kind: "static" };
  assert.deepEqual(await routesOf(e, run.runId), [[route, route], []]);
  assert.deepEqual(taken, [route, route]);
  assert.equal(e.ran("a"), 1);
});

/** A vertex `c` that may go to `a`, `b` or `d`, as `pick` says. */
const choosing = (pick: (s: Readonly<Record<string, unknown>>) => unknown) =>
  graphOf({
    vertices: {
      c: { targets: ["d", "a", "b"], pick, reduce: (s) => void (s.chosen = "by c") },
      a: {},
      b: {},
      d: {},
    },
    finish: ["a", "b", "d"],
  });

test("one picked target runs alone, and its route is conditional (RTE-05)", async () => {
  const { taken, hooks } = edges();
  const e = engine(choosing(() => "b"), { hooks });
  const { run, path } = completed(await e.run(notes()));
  assert.deepEqual(path, ["c", "b"]);
  assert.deepEqual(await routesOf(e, run.runId), [[{ from: "c", to: "b", kind: "conditional" }], []]);
  assert.deepEqual(taken, [{ from: "c", to: "b", kind: "conditional" }]);
});

test("several picked targets all run in the next step; one picked twice counts once (RTE-06)", async () => {
  const e = engine(choosing(() => ["d", "a", "d"]));
  const { run } = completed(await e.run(notes()));
  assert.deepEqual(e.bodies.map((b) => [b.vertexId, b.step]), [["c", 0], ["a", 1], ["d", 1]]);
  const [first] = await routesOf(e, run.runId);
  assert.deepEqual(first!.map((r) => r.to).sort(), ["a", "d"]);
});

test("pick sees what the reducers of the step, its own and those of greater ids, have just committed (RTE-07)", async () => {
  let seen: unknown;
  const e = engine(graphOf({
    vertices: {
      start: { to: ["c", "z"] },
      c: {
        reduce: (s) => void (s.own = 1),
        targets: ["yes", "no"],
        pick: (s) => {
          seen = { ...s };
          return s.own === 1 && s.later === 2 ? "yes" : "no";
        },
      },
      z: { reduce: (s) => void (s.later = 2) },
      yes: { finish: true },
      no: { finish: true },
    },
  }));
  assert.deepEqual(completed(await e.run(notes())).path, ["start", "c", "z", "yes"]);
  assert.deepEqual(seen, { log: ["start"], own: 1, later: 2 });
});

test("a pick that keeps routing back is followed every step until the budget is used up (RTE-09)", async () => {
  const e = engine(graphOf({
    vertices: { a: { to: "b" }, b: { targets: ["a", "fin"], pick: () => "a" }, fin: {} },
  }));
  const result = interrupted(await e.run(notes(), { maxSteps: 7 }), "halted");
  assert.deepEqual([result.halt?.kind, result.halt?.step], ["max_steps", 7]);
  assert.deepEqual(result.path, ["a", "b", "a", "b", "a", "b", "a"]);
  assert.deepEqual([e.ran("a"), e.ran("b"), e.ran("fin")], [4, 3, 0]);
});

/** A vertex `v` with an edge to `next` and an error route to `handler`. */
const guarded = (run: () => unknown) =>
  graphOf({
    vertices: {
      v: {
        run,
        to: "next",
        onError: { route: "handler", record: (s, failure) => void (s.failed = failure.message) },
      },
      next: { finish: true },
      handler: { finish: true },
    },
  });

test("a vertex with an error route that succeeds takes its normal edges alone (RTE-11)", async () => {
  const e = engine(guarded(() => 1));
  const result = completed(await e.run(notes()));
  assert.deepEqual([result.path, result.state], [["v", "next"], notes({ log: ["v", "next"] })]);
  assert.deepEqual((await routesOf(e, result.run.runId))[0], [{ from: "v", to: "next", kind: "static" }]);
});

test("a vertex that fails for good under a route is recorded, and its handler runs in the next step (RTE-12, RTE-13)", async () => {
  const { taken, hooks } = edges();
  const e = engine(guarded(failing), { hooks });
  const result = completed(await e.run(notes()));
  assert.deepEqual([result.path, result.state], [
    ["v", "handler"],
    notes({ log: ["handler"], failed: "boom" }),
  ]);
  assert.deepEqual(e.bodies.map((b) => [b.vertexId, b.step]), [["v", 0], ["handler", 1]]);
  const route = { from: "v", to: "handler", kind: "error" };
  assert.deepEqual([await routesOf(e, result.run.runId), taken], [[[route], []], [route]]);
  const boundary = (await e.runner.history(result.run.runId)).rows.find((entry) => entry.routes.length > 0);
  assert.equal(boundary!.step, 0);
  assert.equal((await e.eventsOf(result.run.runId, "released")).length, 0);
});

test("a handler that two vertices of a step fail to runs once, by two routes (RTE-14)", async () => {
  const bad = { run: failing, onError: { route: "handler" }, to: "fin" };
  const e = engine(
    graphOf({ vertices: { start: { to: ["x", "y"] }, x: bad, y: bad, handler: { finish: true }, fin: {} } }),
  );
  const { run } = completed(await e.run(notes()));
  assert.equal(e.ran("handler"), 1);
  assert.deepEqual((await routesOf(e, run.runId))[1], [
    { from: "x", to: "handler", kind: "error" },
    { from: "y", to: "handler", kind: "error" },
  ]);
});

test("conditions of a step are asked in id order, and the first that halts ends it with nothing routed (RTE-15)", async () => {
  const asked: string[] = [];
  const ask = (id: string, answer: () => unknown) => ({
    targets: ["fin"],
    pick: () => (asked.push(id), answer()),
  });
  const e = engine(graphOf({
    vertices: {
      start: { to: ["d", "a", "c", "b"] },
      a: { to: "fin" },
      b: ask("b", () => "fin"),
      c: ask("c", failing),
      d: ask("d", () => "nowhere"),
      fin: {},
    },
  }));
  const result = interrupted(await e.run(notes()), "halted");
  assert.deepEqual([result.halt?.kind, result.halt?.vertexId, asked], ["condition", "c", ["b", "c"]]);
  assert.equal((await routesOf(e, result.run.runId)).length, 1);
  assert.equal(e.ran("fin"), 0);
});

test("the routes of a boundary ascend by their source, and a sink has none (RTE-16)", async () => {
  const e = engine(graphOf({
    vertices: {
      start: { to: ["b", "a", "s", "C"] },
      a: { targets: ["y", "x"], pick: () => ["y", "x"] },
      b: { run: failing, onError: { route: "x" }, to: "y" },
      C: { to: "x" },
      s: {},
      x: {},
      y: { finish: true },
    },
  }));
  const { run } = completed(await e.run(notes()));
  const [, second, last] = await routesOf(e, run.runId);
  assert.deepEqual(second!.map((r) => [r.from, r.kind]), [
    ["C", "static"],
    ["a", "conditional"],
    ["a", "conditional"],
    ["b", "error"],
  ]);
  assert.deepEqual(last, []);
});

test("the recorded routes rebuild the path of a run with fan-out, conditions, error routes, joins and a cycle (RTE-18)", async () => {
  const { taken, hooks } = edges();
  let rounds = 0;
  const e = engine(
    graphOf({
      vertices: {
        start: { to: ["a", "b", "c"] },
        a: { to: "j" },
        b: { targets: ["j", "d"], pick: () => "d" },
        c: { run: failing, onError: { route: "d" } },
        d: { to: "j" },
        j: { join: "all", targets: ["start", "fin"], pick: () => ++rounds < 2 ? "start" : "fin" },
        fin: {},
      },
    }),
    { hooks },
  );
  const { run, path } = completed(await e.run(notes()));
  const routes = await routesOf(e, run.runId);
  // A join runs some time after its first arrival, so its step is told by the frontier, all others by the routes.
  const rebuilt = [
    "start",
    ...routes.flatMap((step) => [...new Set(step.map((r) => r.to))].filter((to) => to !== "j").sort()),
  ];
  assert.deepEqual(rebuilt, path.filter((id) => id !== "j"));
  assert.deepEqual(path, ["start", "a", "b", "c", "d", "j", "start", "a", "b", "c", "d", "j", "fin"]);
  assert.deepEqual(taken, routes.flat());
  assert.equal(taken.length, 16);
  const frontiers = (await e.runner.history(run.runId)).rows.filter((h) =>
    h.events.some((x) => x.type === "routed")
  );
  assert.deepEqual(["start", ...frontiers.flatMap((h) => h.frontier)], path);
});

test("a pick that chooses and throws halts, and so does one that returns a good and a bad target (RTE-20)", async () => {
  const picks = {
    condition: () => {
      try {
        return "a";
      } finally {
        failing();
      }
    },
    undeclared_target: () => ["a", "elsewhere"],
  };
  for (const [kind, pick] of Object.entries(picks)) {
    const e = engine(choosing(pick));
    const { halt, run } = interrupted(await e.run(notes()), "halted");
    assert.equal(halt?.kind, kind);
    assert.ok(
      kind === "condition"
        ? halt?.error instanceof ConditionError
        : halt?.error instanceof UndeclaredTargetError,
    );
    assert.deepEqual([halt?.vertexId, e.ran(), await routesOf(e, run.runId)], ["c", 1, []]);
  }
});
