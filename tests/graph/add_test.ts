// Runs on deno by default: graphs are plain data, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import type {
  BuildError,
  DuplicateConditionalEdgeError,
  DuplicateVertexError,
  SuperstepError,
} from "../../src/errors.ts";
import { GraphBuilder } from "../../src/graph/mod.ts";
import { Echo, graphWith, newBuilder, vertex, wrong, ZERO_IDS } from "./fixtures.ts";

/** A BuildError of one operation whose message speaks of `about`. */
function buildError(op: string, about: RegExp) {
  return (error: SuperstepError) => {
    assert.equal(error.name, "BuildError");
    assert.equal((error as BuildError).op, op);
    assert.match(error.message, about);
    return true;
  };
}

const NOTHING = { vertices: [], edges: [], conditions: [] };

test("a new graph has user version 0, the id as given, and empty tables (BLD-01)", () => {
  const builder = new GraphBuilder({ id: "Orders.v1:eu_west-2" });
  assert.equal(builder.version, 0);
  assert.equal(builder.id, "Orders.v1:eu_west-2");
  assert.deepEqual(builder.contents(), NOTHING);
});

test("the last version given wins, and an explicit 0 is accepted (BLD-02)", () => {
  assert.equal(newBuilder({ ...{ version: 1 }, ...{ version: 9 } }).version, 9);
  assert.equal(newBuilder({ version: 0 }).version, 0);
});

test("a graph with a malformed id, an invalid version or a schema that is none is a build error (D9)", () => {
  for (const id of ZERO_IDS) {
    assert.throws(() => newBuilder({ id: wrong(id) }), buildError("GraphBuilder", /graph's id/));
  }
  for (const version of [-1, 1.5, NaN, Infinity, "1"]) {
    assert.throws(
      () => newBuilder({ version: wrong(version) }),
      buildError("GraphBuilder", /version of graph g/),
    );
  }
  assert.throws(
    () => newBuilder({ schema: wrong({ parse: () => 1 }) }),
    buildError("GraphBuilder", /Standard Schema/),
  );
});

test("anything that implements Standard Schema is a schema, and zod does (D13)", () => {
  const schema = z.object({ count: z.number() });
  const graph = new GraphBuilder({ id: "g", schema }).addVertex({
    id: "a",
    task: Echo,
    select: (s) => s.count,
    reduce: (s, n) => {
      s.count = n;
    },
  }).build({ entry: "a", finish: "a" });
  assert.equal(graph.schema, schema);
});

test("a zero vertex id is a BuildError of addVertex, and nothing is stored (BLD-03)", () => {
  for (const id of ZERO_IDS) {
    const builder = newBuilder();
    assert.throws(() => builder.addVertex(vertex(wrong(id))), buildError("addVertex", /vertex id/));
    assert.deepEqual(builder.contents(), NOTHING);
  }
});

test("a missing task is a BuildError of addVertex, and so is what cannot be one (BLD-04)", () => {
  for (const task of [undefined, null, {}, { execute: 1 }, () => 1, "Echo"]) {
    const builder = newBuilder();
    assert.throws(
      () => builder.addVertex(vertex("a", { task: wrong(task) })),
      buildError("addVertex", /task/),
    );
    assert.deepEqual(builder.contents(), NOTHING);
  }
});

test("a missing selector is a BuildError of addVertex (BLD-05)", () => {
  for (const select of [undefined, null, "count"]) {
    assert.throws(
      () => newBuilder().addVertex(vertex("a", { select: wrong(select) })),
      buildError("addVertex", /select/),
    );
  }
});

test("a vertex has select or each, never both (D5)", () => {
  assert.throws(
    () => newBuilder().addVertex(wrong({ ...vertex("a"), each: () => [1] })),
    buildError("addVertex", /both select and each/),
  );
  assert.throws(
    () => newBuilder().addVertex(wrong({ ...vertex("a"), select: undefined, each: "items" })),
    buildError("addVertex", /select is "items"/),
  );
});

test("a missing reducer is a BuildError of addVertex (BLD-06)", () => {
  for (const reduce of [undefined, null, 1]) {
    assert.throws(
      () => newBuilder().addVertex(vertex("a", { reduce: wrong(reduce) })),
      buildError("addVertex", /reduce/),
    );
  }
});

test("a second binding of an id is refused at once and the first is kept (BLD-07)", () => {
  const first = new Echo();
  const builder = newBuilder().addVertex(vertex("a", { task: first }));
  assert.throws(() => builder.addVertex(vertex("a", { task: new Echo() })), (error: DuplicateVertexError) => {
    assert.equal(error.name, "DuplicateVertexError");
    assert.equal(error.vertexId, "a");
    return true;
  });
  const source = builder.build({ entry: "a", finish: "a" }).vertices.get("a")?.task;
  assert.ok(source?.kind === "instance" && source.task === first);
});

test("the faults of one vertex are found in the order id, duplicate, task, selector, reducer (BLD-08)", () => {
  const broken = { task: wrong(undefined), select: wrong(1), reduce: wrong(1) };
  const builder = graphWith(["a"]);
  assert.throws(() => builder.addVertex(vertex(wrong(""), broken)), buildError("addVertex", /vertex id/));
  assert.throws(() => builder.addVertex(vertex("a", broken)), { name: "DuplicateVertexError" });
  assert.throws(() => builder.addVertex(vertex("b", broken)), buildError("addVertex", /task/));
  assert.throws(
    () => builder.addVertex(vertex("b", { ...broken, task: Echo })),
    buildError("addVertex", /select/),
  );
  assert.throws(
    () => builder.addVertex(vertex("b", { reduce: broken.reduce, join: wrong("some") })),
    buildError("addVertex", /reduce/),
  );
});

test("a join that is neither any nor all, and a label that is no text, are build errors (D6)", () => {
  assert.throws(
    () => newBuilder().addVertex(vertex("a", { join: wrong("some") })),
    buildError("addVertex", /join/),
  );
  assert.throws(
    () => newBuilder().addVertex(vertex("a", { label: wrong(1) })),
    buildError("addVertex", /label/),
  );
});

test("a zero end of an edge is a BuildError of addEdge, and from is looked at first (BLD-09)", () => {
  for (const id of ZERO_IDS) {
    const builder = newBuilder();
    assert.throws(() => builder.addEdge(wrong(id), "b"), buildError("addEdge", /from/));
    assert.throws(() => builder.addEdge("a", wrong(id)), buildError("addEdge", /to is/));
    assert.throws(() => builder.addEdge(wrong(id), wrong(id)), buildError("addEdge", /from/));
    assert.deepEqual(builder.contents(), NOTHING);
  }
});

test("an edge may name vertices that are added later (BLD-10)", () => {
  const builder = newBuilder().addEdge("a", "b").addVertex(vertex("b")).addVertex(vertex("a"));
  assert.deepEqual(builder.build({ entry: "a", finish: "b" }).vertices.get("a")?.edges, ["b"]);
});

test("several edges from one vertex are kept in the order they were declared (BLD-11)", () => {
  const builder = newBuilder().addEdge("a", "c").addEdge("a", "b");
  assert.deepEqual(builder.contents().edges, [{ from: "a", to: "c" }, { from: "a", to: "b" }]);
});

test("an edge from a vertex to itself is accepted (BLD-12)", () => {
  const graph = graphWith(["a"], [["a", "a"]]).build({ entry: "a", finish: "a" });
  assert.deepEqual(graph.vertices.get("a")?.edges, ["a"]);
});

test("an edge added twice is kept twice (BLD-13)", () => {
  const builder = graphWith(["a", "b"], [["a", "b"], ["a", "b"]]);
  assert.equal(builder.contents().edges.length, 2);
  assert.deepEqual(builder.build({ entry: "a", finish: "b" }).vertices.get("a")?.edges, ["b", "b"]);
});

test("a zero from, a missing pick and no targets are BuildErrors of addConditionalEdge (BLD-14)", () => {
  const builder = newBuilder();
  const pick = () => "b" as const;
  const targets = ["b"] as const;
  for (const id of ZERO_IDS) {
    assert.throws(
      () => builder.addConditionalEdge(wrong(id), { targets, pick }),
      buildError("addConditionalEdge", /from/),
    );
  }
  for (const none of [undefined, null, "b"]) {
    assert.throws(
      () => builder.addConditionalEdge("a", { targets, pick: wrong(none) }),
      buildError("addConditionalEdge", /pick/),
    );
  }
  for (const none of [undefined, null, "b", []]) {
    assert.throws(
      () => builder.addConditionalEdge("a", { targets: wrong(none), pick: wrong(pick) }),
      buildError("addConditionalEdge", /targets/),
    );
  }
  assert.throws(
    () => builder.addConditionalEdge("a", wrong(undefined)),
    buildError("addConditionalEdge", /pick/),
  );
  assert.deepEqual(builder.contents(), NOTHING);
});

test("a second condition on a vertex is refused and the first is kept (BLD-15)", () => {
  const builder = graphWith(["a", "b", "c"]).addConditionalEdge("a", {
    targets: ["b", "c"],
    pick: () => "b",
  });
  assert.throws(
    () => builder.addConditionalEdge("a", { targets: ["c"], pick: () => "c" }),
    (error: DuplicateConditionalEdgeError) => {
      assert.equal(error.name, "DuplicateConditionalEdgeError");
      assert.equal(error.from, "a");
      assert.match(error.message, /duplicate conditional edge for vertex a/);
      return true;
    },
  );
  assert.deepEqual(builder.build({ entry: "a", finish: "b" }).vertices.get("a")?.condition?.targets, [
    "b",
    "c",
  ]);
});

test("a malformed second condition is an argument fault, not a duplicate (BLD-16)", () => {
  const builder = newBuilder().addConditionalEdge("a", { targets: ["b"], pick: () => "b" });
  assert.throws(
    () => builder.addConditionalEdge("a", { targets: ["c"], pick: wrong(undefined) }),
    buildError("addConditionalEdge", /pick/),
  );
  assert.throws(
    () => builder.addConditionalEdge("a", { targets: wrong([]), pick: () => "c" }),
    buildError("addConditionalEdge", /targets/),
  );
});

test("the caller's array of targets is copied (BLD-17)", () => {
  const targets = ["b"];
  const builder = graphWith(["a", "b"]).addConditionalEdge("a", { targets, pick: () => "b" });
  targets.push("nobody");
  assert.deepEqual(builder.contents().conditions, [{ from: "a", targets: ["b"] }]);
  assert.deepEqual(builder.build({ entry: "a", finish: "b" }).vertices.get("a")?.condition?.targets, ["b"]);
});

test("a static and a conditional edge from one vertex are both taken; only the build objects (BLD-18)", () => {
  const builder = graphWith(["a", "b"], [["a", "b"]]).addConditionalEdge("a", {
    targets: ["b"],
    pick: () => "b",
  });
  assert.deepEqual(builder.contents().edges, [{ from: "a", to: "b" }]);
  assert.deepEqual(builder.contents().conditions, [{ from: "a", targets: ["b"] }]);
  assert.throws(() => builder.build({ entry: "a", finish: "b" }), { name: "AmbiguousRoutingError" });
});

test("a call refuses an option that it does not have, and says where one of another call belongs (D9)", () => {
  const said: readonly (readonly [object, string])[] = [
    [{ lable: "A" }, 'there is no option "lable"; did you mean "label"?'],
    [{ to: "b" }, 'there is no option "to" here; add it with addEdge(from, to)'],
    [{ entry: true }, 'there is no option "entry" here; give it to build({ entry, finish })'],
    [
      { retry: { maxAttempts: 2, retryif: 1 } },
      'retry: there is no option "retryif"; did you mean "retryIf"?',
    ],
    [
      { retry: { maxAttempts: 2, backoff: { initial: 1, jiter: true } } },
      'retry.backoff: there is no option "jiter"; did you mean "jitter"?',
    ],
    [{ timeout: { totl: 1 } }, 'timeout: there is no option "totl"; did you mean "total"?'],
    [
      { onError: { route: "b", recrod: 1 } },
      'the error handler to b: there is no option "recrod"; did you mean "record"?',
    ],
  ];
  for (const [more, about] of said) {
    const builder = newBuilder();
    assert.throws(
      () => builder.addVertex(wrong({ ...vertex("a"), ...more })),
      { name: "BuildError", message: `superstep: addVertex: vertex a (class Echo) of graph g: ${about}` },
    );
    assert.deepEqual(builder.contents(), NOTHING);
  }
  assert.throws(
    () => graphWith(["a"]).addConditionalEdge("a", wrong({ targets: ["b"], pick: () => "b", target: 1 })),
    buildError("addConditionalEdge", /vertex a .*no option "target"; did you mean "targets"\?/),
  );
  assert.throws(
    () => newBuilder().addSchedule("0 9 * * *", wrong({ timezon: "UTC" })),
    buildError("addSchedule", /graph g: there is no option "timezon"; did you mean "timezone"\?/),
  );
  assert.throws(
    () => newBuilder(wrong({ shema: 1 })),
    buildError("GraphBuilder", /graph g: there is no option "shema"; did you mean "schema"\?/),
  );
});

test("a class where an id belongs is refused with what to write (D9)", () => {
  const advice = /the function Echo; edges name vertices by their id, a text such as to: "review"/;
  const builder = graphWith(["a"]);
  assert.throws(() => builder.addEdge("a", wrong(Echo)), buildError("addEdge", advice));
  assert.throws(
    () => builder.addConditionalEdge("a", wrong({ targets: ["a", Echo], pick: () => "a" })),
    buildError("addConditionalEdge", advice),
  );
  assert.throws(
    () => builder.addConditionalEdge("a", wrong({ targets: [undefined], pick: () => "a" })),
    buildError("addConditionalEdge", /a target is undefined/),
  );
  assert.throws(
    () => builder.addVertex(wrong({ ...vertex("b"), onError: { route: Echo } })),
    buildError("addVertex", advice),
  );
});
