// Runs on deno by default: what a migration does is decided by code that is the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile, defineWait, Graph, GraphBuilder, Migration, Vertex, Workflow } from "../../mod.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { engine, type GraphOf, graphOf, type Notes, notes } from "../support/graphs.ts";

const Go = defineWait("go", z.object({ by: z.string() }));
type Vertices = GraphOf<Notes>["vertices"];
const of = (version: number, vertices: Vertices, more: Partial<GraphOf<Notes>> = {}) =>
  graphOf({ version, vertices, ...more });

/** A body that notes its key and an effect in a `once`, and waits. */
function asking(keys: string[]): Vertices[string] {
  return {
    waits: [Go],
    run: async (_, ctx) => {
      keys.push(ctx.idempotencyKey);
      const made = await ctx.once("effect", () => keys.length);
      const { by } = await ctx.waitFor(Go);
      return `${made} ${by}`;
    },
    reduce: (s, out) => void s.log.push(String(out)),
  };
}

test("a waiting run moves under new names with its wait, its once and its key, and its state is made anew (V3, T6)", async () => {
  const keys: string[] = [];
  const old = engine(of(1, { start: { to: "ask" }, ask: { ...asking(keys), to: "end" }, end: {} }));
  await old.run(notes({ text: "hi" }), { runId: "r" });
  const [mailed] = (await old.runner.waits()).rows;
  const seen: unknown[] = [];
  const next = old.restart(
    of(2, { start: { to: "review" }, review: { ...asking(keys), to: "end" }, end: {} }, {
      migrations: [{
        from: 1,
        state: (s: Notes) => (seen.push(s), { ...s, title: s["text"], text: undefined }),
        vertices: { ask: "review" },
      }],
    }),
  );
  assert.equal((await next.runner.get("r")).state["title"], "hi");
  await old.runner.answer("r", mailed!.waitId, { by: "ann" });
  const result = await next.resume("r");
  assert.equal(result.status, "completed");
  assert.deepEqual(result.state, { log: ["start", "1 ann", "end"], title: "hi", text: undefined });
  assert.deepEqual(keys, [keys[0], keys[0]]);
  assert.match(keys[0]!, /vertex=ask$/);
  assert.deepEqual(result.path, ["start", "review", "end"]);
  const [migrated] = await next.eventsOf("r", "migrated");
  assert.deepEqual([migrated!.from, migrated!.to, migrated!.vertices], [
    old.graph.version,
    next.graph.version,
    new Map([["ask", "review"]]),
  ]);
  const { rows } = await next.runner.history("r");
  const at = rows.findIndex(({ events }) => events.some((e) => e.type === "migrated"));
  assert.deepEqual(rows[at - 1]!.frontier, ["ask"], "records before it tell the old names");
  assert.deepEqual(rows[at]!.frontier, ["review"]);
});

test("the row of an open wait has the new name of its vertex, under the id that was mailed (V3)", async () => {
  const old = engine(of(1, { ask: { ...asking([]), to: "end" }, end: {} }));
  await old.run(notes(), { runId: "r" });
  const [mailed] = (await old.runner.waits()).rows;
  const next = old.restart(of(2, { review: { ...asking([]), to: "end" }, end: {} }, {
    migrations: [{ from: 1, vertices: { ask: "review" } }],
  }));
  assert.equal(await next.runner.adopt("r"), true);
  const rows = (await next.runner.waits()).rows.map(({ waitId, vertexId }) => ({ waitId, vertexId }));
  assert.deepEqual(rows, [{ waitId: mailed!.waitId, vertexId: "review" }]);
  assert.equal(await next.runner.adopt("r"), false);
  await assert.rejects(old.runner.resume("r"), { code: "GRAPH_VERSION_MISMATCH" });
});

test("migrations are chained; a version that none leads on from is passed only where the code takes over what fits (V3)", async () => {
  const steps = (n: number) =>
    [1, 2, 3].slice(0, n).map((from) => ({
      from,
      state: (s: Notes) => ({ ...s, log: [...s.log, `${from}`] }),
      vertices: { [`v${from}`]: `v${from + 1}` },
    }));
  const at = (version: number, migrations: GraphOf<Notes>["migrations"] & object, id = `v${version}`) =>
    of(version, { [id]: { ...asking([]), to: "end" }, end: {} }, { migrations });
  const old = engine(at(1, []));
  await old.run(notes(), { runId: "r" });
  const whole = old.restart(at(4, steps(3)));
  assert.deepEqual((await whole.runner.get("r")).state.log, ["1", "2", "3"]);
  assert.equal(await whole.runner.adopt("r"), true);
  assert.deepEqual((await whole.eventsOf("r", "migrated"))[0]!.vertices.get("v1"), "v4");

  const partly = engine(at(1, []));
  await partly.run(notes(), { runId: "r" });
  const third = of(3, { v2: { ...asking([]), to: "end" }, end: {} }, { migrations: steps(1) });
  await assert.rejects(partly.restart(third).runner.get("r"), {
    message: /no migration leads from version 2 to 3/,
  });
  const taken = partly.restart(third, { adopt: "compatible" });
  assert.equal(await taken.runner.adopt("r"), true);
});

test("a vertex that is gone must hold nothing of the current step; what led there is forgotten (V3)", async () => {
  const v1 = of(1, { first: { to: "ask" }, ask: { ...asking([]), to: "end" }, end: {} });
  const old = engine(v1);
  await old.run(notes(), { runId: "r" });
  const without = (gone: string, vertices: Vertices) =>
    old.restart(of(2, vertices, { migrations: [{ from: 1, vertices: { [gone]: null } }] }));
  const refused = without("ask", { first: { to: "end" }, end: {} });
  await assert.rejects(refused.runner.resume("r"), {
    code: "GRAPH_VERSION_MISMATCH",
    message: /vertex ask is gone by the migration, but the run is at it/,
  });
  const fits = without("first", { ask: { ...asking([]), to: "end" }, end: {} });
  assert.equal(await fits.runner.adopt("r"), true);
  assert.deepEqual((await fits.runner.get("r")).path, ["first"]);
});

test("a migration that throws halts the run as load_fault with nothing changed, and the mended one goes on (V3)", async () => {
  const old = engine(of(1, { ask: { ...asking([]), to: "end" }, end: {} }));
  await old.run(notes({ n: 1 }), { runId: "r" });
  const [wait] = (await old.runner.waits()).rows;
  await old.runner.answer("r", wait!.waitId, { by: "ann" });
  const under = (state: (s: Notes) => unknown, schema?: z.ZodType) =>
    old.restart(of(2, { ask: { ...asking([]), to: "end" }, end: {} }, {
      ...(schema === undefined ? {} : { schema: schema as never }),
      migrations: [{ from: 1, state }],
    }));
  const faulty = under(() => {
    throw new Error("no such customer");
  });
  await assert.rejects(faulty.runner.resume("r"), {
    code: "MIGRATION",
    message: /from version 1 to 2: no such customer/,
  });
  assert.equal((await old.runner.status("r")).status, "interrupted");
  assert.deepEqual(await faulty.runner.recover(), []);
  const { run, halt, state } = await old.runner.get("r") as {
    run: { graphVersion: string };
    halt?: { kind: string; message: string };
    state: Notes;
  };
  assert.equal(run.graphVersion, old.graph.version);
  assert.equal(halt!.kind, "load_fault");
  assert.match(halt!.message, /no such customer/);
  assert.deepEqual(state, notes({ n: 1 }));
  for (
    const [state, message] of [
      [async () => await Promise.resolve({}), /a promise/],
      [() => undefined, /returned undefined/],
      [(s: Notes) => void (s["n"] = 2), /read.only|frozen/i],
      [() => ({ f: () => 1 }), /function/],
    ] as const
  ) await assert.rejects(under(state).runner.get("r"), { code: "MIGRATION", message });
  const strict = under((s) => ({ ...s, n: "two" }), z.object({ log: z.array(z.string()), n: z.number() }));
  await assert.rejects(strict.runner.get("r"), { code: "MIGRATION", message: /n: .*number/ });
  assert.equal((await under((s) => ({ ...s, n: 2 })).resume("r")).status, "completed");
});

test("a fork from a record before the migration migrates its copy, with results of once and answers (V3, H2)", async () => {
  const keys: string[] = [];
  const old = engine(of(1, { ask: { ...asking(keys), to: "end" }, end: {} }));
  await old.run(notes(), { runId: "r" });
  const { revision } = await old.runner.status("r");
  const next = old.restart(of(2, { review: { ...asking(keys), to: "end" }, end: {} }, {
    migrations: [{ from: 1, state: (s: Notes) => ({ ...s, log: ["moved"] }), vertices: { ask: "review" } }],
  }));
  assert.equal(await next.runner.adopt("r"), true);
  await next.runner.fork("r", revision, { runId: "f" });
  const forked = await next.resume("f");
  assert.equal(forked.run.graphVersion, next.graph.version);
  assert.deepEqual(forked.status === "interrupted" && forked.waits.map((w) => w.vertexId), ["review"]);
  const done = await next.resume("f", { payload: { by: "bob" } });
  assert.deepEqual(done.state.log, ["moved", "1 bob", "end"]);
  assert.match(keys.at(-1)!, /run=f\/step=0\/vertex=ask$/);
});

test("arrivals, chosen handlers, items and backoff move with their vertices (V3, D5, D6)", async () => {
  const boom = () => {
    throw new Error("boom");
  };
  const vertices = (n: (id: string) => string, more: Partial<Vertices[string]> = {}): Vertices => ({
    [n("fan")]: { to: [n("map"), n("fails"), n("quick"), n("slow"), n("join")] },
    [n("map")]: {
      each: () => [1, 2],
      run: (item, ctx) => item === 1 ? "one" : ctx.waitFor(Go),
      waits: [Go],
      to: n("join"),
      reduce: (s, out) => void s.log.push(JSON.stringify(out)),
    },
    [n("fails")]: { run: boom, onError: [{ route: n("rescue") }], to: n("join") },
    [n("quick")]: { to: n("join") },
    [n("slow")]: {
      run: (_, ctx: TaskContext) => ctx.attempt === 1 ? boom() : "later",
      retry: { maxAttempts: 2, backoff: { initial: "2h" } },
      to: n("join"),
    },
    [n("rescue")]: { to: n("join") },
    [n("join")]: { join: "all", to: n("end") },
    [n("end")]: {},
    ...more as object,
  });
  const same = (id: string) => id;
  const caps = (id: string) => `Z${id}`;
  const old = engine(of(1, vertices(same)));
  await old.run(notes(), { runId: "r" });
  const names = Object.fromEntries(Object.keys(vertices(same)).map((id) => [id, caps(id)]));
  const next = old.restart(of(2, vertices(caps), { migrations: [{ from: 1, vertices: names }] }));
  assert.equal(await next.runner.adopt("r"), true);
  const routed = (await old.eventsOf("r", "routed")).at(-1)!;
  assert.deepEqual(routed.arrivals, new Map([["join", ["fan"]]]), "the join is half filled");
  const [wait] = (await next.runner.waits()).rows;
  assert.deepEqual([wait!.vertexId, wait!.item], ["Zmap", 1]);
  await next.runner.answer("r", wait!.waitId, { by: "ann" });
  await next.resume("r");
  await next.clock.advance("3h");
  const result = await next.resume("r");
  assert.equal(result.status, "completed");
  assert.deepEqual(result.state.log.slice(1), [
    '["one",{"by":"ann"}]',
    "Zquick",
    "Zslow",
    "Zrescue",
    "Zjoin",
    "Zend",
  ]);
  for (const id of ["fails", "quick", "Zfails", "Zquick"]) {
    assert.equal(next.ran(id), id.startsWith("Z") ? 0 : 1, id);
  }
  assert.deepEqual([next.ran("map", 0), next.ran("Zmap", 0), next.ran("Zslow")], [1, 0, 1]);
});

test("a run that has begun no body is migrated, and begins at the new entry (V1, V3)", async () => {
  const old = engine(of(1, { a: { to: "end" }, end: {} }));
  await old.runner.submit(notes({ q: "hi" }), { runId: "r" });
  const next = old.restart(of(2, { b: { to: "end" }, end: {} }, {
    migrations: [{ from: 1, state: ({ q, ...s }: Notes) => ({ ...s, question: q }), vertices: { a: null } }],
  }));
  const result = await next.resume("r");
  assert.deepEqual([result.path, result.state], [["b", "end"], { log: ["b", "end"], question: "hi" }]);
});

test("a decorator and a plain call declare the same (V3, D8)", async () => {
  const Old = z.object({ line: z.string() });
  const store = memoryStore();
  const one = new GraphBuilder({ id: "order", version: 1, schema: Old })
    .addVertex({
      id: "wrap",
      task: { execute: (_: string, ctx: TaskContext) => ctx.waitFor(Go) },
      waits: [Go],
      select: (s) => s.line,
      reduce: () => {},
    })
    .build({ entry: "wrap", finish: "wrap" });
  await compile(one, { store }).run({ line: "tea" }, { runId: "r" });

  @Graph({ id: "order", version: 2 })
  class Order extends Workflow(z.object({ lines: z.array(z.string()) })) {}
  @Vertex({
    graph: Order,
    id: "pack",
    entry: true,
    finish: true,
    waits: [Go],
    select: (s) => s.lines,
    reduce: () => {},
  })
  class Pack {
    execute(_: readonly string[], ctx: TaskContext) {
      return ctx.waitFor(Go);
    }
  }
  @Migration({
    graph: Order,
    from: 1,
    state: (old: z.infer<typeof Old>) => ({ lines: [old.line] }),
    vertices: { wrap: "pack" },
  })
  class FromLine {}
  void [Pack, FromLine];
  const result = await compile(Order, { store }).resume("r", { payload: { by: "ann" } });
  assert.deepEqual([result.status, result.state], ["completed", { lines: ["tea"] }]);
});

test("what is wrong with a migration is found when the graph is built (V3, D9)", () => {
  const built = (...migrations: GraphOf<Notes>["migrations"] & object) => () =>
    of(3, { a: { to: "end" }, end: {} }, { migrations });
  assert.throws(built({ from: 3 }), /leads on from version 3, but the graph has version 3/);
  assert.throws(built({ from: -1 }), /from is -1/);
  assert.throws(built({ from: 1 }, { from: 1 }), /two lead on from version 1/);
  assert.throws(built({ from: 1, state: {} as never }), /state is/);
  assert.throws(built({ from: 1, vertices: { "": "a" } }), /maps vertex ""/);
  assert.throws(built({ from: 1, rename: {} } as never), /rename/);
  assert.throws(built({ from: 2, vertices: { x: "ends" } }), {
    code: "UNKNOWN_VERTEX",
    message: /did you mean "end"/,
  });
  built({ from: 1, vertices: { x: "y" } }, { from: 2, vertices: { y: "a" } })();
  built({ from: 1, vertices: { x: "y" } }, { from: 2, vertices: { y: null } })();
  assert.equal(of(3, { a: {} }).version, of(3, { a: {} }, { migrations: [{ from: 1 }] }).version);
});
