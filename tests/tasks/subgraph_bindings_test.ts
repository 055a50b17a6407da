// Runs on deno by default: what compile refuses is the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { BuildError, compile, Graph, GraphBuilder, Vertex, Workflow } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Subgraph } from "../../tasks/mod.ts";

const Text = z.object({ text: z.string() });

const inner = new GraphBuilder({ id: "inner", schema: Text })
  .addVertex({
    id: "work",
    task: { execute: (text: string) => text.toUpperCase() },
    select: (s) => s.text,
    reduce: (s, text) => {
      s.text = text;
    },
  })
  .build({ entry: "work", finish: "work" });

@Graph({ id: "outer" })
class Outer extends Workflow(Text) {}

@Vertex({
  graph: Outer,
  id: "call",
  entry: true,
  finish: true,
  select: (s) => ({ text: s.text }),
  reduce: (s, out: z.infer<typeof Text>) => {
    s.text = out.text;
  },
})
class Call extends Subgraph<z.infer<typeof Text>, { text: string }> {}

test("Subgraph refuses a runner of another store when its workflow is compiled, and none when it is made (SPEC 11, 13)", async () => {
  const store = memoryStore();
  const elsewhere = compile(inner, { store: memoryStore() });
  const outer = (runner: typeof elsewhere) => compile(Outer, { store, provide: () => new Subgraph(runner) });
  assert.throws(() => outer(elsewhere), (error: unknown) => {
    assert.ok(error instanceof BuildError);
    assert.match(error.message, /vertex call of graph outer runs graph inner on another store; compile both/);
    return true;
  });
  const { state } = await outer(compile(inner, { store })).run({ text: "hello" });
  assert.equal(state.text, "HELLO");
  for (const none of [undefined, null, Outer, inner]) {
    assert.throws(() => new Subgraph(none as never), {
      name: "BuildError",
      message: /give compile\(Workflow/,
    });
  }
});

test("provide gets the store, and makes runners of other workflows on it (D10)", async () => {
  const store = memoryStore();
  const seen: unknown[] = [];
  const runner = compile(Outer, {
    store,
    provide: (cls, at) => {
      seen.push(cls, at.store);
      return new Call(at.runner(inner));
    },
  });
  assert.deepEqual(seen.map((x, i) => x === [Call, store][i]), [true, true]);
  assert.equal((await runner.run({ text: "hello" })).state.text, "HELLO");
});
