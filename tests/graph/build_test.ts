// Runs on deno by default: graphs are plain data, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  AmbiguousRoutingError,
  MissingEntryError,
  UnknownVertexError,
  UnreachableVertexError,
} from "../../src/errors.ts";
import { as, graphWith, newBuilder, vertex, wrong } from "./fixtures.ts";

const AB = [["a", "b"]] as const;

function missing(role: "entry" | "finish", id: string | undefined) {
  return (error: MissingEntryError) => {
    assert.equal(error.name, "MissingEntryError");
    assert.equal(error.role, role);
    assert.equal(error.vertexId, id);
    return true;
  };
}

function fault(name: string, id: string) {
  return (error: UnknownVertexError | AmbiguousRoutingError | UnreachableVertexError) => {
    assert.equal(error.name, name);
    assert.equal(error.vertexId, id);
    return true;
  };
}

test("an entry that is no vertex is a MissingEntryError of the entry (BLD-19)", () => {
  assert.throws(() => graphWith(["a"]).build({ entry: "z", finish: "a" }), missing("entry", "z"));
  assert.throws(
    () => graphWith(["a"]).build({ entry: wrong(undefined), finish: "a" }),
    missing("entry", undefined),
  );
});

test("a finish that is no vertex is a MissingEntryError of the finish (BLD-20)", () => {
  assert.throws(() => graphWith(["a"]).build({ entry: "a", finish: "z" }), missing("finish", "z"));
  assert.throws(
    () => graphWith(["a", "b"], AB).build({ entry: "a", finish: ["b", "z"] }),
    missing("finish", "z"),
  );
});

test("a graph has at least one finish (D8)", () => {
  assert.throws(() => graphWith(["a"]).build({ entry: "a", finish: [] }), missing("finish", undefined));
  assert.throws(
    () => graphWith(["a"]).build({ entry: "a", finish: wrong(undefined) }),
    missing("finish", undefined),
  );
});

test("of an entry and a finish that are both absent, the entry is reported (BLD-21)", () => {
  assert.throws(() => graphWith(["a"]).build({ entry: "y", finish: "z" }), missing("entry", "y"));
});

test("an unknown id is named, wherever it stands (BLD-22)", () => {
  const ends = { entry: "a", finish: "b" };
  const base = () => graphWith(["a", "b"], AB);
  const cases = {
    "static to": base().addEdge("a", "nowhere"),
    "static from": base().addEdge("nowhere", "b"),
    "conditional target": base().addConditionalEdge("b", { targets: ["a", "nowhere"], pick: () => "a" }),
    "conditional from": base().addConditionalEdge("nowhere", { targets: ["a"], pick: () => "a" }),
    "error route": newBuilder().addVertex(vertex("a", { onError: { route: "nowhere" } })).addVertex(
      vertex("b"),
    )
      .addEdge("a", "b"),
  };
  for (const [place, builder] of Object.entries(cases)) {
    assert.throws(() => builder.build(ends), fault("UnknownVertexError", "nowhere"), place);
  }
});

test("an unknown id is answered with the closest known one, where one is close (D9)", () => {
  const graph = graphWith(["review", "send"], [["review", "sned"]]);
  assert.throws(
    () => graph.build({ entry: "review", finish: "send" }),
    /unknown vertex "sned".*did you mean "send"\?/,
  );
  assert.throws(() => graph.build({ entry: "Revew", finish: "send" }), /did you mean "review"\?/);
  assert.throws(() => graph.build({ entry: "archive", finish: "send" }), (error: Error) => {
    assert.doesNotMatch(error.message, /did you mean/);
    return true;
  });
});

test("a vertex with static and conditional out-edges is ambiguous (BLD-23)", () => {
  const builder = graphWith(["a", "b"], AB).addConditionalEdge("a", { targets: ["b"], pick: () => "b" });
  assert.throws(() => builder.build({ entry: "a", finish: "b" }), fault("AmbiguousRoutingError", "a"));
});

test("a vertex that nobody points at is unreachable (BLD-24)", () => {
  const builder = graphWith(["a", "b", "lost"], AB);
  assert.throws(() => builder.build({ entry: "a", finish: "b" }), fault("UnreachableVertexError", "lost"));
});

test("vertices that only point at each other are unreachable (BLD-24)", () => {
  const builder = graphWith(["a", "b", "x", "y"], [["a", "b"], ["x", "y"], ["y", "x"]]);
  assert.throws(() => builder.build({ entry: "a", finish: "b" }), fault("UnreachableVertexError", "x"));
});

test("a finish that the entry does not lead to is unreachable (BLD-25)", () => {
  assert.throws(
    () => graphWith(["a", "b"]).build({ entry: "a", finish: "b" }),
    fault("UnreachableVertexError", "b"),
  );
});

test("targets of a condition and handlers of an error route are reachable (BLD-26)", () => {
  const conditional = graphWith(["a", "b"]).addConditionalEdge("a", { targets: ["b"], pick: () => "b" });
  assert.ok(conditional.build({ entry: "a", finish: "b" }).vertices.has("b"));
  const routed = newBuilder().addVertex(vertex("a", { onError: { route: "b" } })).addVertex(vertex("b"));
  assert.ok(routed.build({ entry: "a", finish: "a" }).vertices.has("b"));
});

test("cycles and back-edges are legal (BLD-27)", () => {
  const graph = graphWith(["a", "b", "c"], [["a", "b"], ["b", "c"], ["c", "a"], ["b", "b"]]);
  assert.deepEqual(graph.build({ entry: "a", finish: "c" }).vertices.get("c")?.edges, ["a"]);
});

test("one vertex without edges may be entry and finish (BLD-28)", () => {
  const graph = graphWith(["a"]).build({ entry: "a", finish: "a" });
  assert.equal(graph.entry, "a");
  assert.deepEqual([...graph.finishes], ["a"]);
  assert.equal(graph.vertices.get("a")?.finish, true);
});

test("classes of faults are reported in order, one at a time as they are mended (BLD-29)", () => {
  const builder = newBuilder()
    .addVertex(vertex("a", { onError: { route: "no-handler" } }))
    .addVertex(vertex("b")).addVertex(vertex("lost"))
    .addEdge("a", "no-static").addConditionalEdge("a", { targets: ["no-target", "b"], pick: () => "b" });
  const expected = [
    missing("entry", "no-entry"),
    missing("finish", "no-finish"),
    fault("UnknownVertexError", "no-static"),
    fault("UnknownVertexError", "no-target"),
    fault("UnknownVertexError", "no-handler"),
    fault("AmbiguousRoutingError", "a"),
  ];
  assert.throws(
    () => builder.build({ entry: "no-entry", finish: "no-finish" }),
    missing("entry", "no-entry"),
  );
  const found = builder.faults({ entry: "no-entry", finish: "no-finish" });
  assert.equal(found.length, expected.length);
  found.forEach((error, i) => expected[i]?.(error as never));

  for (const id of ["no-static", "no-target", "no-handler"]) builder.addVertex(vertex(id));
  const later = builder.faults({ entry: "a", finish: "b" });
  assert.deepEqual(later.map((f) => f.name), ["AmbiguousRoutingError", "UnreachableVertexError"]);
});

test("of several faults of one class, the first in ascending id order is named, whatever the order of calls (BLD-30)", () => {
  for (const lost of [["x", "y", "z"], ["z", "y", "x"]]) {
    const builder = graphWith(["a", ...lost]);
    assert.throws(() => builder.build({ entry: "a", finish: "a" }), fault("UnreachableVertexError", "x"));
    assert.equal(builder.faults({ entry: "a", finish: "a" }).length, 3);
  }
});

test("an error route needs no record (the build half of BLD-35) (D7)", () => {
  const builder = newBuilder().addVertex(vertex("a", { onError: { route: "b" } })).addVertex(vertex("b"));
  assert.deepEqual(builder.build({ entry: "a", finish: "a" }).vertices.get("a")?.handlers, [{ route: "b" }]);
});

test("an error route may lead to its own vertex, and several may share a handler (BLD-36)", () => {
  const builder = newBuilder()
    .addVertex(vertex("a", { onError: [{ route: "a", match: TypeError }, { route: "h" }] }))
    .addVertex(vertex("b", { onError: { route: "h" } })).addVertex(vertex("h")).addEdge("a", "b");
  const graph = builder.build({ entry: "a", finish: "b" });
  assert.deepEqual(graph.vertices.get("a")?.handlers.map((h) => h.route), ["a", "h"]);
  assert.deepEqual(graph.vertices.get("h")?.sources, ["a", "b"]);
});

test("later calls on the builder do not reach a graph that was built (BLD-40)", () => {
  const builder = graphWith(["a", "b"], AB);
  const graph = builder.build({ entry: "a", finish: "b" });
  const { version } = graph;
  builder.addVertex(vertex("c")).addEdge("a", "c").addConditionalEdge("b", {
    targets: ["a"],
    pick: () => "a",
  });
  assert.deepEqual([...graph.vertices.keys()], ["a", "b"]);
  assert.deepEqual(graph.vertices.get("a")?.edges, ["b"]);
  assert.equal(graph.vertices.get("b")?.condition, undefined);
  assert.equal(graph.version, version);
});

test("nobody can change a graph that was built (BLD-40)", () => {
  const graph = graphWith(["a", "b"], AB)
    .addConditionalEdge("b", { targets: ["a"], pick: () => "a" }).build({ entry: "a", finish: "b" });
  const a = graph.vertices.get("a");
  const changes: Readonly<Record<string, () => unknown>> = {
    entry: () => as<{ entry: string }>(graph).entry = "b",
    "vertices.set": () => as<Map<string, unknown>>(graph.vertices).set("c", a),
    "vertices.delete": () => as<Map<string, unknown>>(graph.vertices).delete("a"),
    "vertices.clear": () => as<Map<string, unknown>>(graph.vertices).clear(),
    "finishes.add": () => as<Set<string>>(graph.finishes).add("a"),
    "a vertex": () => as<{ join: string }>(a).join = "all",
    "its edges": () => as<string[]>(a?.edges).push("a"),
    "its sources": () => as<string[]>(a?.sources).push("b"),
    "its targets": () => as<string[]>(a?.targets).push("b"),
    "its handlers": () => as<unknown[]>(a?.handlers).push({ route: "b" }),
    "its retry": () => as<{ maxAttempts: number }>(a?.retry).maxAttempts = 9,
    "its timeout": () => as<{ totalMs: number }>(a?.timeout).totalMs = 9,
    "its waits": () => as<Map<string, unknown>>(a?.waits).set("w", {}),
    "its task": () => as<{ kind: string }>(a?.task).kind = "instance",
    "a condition": () => as<{ pick: unknown }>(graph.vertices.get("b")?.condition).pick = () => "b",
    "its choices": () => as<string[]>(graph.vertices.get("b")?.condition?.targets).push("b"),
  };
  for (const [what, change] of Object.entries(changes)) assert.throws(change, TypeError, what);
});

test("a zero id among a condition's targets is taken, and the build calls it unknown (BLD-42)", () => {
  const builder = graphWith(["a", "b"]).addConditionalEdge("a", { targets: ["b", ""], pick: () => "b" });
  assert.throws(() => builder.build({ entry: "a", finish: "b" }), fault("UnknownVertexError", ""));
});

test("the vertices of a graph stand in ascending id order by code units, whatever the order of calls (E5)", () => {
  const ids = ["b", "a10", "a9", "B", "a-b", "a.b", "Z"];
  const builder = graphWith([...ids, "entry"], ids.map((id) => ["entry", id] as const));
  const graph = builder.build({ entry: "entry", finish: "b" });
  const sorted = ["B", "Z", "a-b", "a.b", "a10", "a9", "b"];
  assert.deepEqual([...graph.vertices.keys()], [...sorted, "entry"]);
  assert.deepEqual(graph.vertices.get("entry")?.edges, ids, "edges stay as they were declared");
});

test("sources and targets of a vertex cover edges of every kind, each vertex once", () => {
  const graph = newBuilder()
    .addVertex(vertex("a", { onError: [{ route: "c" }, { route: "c", match: RangeError }] }))
    .addVertex(vertex("b")).addVertex(vertex("c"))
    .addEdge("a", "b").addEdge("a", "b").addEdge("a", "c")
    .addConditionalEdge("b", { targets: ["c", "a", "c"], pick: () => "a" })
    .build({ entry: "a", finish: ["c", "b", "c"] });
  assert.deepEqual(graph.vertices.get("a")?.targets, ["b", "c"]);
  assert.deepEqual(graph.vertices.get("b")?.targets, ["a", "c"]);
  assert.deepEqual(graph.vertices.get("c")?.sources, ["a", "b"]);
  assert.deepEqual(graph.vertices.get("c")?.targets, []);
  assert.deepEqual([...graph.finishes], ["b", "c"]);
});
