// Runs on deno by default: graphs are plain data, the same everywhere.
/** Where a fault is: every build error names the graph, and the class where a vertex has one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import {
  BuildFaultsError,
  compile,
  Graph,
  GraphBuilder,
  isSuperstepError,
  type SuperstepError,
  Vertex,
  Workflow,
} from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";

const State = z.object({ text: z.string() });

class Echo {
  execute(text: string): string {
    return text;
  }
}

const echo = (id: string) => ({ id, task: Echo, select: (s: { text: string }) => s.text, reduce: () => {} });

function failing(act: () => unknown): SuperstepError {
  try {
    act();
  } catch (error) {
    assert.ok(isSuperstepError(error), String(error));
    return error;
  }
  return assert.fail("nothing was refused");
}

test("every fault of a builder names the graph, the vertex and its class, in its text and in its fields (D9)", () => {
  const builder = () => new GraphBuilder({ id: "flow", schema: State }).addVertex(echo("a"));
  const pick = { targets: ["a"], pick: () => "a" as const } as const;
  const ends = { entry: "a", finish: "a" };
  const cases: readonly (readonly [() => unknown, string, boolean?])[] = [
    [() => builder().addVertex(echo("a")), "duplicate vertex a in graph flow"],
    [
      () => builder().addVertex({ ...echo("b"), reduce: 1 as never }),
      "vertex b (class Echo) of graph flow: reduce is 1",
    ],
    [() => builder().addVertex(echo("b c")), 'graph flow: a vertex id is "b c"', false],
    [() => builder().addEdge("a", "b c"), 'graph flow: an edge from a: to is "b c"', false],
    [
      () => builder().addConditionalEdge("a", { targets: [], pick: () => [] }),
      "vertex a (class Echo) of graph flow: targets is empty",
    ],
    [
      () => builder().addConditionalEdge("a", pick).addConditionalEdge("a", pick),
      "duplicate conditional edge for vertex a in graph flow",
    ],
    [
      () => builder().build({ entry: "z", finish: "a" }),
      'the entry "z" is not a vertex of graph flow',
      false,
    ],
    [() => builder().build({ entry: "a", finish: [] }), "graph flow has no finish", false],
    [
      () => builder().addEdge("a", "z").build(ends),
      'unknown vertex "z" in the edge a -> z (class Echo) of graph flow',
    ],
    [
      () => builder().addConditionalEdge("a", { targets: ["z"], pick: () => "z" }).build(ends),
      'unknown vertex "z" in the targets of vertex a (class Echo) of graph flow',
    ],
    [
      () => builder().addVertex(echo("b")).build(ends),
      "unreachable vertex b (class Echo) in graph flow",
    ],
    [
      () => builder().addConditionalEdge("a", pick).addEdge("a", "a").build(ends),
      "ambiguous routing at vertex a (class Echo) in graph flow",
    ],
  ];
  for (const [act, text, named = true] of cases) {
    const error = failing(act);
    assert.ok(error.message.includes(text), `${text}\n${error.message}`);
    assert.equal(error.fields.graphId, "flow", text);
    assert.equal(error.fields.className, named ? "Echo" : undefined, text);
  }
});

test("a task that cannot be made names its vertex, class and graph, and says where its dependencies come from (D10)", () => {
  class Needy {
    readonly #name: string;
    constructor(services: { readonly name: string }) {
      this.#name = services.name;
    }
    execute(): string {
      return this.#name;
    }
  }
  const graph = new GraphBuilder({ id: "flow", schema: State })
    .addVertex({ id: "a", task: Needy, select: (s) => s.text, reduce: () => {} })
    .build({ entry: "a", finish: "a" });
  const store = memoryStore();
  const bare = failing(() => compile(graph, { store }));
  assert.match(
    bare.message,
    /vertex a \(class Needy\) of graph flow: new Needy\(\) failed: .*; give .* provide/,
  );
  const provided = failing(() =>
    compile(graph, {
      store,
      provide: () => {
        throw new Error("no such service");
      },
    })
  );
  assert.match(
    provided.message,
    /vertex a \(class Needy\) of graph flow: provide failed for it: no such service/,
  );
  for (const [made, shown] of [[undefined, "undefined"], [Object.create(null), "an object"]] as const) {
    const error = failing(() => compile(graph, { store, provide: () => made }));
    assert.ok(error.message.includes(`provide gave ${shown} for it; return an instance`), error.message);
    assert.deepEqual([error.fields.graphId, error.fields.vertexId, error.fields.className], [
      "flow",
      "a",
      "Needy",
    ]);
  }
});

test("several faults are listed one on a line, without repeating whose they are (D9)", () => {
  @Graph({ id: "faulty" })
  class Faulty extends Workflow(State) {}

  @Vertex({ graph: Faulty, id: "a", entry: true, to: "nowhere", select: (s) => s.text, reduce: () => {} })
  class First extends Echo {}

  @Vertex({ graph: Faulty, id: "b", entry: true, select: (s) => s.text, reduce: () => {} })
  class Second extends Echo {}

  const error = failing(() => compile(Faulty, { store: memoryStore() }));
  assert.ok(error instanceof BuildFaultsError && First !== Second);
  const lines = error.message.split("\n");
  assert.equal(lines.length, 1 + error.faults.length);
  assert.match(lines[0]!, /^superstep: 3 faults:$/);
  assert.match(
    lines[1]!,
    /^- compile: workflow Faulty \(graph faulty\) has 2 entries: a \(class First\), b \(class Second\)/,
  );
  assert.match(lines[2]!, /^- graph faulty has no finish/);
  assert.match(
    lines[3]!,
    /^- unknown vertex "nowhere" in the edge a -> nowhere \(class First\) of graph faulty/,
  );
});
