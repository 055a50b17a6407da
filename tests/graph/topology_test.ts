// Runs on deno by default: graphs are plain data, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalForm, mermaid, topology } from "../../src/graph/mod.ts";
import { Echo, graphWith, newBuilder, vertex } from "./fixtures.ts";

function rich() {
  return newBuilder({ id: "rich", version: 2 })
    .addVertex(vertex("end", { label: 'The "end" <b>', join: "all" }))
    .addVertex(vertex("a", { onError: [{ route: "end", match: TypeError }, { route: "a" }] }))
    .addVertex({ id: "items", task: Echo, each: (s) => [s.count], reduce: () => {} })
    .addVertex(vertex("last"))
    .addEdge("a", "items").addEdge("a", "end").addEdge("end", "last")
    .addConditionalEdge("items", { targets: ["end", "a"], pick: () => "end" })
    .build({ entry: "a", finish: ["last", "end"] });
}

test("the topology has ids, version, ends, labels, flags and edges of all three kinds (H1, OBS-23, OBS-38)", () => {
  const graph = rich();
  assert.deepEqual(topology(graph), {
    id: "rich",
    version: graph.version,
    entry: "a",
    finishes: ["end", "last"],
    vertices: [
      { id: "a", label: "", join: "any", each: false },
      { id: "end", label: 'The "end" <b>', join: "all", each: false },
      { id: "items", label: "", join: "any", each: true },
      { id: "last", label: "", join: "any", each: false },
    ],
    edges: [{ from: "a", to: "end" }, { from: "a", to: "items" }, { from: "end", to: "last" }],
    conditions: [{ from: "items", targets: ["a", "end"] }],
    errorRoutes: [{ from: "a", to: "end" }, { from: "a", to: "a" }],
  });
});

test("a topology is plain JSON (H1)", () => {
  assert.deepEqual(JSON.parse(JSON.stringify(topology(rich()))), topology(rich()));
});

test("the same graph built in another order has the same topology (OBS-24)", () => {
  const edges = [["a", "b"], ["a", "c"], ["b", "c"]] as const;
  const forth = graphWith(["a", "b", "c"], edges).build({ entry: "a", finish: ["b", "c"] });
  const back = graphWith(["c", "b", "a"], [...edges].reverse()).build({ entry: "a", finish: ["c", "b"] });
  assert.equal(JSON.stringify(topology(forth)), JSON.stringify(topology(back)));
});

test("the canonical form can be written from the topology alone (OBS-25)", () => {
  const t = topology(rich());
  const lines = [
    "V",
    ...t.vertices.map((v) => v.id + (v.join === "all" ? " join=all" : "") + (v.each ? " each" : "")),
    "E",
    ...t.edges.map((e) => `${e.from}->${e.to}`),
    "C",
    ...t.conditions.map((c) => `${c.from}?${c.targets.join(",")}`),
    "X",
    ...t.errorRoutes.map((x) => `${x.from}!${x.to}`),
    "R",
    t.entry,
    ...t.finishes,
  ];
  assert.equal(canonicalForm(rich()).replaceAll("\f", "\n"), lines.join("\n"));
});

test("Mermaid draws every vertex by its kind and every edge by its kind (H1)", () => {
  assert.equal(
    mermaid(rich()),
    [
      "flowchart TD",
      "  start(( ))",
      '  v0["a"]',
      '  v1{{"The #34;end#34; #60;b#62;"}}',
      '  v2[["items"]]',
      '  v3(["last"])',
      "  start --> v0",
      "  v0 --> v1",
      "  v0 --> v2",
      "  v1 --> v3",
      "  v2 -.-> v0",
      "  v2 -.-> v1",
      "  v0 -- error --> v1",
      "  v0 -- error --> v0",
      "",
    ].join("\n"),
  );
});

test("Mermaid colours vertices by their status, and knows no others (H1)", () => {
  const text = mermaid(rich(), { a: "done", items: "suspended", last: "done", ghost: "failed" });
  const classes = text.split("\n").filter((line) => line.startsWith("  class "));
  assert.deepEqual(classes, ["  class v0 done", "  class v2 suspended", "  class v3 done"]);
  const defined = [...text.matchAll(/classDef (\w+) /g)].map(([, name]) => name);
  assert.deepEqual(defined, ["done", "suspended"]);
});

test("a vertex may have the name of something that every object has (H1)", () => {
  const graph = graphWith(["constructor"]).build({ entry: "constructor", finish: "constructor" });
  assert.doesNotMatch(mermaid(graph), /class v0/);
  assert.match(mermaid(graph, Object.fromEntries([["constructor", "failed" as const]])), /class v0 failed/);
});
