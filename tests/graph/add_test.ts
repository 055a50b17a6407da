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

test("BLD-01: a new graph has user version 0, the id as given, and empty tables", () => {
  const builder = new GraphBuilder({ id: "Orders.v1:eu_west-2" });
  assert.equal(builder.version, 0);
  assert.equal(builder.id, "Orders.v1:eu_west-2");
  assert.deepEqual(builder.contents(), NOTHING);
});

test("BLD-02: the last version given wins, and an explicit 0 is accepted", () => {
  assert.equal(newBuilder({ ...{ version: 1 }, ...{ version: 9 } }).version, 9);
  assert.equal(newBuilder({ version: 0 }).version, 0);
});

test("D9: a graph with a malformed id, an invalid version or a schema that is none is a build error", () => {
  for (const id of ZERO_IDS) {
    assert.throws(() => newBuilder({ id: wrong(id) }), buildError("Graph", /graph's id/));
  }
  for (const version of [-1, 1.5, NaN, Infinity, "1"]) {
    assert.throws(() => newBuilder({ version: wrong(version) }), buildError("Graph", /version of graph g/));
  }
  assert.throws(
    () => newBuilder({ schema: wrong({ parse: () => 1 }) }),
    buildError("Graph", /Standard Schema/),
  );
});

test("D13: anything that implements Standard Schema is a schema, and zod does", () => {
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

test("BLD-03: a zero vertex id is a BuildError of AddVertex, and nothing is stored", () => {
  for (const id of ZERO_IDS) {
    const builder = newBuilder();
    assert.throws(() => builder.addVertex(vertex(wrong(id))), buildError("AddVertex", /vertex id/));
    assert.deepEqual(builder.contents(), NOTHING);
  }
});

test("BLD-04: a missing task is a BuildError of AddVertex, and so is what cannot be one", () => {
  for (const task of [undefined, null, {}, { execute: 1 }, () => 1, "Echo"]) {
    const builder = newBuilder();
    assert.throws(
      () => builder.addVertex(vertex("a", { task: wrong(task) })),
      buildError("AddVertex", /task/),
    );
    assert.deepEqual(builder.contents(), NOTHING);
  }
});

test("BLD-05: a missing selector is a BuildError of AddVertex", () => {
  for (const select of [undefined, null, "count"]) {
    assert.throws(
      () => newBuilder().addVertex(vertex("a", { select: wrong(select) })),
      buildError("AddVertex", /select/),
    );
  }
});

test("D5: a vertex has select or each, never both", () => {
  assert.throws(
    () => newBuilder().addVertex(wrong({ ...vertex("a"), each: () => [1] })),
    buildError("AddVertex", /both select and each/),
  );
  assert.throws(
    () => newBuilder().addVertex(wrong({ ...vertex("a"), select: undefined, each: "items" })),
    buildError("AddVertex", /select is "items"/),
  );
});

test("BLD-06: a missing reducer is a BuildError of AddVertex", () => {
  for (const reduce of [undefined, null, 1]) {
    assert.throws(
      () => newBuilder().addVertex(vertex("a", { reduce: wrong(reduce) })),
      buildError("AddVertex", /reduce/),
    );
  }
});

test("BLD-07: a second binding of an id is refused at once and the first is kept", () => {
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

test("BLD-08: the faults of one vertex are found in the order id, duplicate, task, selector, reducer", () => {
  const broken = { task: wrong(undefined), select: wrong(1), reduce: wrong(1) };
  const builder = graphWith(["a"]);
  assert.throws(() => builder.addVertex(vertex(wrong(""), broken)), buildError("AddVertex", /vertex id/));
  assert.throws(() => builder.addVertex(vertex("a", broken)), { name: "DuplicateVertexError" });
  assert.throws(() => builder.addVertex(vertex("b", broken)), buildError("AddVertex", /task/));
  assert.throws(
    () => builder.addVertex(vertex("b", { ...broken, task: Echo })),
    buildError("AddVertex", /select/),
  );
  assert.throws(
    () => builder.addVertex(vertex("b", { reduce: broken.reduce, join: wrong("some") })),
    buildError("AddVertex", /reduce/),
  );
});

test("D6: a join that is neither any nor all, and a label that is no text, are build errors", () => {
  assert.throws(
    () => newBuilder().addVertex(vertex("a", { join: wrong("some") })),
    buildError("AddVertex", /join/),
  );
  assert.throws(
    () => newBuilder().addVertex(vertex("a", { label: wrong(1) })),
    buildError("AddVertex", /label/),
  );
});

test("BLD-09: a zero end of an edge is a BuildError of AddEdge, and from is looked at first", () => {
  for (const id of ZERO_IDS) {
    const builder = newBuilder();
    assert.throws(() => builder.addEdge(wrong(id), "b"), buildError("AddEdge", /from/));
    assert.throws(() => builder.addEdge("a", wrong(id)), buildError("AddEdge", /to is/));
    assert.throws(() => builder.addEdge(wrong(id), wrong(id)), buildError("AddEdge", /from/));
    assert.deepEqual(builder.contents(), NOTHING);
  }
});

test("BLD-10: an edge may name vertices that are added later", () => {
  const builder = newBuilder().addEdge("a", "b").addVertex(vertex("b")).addVertex(vertex("a"));
  assert.deepEqual(builder.build({ entry: "a", finish: "b" }).vertices.get("a")?.edges, ["b"]);
});

test("BLD-11: several edges from one vertex are kept in the order they were declared", () => {
  const builder = newBuilder().addEdge("a", "c").addEdge("a", "b");
  assert.deepEqual(builder.contents().edges, [{ from: "a", to: "c" }, { from: "a", to: "b" }]);
});

test("BLD-12: an edge from a vertex to itself is accepted", () => {
  const graph = graphWith(["a"], [["a", "a"]]).build({ entry: "a", finish: "a" });
  assert.deepEqual(graph.vertices.get("a")?.edges, ["a"]);
});

test("BLD-13: an edge added twice is kept twice", () => {
  const builder = graphWith(["a", "b"], [["a", "b"], ["a", "b"]]);
  assert.equal(builder.contents().edges.length, 2);
  assert.deepEqual(builder.build({ entry: "a", finish: "b" }).vertices.get("a")?.edges, ["b", "b"]);
});

test("BLD-14: a zero from, a missing pick and no targets are BuildErrors of AddConditionalEdge", () => {
  const builder = newBuilder();
  const pick = () => "b" as const;
  const targets = ["b"] as const;
  for (const id of ZERO_IDS) {
    assert.throws(
      () => builder.addConditionalEdge(wrong(id), { targets, pick }),
      buildError("AddConditionalEdge", /from/),
    );
  }
  for (const none of [undefined, null, "b"]) {
    assert.throws(
      () => builder.addConditionalEdge("a", { targets, pick: wrong(none) }),
      buildError("AddConditionalEdge", /pick/),
    );
  }
  for (const none of [undefined, null, "b", []]) {
    assert.throws(
      () => builder.addConditionalEdge("a", { targets: wrong(none), pick: wrong(pick) }),
      buildError("AddConditionalEdge", /targets/),
    );
  }
  assert.throws(
    () => builder.addConditionalEdge("a", wrong(undefined)),
    buildError("AddConditionalEdge", /pick/),
  );
  assert.deepEqual(builder.contents(), NOTHING);
});

test("BLD-15: a second condition on a vertex is refused and the first is kept", () => {
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

test("BLD-16: a malformed second condition is an argument fault, not a duplicate", () => {
  const builder = newBuilder().addConditionalEdge("a", { targets: ["b"], pick: () => "b" });
  assert.throws(
    () => builder.addConditionalEdge("a", { targets: ["c"], pick: wrong(undefined) }),
    buildError("AddConditionalEdge", /pick/),
  );
  assert.throws(
    () => builder.addConditionalEdge("a", { targets: wrong([]), pick: () => "c" }),
    buildError("AddConditionalEdge", /targets/),
  );
});

test("BLD-17: the caller's array of targets is copied", () => {
  const targets = ["b"];
  const builder = graphWith(["a", "b"]).addConditionalEdge("a", { targets, pick: () => "b" });
  targets.push("nobody");
  assert.deepEqual(builder.contents().conditions, [{ from: "a", targets: ["b"] }]);
  assert.deepEqual(builder.build({ entry: "a", finish: "b" }).vertices.get("a")?.condition?.targets, ["b"]);
});

test("BLD-18: a static and a conditional edge from one vertex are both taken; only the build objects", () => {
  const builder = graphWith(["a", "b"], [["a", "b"]]).addConditionalEdge("a", {
    targets: ["b"],
    pick: () => "b",
  });
  assert.deepEqual(builder.contents().edges, [{ from: "a", to: "b" }]);
  assert.deepEqual(builder.contents().conditions, [{ from: "a", targets: ["b"] }]);
  assert.throws(() => builder.build({ entry: "a", finish: "b" }), { name: "AmbiguousRoutingError" });
});
