// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { END, Graph, GraphBuilder, graphOf as workflowGraph, scan, Vertex, Workflow } from "../../mod.ts";
import { canonicalForm, mermaid, svg, topology } from "../../src/graph/mod.ts";
import { crashTest } from "../../src/testing/mod.ts";
import { completed, engine, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";
import { byClass, parseXml } from "../support/xml.ts";

const boom = new Error("boom");
const count = (s: Readonly<Notes>, id: string) => s.log.filter((other) => other === id).length;

test("a pick that returns END ends its branch, and the run completes without a finish vertex (E7, FT-D12)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: { a: { targets: ["a", END], pick: (s) => count(s, "a") < 3 ? "a" : END } },
    finish: [],
  }));
  const { path, run } = completed(await e.run(notes()));
  assert.deepEqual(path, ["a", "a", "a"]);
  assert.equal(e.ran(), 3);
  const [last] = (await e.eventsOf(run.runId, "routed")).slice(-1);
  assert.deepEqual(last, {
    type: "routed",
    routes: [{ from: "a", to: END, kind: "conditional" }],
    frontier: [],
  });
  assert.deepEqual((await e.eventsOf(run.runId, "folded")).map((f) => f.finish), [false, false, false]);
});

test("END beside a vertex lets the vertex run, and a branch that ended earlier counts when nothing is left (E7)", async () => {
  for (const pick of [undefined, () => [END, "b"], () => ["b", END]]) {
    const a = pick === undefined ? { to: [END, "b"] } : { targets: ["b", END], pick };
    const e = engine(graphOf<Notes>({ vertices: { a, b: { to: "c" }, c: {} }, finish: [] }));
    assert.deepEqual(completed(await e.run(notes())).path, ["a", "b", "c"]);
  }
});

test("where END is declared but not taken the run is at a dead end, and goes on when the pick is corrected (E7, E8)", async () => {
  let target = "b";
  const graph = graphOf<Notes>({
    vertices: { a: { targets: ["b", END], pick: () => target }, b: {} },
    finish: [],
  });
  const { halt } = interrupted(await engine(graph).run(notes()), "halted");
  assert.deepEqual([halt?.kind, halt?.step], ["dead_end", 1]);
  const f = engine(graphOf<Notes>({ vertices: { a: { targets: [END], pick: () => target } }, finish: [] }));
  const stopped = interrupted(await f.run(notes()), "halted");
  assert.deepEqual([stopped.halt?.kind, stopped.halt?.target], ["undeclared_target", "b"]);
  assert.match(stopped.halt!.message, /it may return __end__$/);
  target = END;
  assert.deepEqual(completed(await f.resume(stopped.run.runId)).path, ["a"]);
  assert.equal(f.ran(), 1);
});

test("a pick may return END only where it is declared, and one that returns nothing is told of it (E6, FT-D12)", async () => {
  for (
    const [pick, shown] of [[() => END, /"__end__"; it may return b$/], [
      () => [],
      /it may return b, and END once that is a target$/,
    ]] as const
  ) {
    const e = engine(graphOf<Notes>({ vertices: { a: { finish: true, targets: ["b"], pick }, b: {} } }));
    const { halt } = interrupted(await e.run(notes()), "halted");
    assert.equal(halt?.kind, "undeclared_target");
    assert.match(halt!.message, shown);
  }
});

test("a vertex that failed under a route has not ended its branch, although its edge leads to END (E7)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: { a: { run: () => Promise.reject(boom), onError: { route: "h" }, to: END }, h: {} },
    finish: [],
  }));
  assert.equal(interrupted(await e.run(notes()), "halted").halt?.kind, "dead_end");
});

test("END is no source of a join and holds none up (E7, D6)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: {
      start: { to: ["a", "b", END] },
      a: { to: "j" },
      b: { targets: ["j", END], pick: () => END },
      j: { join: "all", to: END },
    },
    finish: [],
  }));
  assert.deepEqual(completed(await e.run(notes())).path, ["start", "a", "b", "j"]);
});

test("a run whose branch has ended pauses, crashes and is forked like any other (E7, C1, H2)", async () => {
  const graph = graphOf<Notes>({
    vertices: {
      a: { targets: ["b", END], pick: () => ["b", END] },
      b: { run: (_input, ctx) => ctx.answer()?.value ?? ctx.interrupt() },
    },
    finish: [],
  });
  const e = engine(graph);
  const { run } = interrupted(await e.run(notes()), "awaiting");
  e.kill();
  const other = e.restart();
  const fork = await other.clock.drive(other.runner.fork(run.runId, run.revision));
  assert.deepEqual(completed(await other.resume(run.runId, { payload: 1 })).path, ["a", "b"]);
  await other.clock.drive(other.resume(fork.runId));
  assert.deepEqual(completed(await other.resume(fork.runId, { payload: 1 })).path, ["a", "b"]);
  const { crashes } = await crashTest(
    graphOf<Notes>({ vertices: { a: { to: ["b", END] }, b: { to: END } }, finish: [] }),
    {
      input: notes(),
      secondCrashes: 5,
    },
  );
  assert.ok(crashes.length > 0);
});

test("edges are recorded and reported in the order in which they are declared, picked ones as they were picked (FT-D9, E6)", async () => {
  const seen: string[] = [];
  const e = engine(
    graphOf<Notes>({
      vertices: {
        start: { to: ["d", "b", "c"] },
        b: { targets: ["a", "e", "d"], pick: () => ["e", "a", "d", "e"] },
        c: {},
        d: {},
        e: {},
        a: {},
      },
      finish: "c",
    }),
    { hooks: { edge: ({ route: { from, to } }) => void seen.push(`${from}-${to}`) } },
  );
  const { run } = completed(await e.run(notes()));
  const routed = (await e.eventsOf(run.runId, "routed")).flatMap((r) =>
    r.routes.map((x) => `${x.from}-${x.to}`)
  );
  const expected = ["start-d", "start-b", "start-c", "b-e", "b-a", "b-d"];
  assert.deepEqual(routed, expected);
  assert.deepEqual(seen, expected);
});

class Echo {
  execute(n: number) {
    return n;
  }
}
const BOUND = { select: (s: { n: number }) => s.n, reduce: () => {} };
const State = z.object({ n: z.number() });

test("classes and calls take END alike, in `to` and in `route`, and only a graph that uses it has another version (E7, D8, H3)", async () => {
  @Graph({ id: "ends", version: 1 })
  class Ends extends Workflow(State) {}
  @Vertex({ graph: Ends, id: "a", entry: true, ...BOUND, to: ["b", END] })
  class A extends Echo {}
  @Vertex({
    graph: Ends,
    id: "b",
    ...BOUND,
    route: { targets: ["a", END], pick: (s) => s.n > 0 ? END : "a" },
  })
  class B extends Echo {}
  const [found] = await scan({ Ends, A, B });
  const built = new GraphBuilder({ id: "ends", version: 1, schema: State })
    .addVertex({ id: "b", task: Echo, ...BOUND }).addVertex({ id: "a", task: Echo, ...BOUND })
    .addEdge("a", END).addEdge("a", "b")
    .addConditionalEdge("b", { targets: [END, "a"], pick: () => END })
    .build({ entry: "a" });
  assert.equal(found!.graph.version, built.version);
  assert.equal(workflowGraph(Ends).version, built.version);
  assert.equal(canonicalForm(built), "V\na\nb\fE\na->__end__\na->b\fC\nb?__end__,a\fX\n\fR\na");
  assert.deepEqual([...built.finishes], []);
  assert.deepEqual(built.vertices.get("a")?.targets, ["b"]);
  assert.equal(completed(await engine(built).run({ n: 1 })).path.join(), "a,b");
});

test("a graph without a finish and without END is refused, and the message names both (D8, E7)", () => {
  const builder = () =>
    new GraphBuilder({ id: "g", schema: State }).addVertex({ id: "a", task: Echo, ...BOUND });
  assert.throws(() => builder().build({ entry: "a" }), {
    name: "MissingEntryError",
    message: /graph g has no finish; mark one vertex with `finish: true`, or let a branch lead to END/,
  });
  assert.equal(builder().addEdge("a", END).build({ entry: "a" }).finishes.size, 0);
});

test("END is neither a vertex, nor where edges come from, nor where failures lead (E7)", () => {
  const builder = () => new GraphBuilder({ id: "g", schema: State });
  assert.throws(() => builder().addVertex({ id: END, task: Echo, ...BOUND }), /a vertex id is "__end__"/);
  assert.throws(() => builder().addEdge(END, "a"), /from is "__end__"/);
  assert.throws(
    () => builder().addConditionalEdge(END, { targets: ["a"], pick: () => "a" }),
    /from is "__end__"/,
  );
  assert.throws(
    () => builder().addVertex({ id: "a", task: Echo, ...BOUND, onError: { route: END } }),
    /vertex a \(class Echo\) of graph g: an error handler leads to END/,
  );
  assert.throws(
    () => builder().addVertex({ id: "a", task: Echo, ...BOUND }).build({ entry: END, finish: "a" }),
    {
      name: "MissingEntryError",
    },
  );
});

test("drawings show where branches end, once (E7, H1)", async () => {
  const graph = graphOf<Notes>({
    vertices: {
      a: { to: ["b", "c", END] },
      b: { targets: ["a", END], pick: () => END },
      c: { finish: true },
    },
  });
  const lines = mermaid(graph).split("\n");
  assert.equal(lines.filter((line) => line === "  stop((( )))").length, 1);
  assert.ok(lines.includes("  v0 --> stop") && lines.includes("  v1 -.-> stop"));
  assert.doesNotMatch(mermaid(graphOf({ vertices: { a: {} } })), /stop/);
  const picture = parseXml(await svg(topology(graph)));
  const titles = ["next", "conditional"].flatMap((kind) =>
    byClass(picture, kind).flatMap((edge) =>
      edge.children.filter(({ name }) => name === "title").map((t) => t.text)
    )
  );
  assert.deepEqual(titles, ["a then the end", "a then b", "a then c", "b may pick the end", "b may pick a"]);
  assert.equal(byClass(picture, "vertex").length, 3);
  assert.equal(byClass(picture, "ring").length, 2, "the ring of c and the one of END");
  assert.match(picture.children[1]!.text, /a is the entry and goes to the end, b and c\./);
});
