// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskContext } from "../../mod.ts";
import { crashTest } from "../../src/testing/mod.ts";
import { nextFrontier } from "../../src/engine/routing.ts";
import { graphOf, type Notes, notes, type VertexOf } from "../support/graphs.ts";
import { all, boom, stepsOf } from "../support/steps.ts";

for (const [what, name] of [["as named", (id: string) => id], ["renamed", mirrored]] as const) {
  test(`a join waits for a branch that still arrives when its pick may lead back, vertices ${what} (FT-D1, D6)`, async () => {
    const { steps, e } = await stepsOf(renamed(name, {
      plan: { to: ["research", "facts", "legal"] },
      research: { to: "merge" },
      facts: { to: "merge" },
      legal: { to: "approve" },
      merge: all({ to: "draft" }),
      draft: { to: "approve" },
      approve: all({ targets: ["send", "research"], pick: () => name("send") }),
      send: {},
    }));
    assert.deepEqual(steps.map((ids) => ids.map(name).sort()), [
      ["plan"],
      ["facts", "legal", "research"],
      ["merge"],
      ["draft"],
      ["approve"],
      ["send"],
    ]);
    assert.equal(e.ran(name("send")), 1);
  });

  test(`a branch that comes back over an error route is waited for, vertices ${what} (FT-D1, D6)`, async () => {
    const { steps } = await stepsOf(renamed(name, {
      start: { to: ["quick", "slow"] },
      quick: { to: "merge" },
      slow: { to: "work" },
      work: {
        select: (s) => s.log.includes(name("mend")),
        run: (mended) => mended === true ? undefined : Promise.reject(boom),
        onError: { route: name("mend") },
        to: "merge",
      },
      mend: { to: "work" },
      merge: all({ targets: ["start", "fin"], pick: () => name("fin"), onError: { route: name("slow") } }),
      fin: {},
    }));
    assert.deepEqual(steps.map((ids) => ids.map(name).sort()), [
      ["start"],
      ["quick", "slow"],
      ["work"],
      ["mend"],
      ["work"],
      ["merge"],
      ["fin"],
    ]);
  });

  test(`a knot of three joins runs together, and a join behind it waits, vertices ${what} (D6)`, async () => {
    const { steps } = await stepsOf(renamed(name, {
      start: { to: ["a", "b", "c", "late"] },
      a: all({ targets: ["b", "late"], pick: () => name("late") }),
      b: all({ targets: ["c", "late"], pick: () => name("late") }),
      c: all({ targets: ["a", "late"], pick: () => name("late") }),
      late: all(),
    }));
    assert.deepEqual(steps.map((ids) => ids.map(name).sort()), [["start"], ["a", "b", "c"], ["late"]]);
  });

  test(`a knot waits for a vertex that holds up one of its joins, vertices ${what} (D6)`, async () => {
    const { steps } = await stepsOf(renamed(name, {
      start: { to: ["a", "b", "x"] },
      x: { to: "y" },
      y: { to: "b" },
      a: all({ targets: ["b", "fin"], pick: () => name("fin") }),
      b: all({ targets: ["a", "fin"], pick: () => name("fin") }),
      fin: all(),
    }));
    assert.deepEqual(steps.map((ids) => ids.map(name).sort()), [["start"], ["x"], ["y"], ["a", "b"], [
      "fin",
    ]]);
  });
}

test("an edge of a join to itself holds it up never, whoever may reach the join (FT-G12, D6)", async () => {
  const { steps, e } = await stepsOf({
    start: { to: ["a", "b"] },
    a: { to: "j" },
    b: { to: "c" },
    c: { targets: ["a", "fin"], pick: () => "fin" },
    j: all({ targets: ["j", "fin"], pick: (s) => s.log.filter((id) => id === "j").length < 3 ? "j" : "fin" }),
    fin: {},
  });
  assert.deepEqual(steps, [["start"], ["a", "b"], ["c", "j"], ["fin", "j"], ["j"], ["fin"]]);
  assert.equal(e.ran("j"), 3);
});

test("what leads to a missing source through the join alone holds the join up never (D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: ["a", "b"] },
    a: { to: "j" },
    b: { to: "c" },
    c: { targets: ["a", "fin"], pick: () => "fin" },
    j: all({ targets: ["m", "fin"], pick: () => "fin" }),
    m: { to: "j" },
    fin: {},
  });
  assert.deepEqual(steps, [["start"], ["a", "b"], ["c", "j"], ["fin"]]);
});

test("a join with an edge to itself waits for its other sources in every round (FT-G12, D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: ["a", "j"] },
    a: { to: "b" },
    b: { to: "j" },
    j: all({
      targets: ["j", "start", "fin"],
      pick: (s) => ["j", "start", "j", "fin"][s.log.filter((id) => id === "j").length - 1],
    }),
    fin: {},
  });
  const round = [["start"], ["a"], ["b"], ["j"], ["j"]];
  assert.deepEqual(steps, [...round, ...round, ["fin"]]);
});

test("a source that has run elsewhere and comes back later is waited for again in the next round (D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: ["a", "b"] },
    a: { to: "j" },
    b: { targets: ["j", "c"], pick: (s) => s.log.filter((id) => id === "b").length % 2 === 1 ? "c" : "j" },
    c: { to: "d" },
    d: { to: "b" },
    j: all({
      targets: ["start", "fin"],
      pick: (s) => s.log.filter((id) => id === "j").length < 2 ? "start" : "fin",
    }),
    fin: {},
  });
  const round = [["start"], ["a", "b"], ["c"], ["d"], ["b"], ["j"]];
  assert.deepEqual(steps, [...round, ...round, ["fin"]]);
});

test("what arrives while a join runs counts for its next round alone (D6)", async () => {
  const { e, steps } = await stepsOf({
    start: { to: ["a", "x"] },
    a: { targets: ["j"], pick: () => "j" },
    x: { to: "y", onError: { route: "a" } },
    y: { targets: ["z", "j"], pick: () => "z" },
    z: { to: "y2" },
    y2: {},
    j: all({ targets: ["k"], pick: () => "k" }),
    k: { targets: ["j", "fin"], pick: (s) => s.log.filter((id) => id === "k").length < 2 ? "j" : "fin" },
    fin: {},
  });
  assert.deepEqual(steps, [["start"], ["a", "x"], ["y"], ["j", "z"], ["k", "y2"], ["j"], ["k"], ["fin"]]);
  const arrivals = await e.eventsOf((await e.runner.list({})).rows[0]!.runId, "routed");
  assert.deepEqual(arrivals.map((r) => [...r.arrivals ?? []]), [[], [["j", ["a"]]], ...Array(6).fill([])]);
});

test("a crash at any write between the arrivals of joins and their runs loses none and doubles none (D6, C1)", async () => {
  const lap = (s: Readonly<Notes>) => s.log.filter((id) => id === "j").length;
  const graph = graphOf<Notes>({
    vertices: {
      start: { to: ["a", "slow", "k1", "k2"] },
      a: { to: "j" },
      slow: { to: "slower" },
      slower: { to: "j" },
      k1: all({ targets: ["k2", "j"], pick: () => "j" }),
      k2: all({ targets: ["k1", "j"], pick: () => "j" }),
      j: all({ targets: ["start", "fin"], pick: (s) => lap(s) < 2 ? "start" : "fin" }),
      fin: {},
    },
  });
  const round = ["start", "a", "slow", "slower", "j"];
  const { crashes } = await crashTest(graph, {
    input: notes(),
    outcome: ({ path }) => {
      assert.deepEqual(path, [...round, "k1", "k2", ...round, "fin", "k1", "k2", "j", "fin"]);
      return path;
    },
    tasks: (effects) =>
      Object.fromEntries(
        [...graph.vertices.keys()].map((id) => [
          id,
          (_: unknown, ctx: TaskContext) => effects.happen(ctx.idempotencyKey, id),
        ]),
      ),
  });
  assert.ok(crashes.length > 20);
});

/** Names in the opposite order. */
function mirrored(id: string): string {
  return id.replace(/[a-z]/g, (c) => String.fromCharCode(219 - c.charCodeAt(0)));
}

function renamed(name: (id: string) => string, vertices: Readonly<Record<string, VertexOf<Notes>>>) {
  return Object.fromEntries(
    Object.entries(vertices).map(([id, { to, targets, pick, ...rest }]) => [name(id), {
      ...rest,
      ...(to === undefined ? {} : { to: [to].flat().map(name) }),
      ...(targets === undefined ? {} : { targets: targets.map(name), pick: pick! }),
    }]),
  );
}

test("a knot of joins waits for what holds up any of them, though it leads to the others only through a join that has seen it (D6)", () => {
  const graph = graphOf({
    vertices: {
      e: { to: ["w", "x", "y"] },
      w: { to: "x" },
      x: { to: "one" },
      y: { to: "two" },
      one: { join: "all", to: ["s2", "z"] },
      two: { join: "all", to: "s1" },
      s1: { to: "one" },
      s2: { to: "two" },
      z: {},
    },
  });
  const arrived = new Map([["one", ["x"]], ["two", ["y"]]]);
  // `x` runs again: it holds up `two` through `one`, and nothing of `one`, where it has arrived.
  const again = nextFrontier(graph, [{ from: "w", to: "x", kind: "static" }], arrived);
  assert.deepEqual([again.frontier, [...again.arrivals.keys()]], [["x"], ["one", "two"]]);
  const free = nextFrontier(graph, [{ from: "e", to: "w", kind: "static" }], new Map());
  assert.deepEqual([free.frontier, free.arrivals.size], [["w"], 0]);
  const alone = nextFrontier(graph, [], arrived);
  assert.deepEqual([alone.frontier, alone.arrivals.size], [["one", "two"], 0]);
});
