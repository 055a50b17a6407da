// Runs on deno by default: graphs are plain data, the same everywhere.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { z } from "zod";
import { canonicalForm, describeVersionDifference, type GraphBuilder } from "../../src/graph/mod.ts";
import type { GraphEnds } from "../../src/graph/mod.ts";
import { defineWait } from "../../src/decorators/mod.ts";
import { Echo, graphWith, newBuilder, type State, vertex } from "./fixtures.ts";

const AB: GraphEnds = { entry: "a", finish: "b" };
const ABC: GraphEnds = { entry: "a", finish: "c" };

function versionOf(builder: GraphBuilder<State>, ends: GraphEnds = AB): string {
  return builder.build(ends).version;
}

function formOf(builder: GraphBuilder<State>, ends: GraphEnds = AB): string {
  return canonicalForm(builder.build(ends));
}

/** a -> b -> c */
function chain(): GraphBuilder<State> {
  return graphWith(["a", "b", "c"], [["a", "b"], ["b", "c"]]);
}

test("one definition has one version, with exactly one colon (VER-01)", () => {
  const builder = chain();
  const version = versionOf(builder, ABC);
  assert.equal(versionOf(builder, ABC), version);
  assert.equal(versionOf(chain(), ABC), version);
  assert.match(version, /^[0-9a-f]{64}:0$/);
});

test("every change of the graph changes the version (VER-02, H3)", () => {
  const routed = (route: string) =>
    newBuilder().addVertex(vertex("a", { onError: { route } })).addVertex(vertex("b")).addVertex(vertex("c"))
      .addEdge("a", "b").addEdge("b", "c");
  const picked = (targets: readonly string[]) =>
    graphWith(["a", "b", "c"], [["b", "c"]]).addConditionalEdge("a", {
      targets,
      pick: () => targets[0] as string,
    });
  const stacked = (...routes: readonly string[]) =>
    newBuilder().addVertex(vertex("a", { onError: routes.map((route) => ({ route })) })).addVertex(
      vertex("b"),
    )
      .addVertex(vertex("c")).addEdge("a", "b").addEdge("b", "c");
  const versions = {
    base: versionOf(chain(), ABC),
    "a vertex more": versionOf(chain().addVertex(vertex("d")).addEdge("c", "d"), ABC),
    "an edge rewired": versionOf(graphWith(["a", "b", "c"], [["a", "b"], ["a", "c"]]), ABC),
    "targets of one": versionOf(picked(["b"]), ABC),
    "targets of two": versionOf(picked(["b", "c"]), ABC),
    "an error route": versionOf(routed("c"), ABC),
    "another error route": versionOf(routed("b"), ABC),
    "two error routes": versionOf(stacked("b", "c"), ABC),
    "the same in another order": versionOf(stacked("c", "b"), ABC),
    "another entry": versionOf(graphWith(["a", "b", "c"], [["a", "b"], ["b", "c"], ["c", "a"]]), ABC),
    "with the entry b": versionOf(graphWith(["a", "b", "c"], [["a", "b"], ["b", "c"], ["c", "a"]]), {
      entry: "b",
      finish: "c",
    }),
    "another finish": versionOf(chain(), { entry: "a", finish: "b" }),
    "two finishes": versionOf(chain(), { entry: "a", finish: ["b", "c"] }),
    "a join": versionOf(
      newBuilder().addVertex(vertex("a")).addVertex(vertex("b")).addVertex(vertex("c", { join: "all" }))
        .addEdge("a", "b").addEdge("b", "c"),
      ABC,
    ),
    "a map vertex": versionOf(
      newBuilder().addVertex(vertex("a")).addVertex(vertex("b"))
        .addVertex({ id: "c", task: Echo, each: (s) => [s.count], reduce: () => {} })
        .addEdge("a", "b").addEdge("b", "c"),
      ABC,
    ),
  };
  const names = Object.keys(versions) as (keyof typeof versions)[];
  for (const a of names) {
    for (const b of names) {
      if (a < b) assert.notEqual(versions[a], versions[b], `${a} and ${b} share a version`);
    }
  }
});

test("the code of tasks, selectors, reducers and picks is no part of the version (VER-03)", () => {
  const first = newBuilder().addVertex(vertex("a")).addVertex(vertex("b"))
    .addConditionalEdge("a", { targets: ["b"], pick: () => "b" });
  const second = newBuilder()
    .addVertex(vertex("a", { task: new Echo(), select: () => 7, reduce: () => {} })).addVertex(vertex("b"))
    .addConditionalEdge("a", { targets: ["b"], pick: () => ["b"] });
  assert.equal(versionOf(first), versionOf(second));
});

test("the user's version is the part behind the colon (VER-04)", () => {
  const versions = [0, 1, 2].map((version) =>
    newBuilder({ version }).addVertex(vertex("a")).build({ entry: "a", finish: "a" }).version.split(":")
  );
  assert.deepEqual(versions.map(([, user]) => user), ["0", "1", "2"]);
  assert.equal(new Set(versions.map(([hash]) => hash)).size, 1);
});

test("the order in which vertices, edges, targets and finishes were declared is no part of the version (VER-05)", () => {
  const first = graphWith(["a", "b", "c", "d"], [["a", "b"], ["a", "c"], ["b", "d"]])
    .addConditionalEdge("c", { targets: ["a", "d"], pick: () => "a" });
  const second = graphWith(["d", "c", "b", "a"], [["b", "d"], ["a", "c"], ["a", "b"]])
    .addConditionalEdge("c", { targets: ["d", "a"], pick: () => "a" });
  assert.equal(
    versionOf(first, { entry: "a", finish: ["b", "d"] }),
    versionOf(second, { entry: "a", finish: ["d", "b"] }),
  );
});

test("a static edge and a conditional one are not the same (VER-06)", () => {
  const conditional = graphWith(["a", "b"]).addConditionalEdge("a", { targets: ["b"], pick: () => "b" });
  assert.notEqual(versionOf(graphWith(["a", "b"], [["a", "b"]])), versionOf(conditional));
});

test("the direction of an edge counts (VER-07)", () => {
  const both = [["a", "b"], ["b", "a"]] as const;
  const forth = graphWith(["a", "b"], [...both, ["a", "b"]]);
  const back = graphWith(["a", "b"], [...both, ["b", "a"]]);
  assert.notEqual(versionOf(forth), versionOf(back));
});

test("the canonical form of a pinned graph, and its hash (VER-08, H3)", () => {
  const graph = newBuilder({ version: 4 })
    .addVertex(vertex("w-3", { onError: [{ route: "w-2", match: TypeError }, { route: "w-1" }] }))
    .addVertex(vertex("w-2", { join: "all" }))
    .addVertex({ id: "w-1", task: Echo, each: (s) => [s.count], reduce: () => {} })
    .addEdge("w-1", "w-3").addEdge("w-1", "w-2")
    .addConditionalEdge("w-2", { targets: ["w-3", "w-1"], pick: () => "w-1" })
    .build({ entry: "w-1", finish: ["w-3", "w-2"] });
  const form = "V\nw-1 each\nw-2 join=all\nw-3\fE\nw-1->w-2\nw-1->w-3\fC\nw-2?w-1,w-3\fX\nw-3!w-2\nw-3!w-1" +
    "\fR\nw-1\nw-2\nw-3";
  assert.equal(canonicalForm(graph), form);
  assert.equal(graph.version, `${createHash("sha256").update(form).digest("hex")}:4`);
});

test("a graph without joins and maps and with one finish has the form of the reference (VER-08)", () => {
  const graph = chain().build(ABC);
  assert.equal(canonicalForm(graph), "V\na\nb\nc\fE\na->b\nb->c\fC\n\fX\n\fR\na\nc");
});

test("policies, labels, waits and the graph's id are no part of the version (VER-09)", () => {
  const plain = newBuilder({ id: "one" }).addVertex(vertex("a")).build({ entry: "a", finish: "a" });
  const rich = newBuilder({ id: "two" }).addVertex(
    vertex("a", {
      waits: [defineWait("w", z.string())],
      label: "A",
      retry: { maxAttempts: 9 },
      timeout: "1s",
      onError: "pause",
    }),
  ).build({ entry: "a", finish: "a" });
  assert.equal(plain.version, rich.version);
});

test("an edge declared twice counts twice (VER-11)", () => {
  const once = graphWith(["a", "b"], [["a", "b"]]);
  const twice = graphWith(["a", "b"], [["a", "b"], ["a", "b"]]);
  assert.notEqual(versionOf(once), versionOf(twice));
  assert.match(formOf(twice), /E\na->b\na->b\f/);
});

test("an empty section keeps its tag (VER-12)", () => {
  assert.equal(formOf(graphWith(["a"]), { entry: "a", finish: "a" }), "V\na\fE\n\fC\n\fX\n\fR\na\na");
});

test("the first difference between two forms is told in words (H3)", () => {
  const base = formOf(chain(), ABC);
  const cases: readonly (readonly [string, string])[] = [
    [formOf(chain().addVertex(vertex("d")).addEdge("c", "d"), ABC), "vertex d was added"],
    [formOf(graphWith(["a", "c"], [["a", "c"]]), ABC), "vertex b was removed"],
    [
      formOf(
        newBuilder().addVertex(vertex("a")).addVertex(vertex("b")).addVertex(vertex("c", { join: "all" }))
          .addEdge("a", "b").addEdge("b", "c"),
        ABC,
      ),
      "vertex c has become vertex c (join=all)",
    ],
    [
      formOf(graphWith(["a", "b", "c"], [["a", "b"], ["a", "c"], ["b", "c"]]), ABC),
      "the edge a -> c was added",
    ],
    [
      formOf(graphWith(["a", "b", "c"], [["a", "b"], ["b", "c"], ["b", "c"]]), ABC),
      "the edge b -> c was added",
    ],
    [
      formOf(graphWith(["a", "b", "c"], [["a", "c"], ["c", "b"]]), ABC),
      "the edge a -> b has become the edge a -> c",
    ],
    [
      formOf(
        graphWith(["a", "b", "c"], [["a", "b"], ["b", "c"]])
          .addConditionalEdge("c", { targets: ["a", "b"], pick: () => "a" }),
        ABC,
      ),
      "the condition of c over a, b was added",
    ],
    [formOf(chain(), { entry: "a", finish: ["b", "c"] }), "the finish b was added"],
    [formOf(chain(), { entry: "a", finish: "b" }), "the finish c was removed"],
    [base, "the graph is the same, only the version number that its author gave it differs"],
  ];
  for (const [live, words] of cases) assert.equal(describeVersionDifference(base, live), words);
  const cycle = graphWith(["a", "b"], [["a", "b"], ["b", "a"]]);
  assert.equal(
    describeVersionDifference(formOf(cycle), formOf(cycle, { entry: "b", finish: "b" })),
    "the entry was a, now it is b",
  );
});

test("error routes that have changed places are a difference (H3)", () => {
  const stacked = (...routes: readonly string[]) =>
    newBuilder().addVertex(vertex("a", { onError: routes.map((route) => ({ route })) })).addVertex(
      vertex("b"),
    )
      .addEdge("a", "b");
  assert.equal(
    describeVersionDifference(formOf(stacked("a", "b")), formOf(stacked("b", "a"))),
    "the error route a -> a and the error route a -> b have changed places",
  );
  assert.equal(
    describeVersionDifference(formOf(stacked("b")), formOf(stacked())),
    "the error route a -> b was removed",
  );
});

test("a graph that uses nothing new keeps its hash (H3)", () => {
  assert.equal(
    chain().build(ABC).version,
    "de3b39b5c4592a538d27a4b9a47bf47f90ea074d0c0b845bd3f33369868de0a2:0",
  );
  const everything = newBuilder({ version: 3 })
    .addVertex(vertex("start", { onError: [{ route: "y" }, { route: "x" }, { route: "y" }] }))
    .addVertex(vertex("x", { label: "X" })).addVertex(vertex("y"))
    .addVertex({ id: "m", task: Echo, each: (s) => [s.count], reduce: () => {} })
    .addVertex(vertex("j", { join: "all" }))
    .addEdge("start", "y").addEdge("start", "x").addEdge("start", "m").addEdge("start", "x")
    .addEdge("x", "j").addEdge("y", "j").addEdge("m", "j")
    .addConditionalEdge("j", { targets: ["x", "start", "j"], pick: () => "x" })
    .build({ entry: "start", finish: ["x", "j"] });
  assert.equal(
    everything.version,
    "225fd0df5cf35d106dbe9c8a4325311544a7d33431354126d158b2a0d1852c59:3",
  );
});
