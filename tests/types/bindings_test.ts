// Runs on deno by default: the compiler is the same everywhere.
/**
 * D4: which bindings the compiler accepts and which it refuses. The lines marked `@ts-expect-error` are the test: where
 * one of them compiles, `deno check` and `tsc` fail. The classes are only declared, never compiled into a graph.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { Graph, OnError, Retry, Timeout, Vertex, Workflow } from "../../src/decorators/mod.ts";
import { GraphBuilder } from "../../src/graph/mod.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { CompiledGraph, Task } from "../../src/model/definition.ts";
import { defineWait } from "../../src/decorators/mod.ts";
import { END } from "../../src/model/ids.ts";
import { graphOf } from "../../src/scanner/mod.ts";

interface Query {
  readonly text: string;
}
interface Answer {
  readonly text: string;
  readonly tokens: number;
}
const State = z.object({ question: z.string(), draft: z.string().optional(), parts: z.array(z.string()) });
type State = z.infer<typeof State>;

@Graph({ id: "typed" })
class Flow extends Workflow(State) {}

/** Undecorated, with a dependency, as reusable tasks are. */
class Draft implements Task<Query, Answer> {
  constructor(private readonly prefix: string) {}
  execute(query: Query, _ctx: TaskContext): Promise<Answer> {
    return Promise.resolve({ text: this.prefix + query.text, tokens: 1 });
  }
}

// ---- accepted

@Vertex({
  graph: Flow,
  id: "full",
  select: (s) => ({ text: s.question }),
  reduce: (s, out: Answer) => {
    s.draft = out.text;
  },
  to: ["one", "two"],
})
@Retry({ maxAttempts: 2, backoff: (attempt) => attempt * 100, retryIf: (e) => e instanceof TypeError })
@Timeout("30s")
@OnError({ graph: Flow, match: TypeError, route: "one", record: (s, e) => ({ ...s, draft: e.message }) })
@OnError({ graph: () => Flow, match: (e) => e instanceof RangeError, route: "two" })
@OnError({ route: "two", record: (s: { draft?: string | undefined }, e) => void (s.draft = e.name) })
@OnError("pause")
class Full extends Draft {}

@Vertex({
  graph: () => Flow,
  id: "returns",
  select: (s): Query & { readonly more: number } => ({ text: s.question, more: 1 }),
  // Part of the output is enough, and so is a returned state.
  reduce: (s, out: { readonly tokens: number }) => ({ ...s, draft: String(out.tokens) }),
})
class ReturnsState extends Draft {}

@Vertex({ graph: Flow, id: "ignores", select: (s) => ({ text: s.draft ?? "" }), reduce: () => {} })
class IgnoresOutput extends Draft {}

@Vertex({
  graph: Flow,
  id: "map",
  each: (s) => s.parts.map((text) => ({ text })),
  reduce: (s, out: readonly Answer[]) => {
    s.draft = out.map((o) => o.text).join();
  },
})
class Mapped extends Draft {}

@Vertex({
  graph: Flow,
  id: "map-readonly",
  each: (s): readonly Query[] => s.parts.map((text) => ({ text })),
  reduce: (s, out: readonly Answer[]) => ({ ...s, draft: out[0]?.text }),
})
class MappedReadonly extends Draft {}

// FT-D10: the outputs of a map are frozen, and typed so.
// @ts-expect-error a list that is frozen is no list to be changed
@Vertex({
  graph: Flow,
  id: "map-mutable",
  each: (s) => s.parts.map((text) => ({ text })),
  reduce: (_, out: Answer[]) => void out.sort(),
})
class MappedMutable extends Draft {}

@Vertex({
  graph: Flow,
  id: "routes",
  select: (s) => ({ text: s.question }),
  reduce: () => {},
  route: { targets: ["one", "two"], pick: (s) => s.draft === undefined ? "one" : ["one", "two"] },
})
class Routes extends Draft {}

@Vertex({ graph: Flow, id: "ends", select: (s) => ({ text: s.question }), reduce: () => {}, to: [END] })
class Ends extends Draft {}

@Vertex({
  graph: Flow,
  id: "may-end",
  select: (s) => ({ text: s.question }),
  reduce: () => {},
  route: { targets: ["one", END], pick: (s) => s.draft === undefined ? END : ["one", END] },
})
class MayEnd extends Draft {}

@Vertex({
  graph: Flow,
  id: "sync",
  select: (s) => s.question,
  reduce: (s, n: number) => void (s.draft = `${n}`),
})
class Synchronous implements Task<string, number> {
  execute(text: string): number {
    return text.length;
  }
}

// ---- refused

// @ts-expect-error `string | undefined` into `string`
@Vertex({ graph: Flow, id: "a", select: (s) => ({ text: s.draft }), reduce: (_s, _out: Answer) => {} })
class OptionalIntoRequired extends Draft {}

// @ts-expect-error a number into `string`
@Vertex({ graph: Flow, id: "a", select: (s) => ({ text: s.parts.length }), reduce: (_s, _out: Answer) => {} })
class WrongInput extends Draft {}

// @ts-expect-error a selector must not be asynchronous
@Vertex({ graph: Flow, id: "a", select: (s) => Promise.resolve({ text: s.question }), reduce: () => {} })
class AsynchronousSelector extends Draft {}

// @ts-expect-error the output is no string
@Vertex({ graph: Flow, id: "a", select: (s) => ({ text: s.question }), reduce: (_s, _out: string) => {} })
class WrongOutput extends Draft {}

// @ts-expect-error the output has no field `cost`
@Vertex({
  graph: Flow,
  id: "a",
  select: (s) => ({ text: s.question }),
  reduce: (_s, _out: Answer & { cost: 1 }) => {},
})
class MissingOutputField extends Draft {}

@Vertex({
  graph: Flow,
  id: "a",
  select: (s) => ({ text: s.question }),
  // @ts-expect-error a reducer must not be asynchronous
  reduce: async (s, out: Answer) => {
    s.draft = await Promise.resolve(out.text);
  },
})
class AsynchronousReducer extends Draft {}

// @ts-expect-error the outputs of a map vertex are a list
@Vertex({ graph: Flow, id: "a", each: () => [{ text: "" }], reduce: (_s, _out: Answer) => {} })
class SingleOutputOfMap extends Draft {}

// @ts-expect-error the items are no queries
@Vertex({ graph: Flow, id: "a", each: (s) => s.parts, reduce: (_s, _out: readonly Answer[]) => {} })
class WrongItems extends Draft {}

// @ts-expect-error a class without execute is no task
@Vertex({ graph: Flow, id: "a", select: (s) => s.question, reduce: () => {} })
class NoTask {}

@Vertex({
  graph: Flow,
  id: "a",
  // @ts-expect-error the state has no field `qestion`
  select: (s) => ({ text: s.qestion }),
  reduce: () => {},
})
class UnknownFieldInSelect extends Draft {}

@Vertex({
  graph: Flow,
  id: "a",
  select: (s) => ({ text: s.question }),
  reduce: (s) => {
    // @ts-expect-error the state has no field `darft`
    s.darft = "";
  },
})
class UnknownFieldInReduce extends Draft {}

@Vertex({
  graph: Flow,
  id: "a",
  select: (s) => {
    // @ts-expect-error selectors see a read-only state
    s.draft = "";
    return { text: s.question };
  },
  reduce: () => {},
})
class WritesInSelect extends Draft {}

@Vertex({
  graph: Flow,
  id: "a",
  select: (s) => ({ text: s.question }),
  reduce: () => {},
  // @ts-expect-error `three` is not declared
  route: { targets: ["one", "two"], pick: (s) => s.draft === undefined ? "one" : "three" },
})
class UndeclaredTarget extends Draft {}

@Vertex({
  graph: Flow,
  id: "a",
  select: (s) => ({ text: s.question }),
  reduce: () => {},
  // @ts-expect-error `three` is not declared
  route: { targets: ["one", "two"], pick: () => ["one", "three"] },
})
class UndeclaredAmongTargets extends Draft {}

@Vertex({
  graph: Flow,
  id: "a",
  select: (s) => ({ text: s.question }),
  reduce: () => {},
  // @ts-expect-error `END` is not declared
  route: { targets: ["one", "two"], pick: (s) => s.draft === undefined ? "one" : END },
})
class UndeclaredEnd extends Draft {}

@OnError({
  graph: Flow,
  route: "one",
  record: (s) => {
    // @ts-expect-error the state has no field `lastError`
    s.lastError = "";
  },
})
class UnknownFieldInRecord extends Draft {}

class Plain {}

// @ts-expect-error a graph extends Workflow(schema)
const misplaced = () => Graph({ id: "plain" })(Plain);

const wait = defineWait("count", z.number());
const answered: (ctx: TaskContext) => Promise<number> = (ctx) => ctx.waitFor(wait);
// @ts-expect-error the answer is a number
const misread: (ctx: TaskContext) => Promise<string> = (ctx) => ctx.waitFor(wait);

// ---- the builder

/** Never called: the builder would refuse some of it at run time. */
function builderTypes(builder: GraphBuilder<State>): void {
  builder
    .addVertex({
      id: "a",
      task: Draft,
      select: (s) => ({ text: s.question }),
      reduce: (s, out) => void (s.draft = `${out.tokens}`),
    })
    .addVertex({
      id: "b",
      task: new Draft(""),
      each: (s) => s.parts.map((text) => ({ text })),
      reduce: (s, out) => ({ ...s, draft: out[0]?.text }),
    })
    .addConditionalEdge("a", { targets: ["a", "b"], pick: (s) => s.draft === undefined ? "a" : ["b"] });
  // @ts-expect-error `string | undefined` into `string`
  builder.addVertex({ id: "c", task: Draft, select: (s) => ({ text: s.draft }), reduce: () => {} });
  builder.addVertex({
    id: "d",
    task: Draft,
    select: (s) => ({ text: s.question }),
    // @ts-expect-error the output is no string
    reduce: (_s, _out: string) => {},
  });
  // @ts-expect-error the state has no field `qestion`
  builder.addVertex({ id: "e", task: Draft, select: (s) => ({ text: s.qestion }), reduce: () => {} });
  // @ts-expect-error `c` is not declared
  builder.addConditionalEdge("b", { targets: ["a", "b"], pick: () => "c" });
  builder.addEdge("a", END).addConditionalEdge("b", { targets: ["a", END], pick: () => ["a", END] });
  // @ts-expect-error `END` is not declared
  builder.addConditionalEdge("b", { targets: ["a", "b"], pick: () => END });
  // @ts-expect-error the schema gives another state
  new GraphBuilder<State>({ id: "other", schema: z.object({ other: z.string() }) });
  const inferred: GraphBuilder<State> = new GraphBuilder({ id: "inferred", schema: State });
  const graph: CompiledGraph<State> = inferred.build({ entry: "a", finish: "a" });
  const scanned: CompiledGraph<State> = graphOf(Flow);
  // @ts-expect-error another state
  const other: CompiledGraph<{ other: string }> = graphOf(Flow);
  void [graph, scanned, other];
}

test("accepted and refused bindings type-check as marked, and none of them runs anything at definition (D4)", () => {
  const declared = [
    ...[Full, ReturnsState, IgnoresOutput, Mapped, MappedReadonly, Routes, Ends, MayEnd, Synchronous],
    ...[
      OptionalIntoRequired,
      WrongInput,
      AsynchronousSelector,
      WrongOutput,
      MissingOutputField,
      SingleOutputOfMap,
      MappedMutable,
    ],
    ...[WrongItems, NoTask, UnknownFieldInSelect, UnknownFieldInReduce, WritesInSelect, UndeclaredTarget],
    ...[UndeclaredAmongTargets, UndeclaredEnd, UnknownFieldInRecord, AsynchronousReducer],
  ];
  assert.equal(new Set(declared).size, 26);
  for (const value of [builderTypes, answered, misread, misplaced]) assert.equal(typeof value, "function");
});
