// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import "reflect-metadata";
import { z } from "zod";
import { Graph, OnError, Retry, Timeout, Vertex, Workflow } from "../../src/decorators/mod.ts";
import type { BuildError } from "../../src/errors.ts";
import { as, wrong } from "../graph/fixtures.ts";
import { type FlowClass, PLAIN, State } from "../scanner/fixtures/workflows.ts";
import { Approval, Draft, Review } from "./fixtures/approval.ts";

function own(key: string, cls: object): readonly Record<string, unknown>[] | undefined {
  return Reflect.getOwnMetadata(Symbol.for(`superstep:${key}`), cls);
}

test("decorators leave the class as it is: not wrapped, not started, nothing added to it (D1)", () => {
  let constructed = 0;
  class Flow extends Workflow(State) {}
  class Task {
    constructor() {
      constructed++;
    }
    execute(input: number) {
      return input;
    }
  }
  const before = [Object.getOwnPropertyNames(Task), Object.getOwnPropertyNames(Task.prototype)];
  const symbols = Object.getOwnPropertySymbols(Task);
  @Vertex({ graph: Flow, id: "other", ...PLAIN })
  @Retry({ maxAttempts: 2 })
  @Timeout("1s")
  @OnError("pause")
  class Decorated extends Task {}
  assert.equal(Object.getPrototypeOf(Decorated), Task);
  assert.equal(new Decorated().constructor, Decorated);
  assert.equal(constructed, 1);
  Vertex({ graph: Flow, id: "task", ...PLAIN })(Task);
  assert.deepEqual([Object.getOwnPropertyNames(Task), Object.getOwnPropertyNames(Task.prototype)], before);
  assert.deepEqual(Object.getOwnPropertySymbols(Task), symbols);
});

test("records are reflect-metadata under Symbol.for keys (D3)", () => {
  assert.deepEqual(own("graph", Approval)?.map(({ id, version }) => ({ id, version })), [
    { id: "approval", version: 1 },
  ]);
  assert.deepEqual(own("vertex", Draft)?.map(({ id, to }) => ({ id, to })), [{
    id: "draft",
    to: ["review"],
  }]);
  assert.equal(own("retry", Draft)?.length, 1);
  assert.equal(own("timeout", Draft)?.length, 1);
  assert.equal(own("on_error", Draft)?.length, 1);
  assert.equal(own("retry", Review), undefined);
});

test("@Vertex notes the class on its graph class (D1)", () => {
  const bound = own("bound", Approval)?.map(({ cls }) => cls);
  assert.equal(bound?.length, 4);
  assert.ok(bound.includes(Draft) && bound.includes(Review));
});

test("records know the module that the decorator stands in (D9)", () => {
  const module = own("graph", Approval)?.[0]?.module;
  assert.match(String(module), /^file:.*\/tests\/decorators\/fixtures\/approval\.(ts|js)$/);
  assert.equal(own("vertex", Draft)?.[0]?.module, module);
  assert.equal(module, new URL(`fixtures/approval${import.meta.url.slice(-3)}`, import.meta.url).href);
});

test("a module that is given wins, without its query (D9)", () => {
  class Flow extends Workflow(State) {}
  Graph({ id: "flow", module: "file:///a/flow.ts?v=7#x" })(Flow);
  assert.equal(own("graph", Flow)?.[0]?.module, "file:///a/flow.ts");
});

test("a stack of handlers is recorded from the top down (D7)", () => {
  @OnError({ route: "first" })
  @OnError({ route: "second" })
  @OnError("pause")
  class Stacked {}
  const policies = own("on_error", Stacked)?.map(({ policy }) => policy);
  assert.deepEqual(policies, [{ route: "first" }, { route: "second" }, "pause"]);
});

test("a decorated subclass writes nothing into its parent (D3, FC-38)", () => {
  @Retry({ maxAttempts: 2 })
  @OnError({ route: "parent" })
  class Parent {}
  const before = [own("retry", Parent), own("on_error", Parent)];
  @Retry({ maxAttempts: 5 })
  @OnError({ route: "child" })
  class Child extends Parent {}
  assert.deepEqual([own("retry", Parent), own("on_error", Parent)], before);
  assert.equal(own("retry", Child)?.length, 1);
  assert.equal(own("on_error", Child)?.length, 1);
});

test("a caller's options may change after decoration without reaching the records", () => {
  class Flow extends Workflow(State) {}
  class Task {
    execute(input: number) {
      return input;
    }
  }
  const to = ["a"];
  const targets = ["a"];
  const options = { graph: Flow, id: "x", to, route: { targets, pick: () => "a" }, ...PLAIN };
  Vertex(options)(Task);
  options.id = "y";
  to.push("b");
  targets.push("b");
  const vertex = own("vertex", Task)?.[0];
  assert.equal(vertex?.id, "x");
  assert.deepEqual(vertex?.to, ["a"]);
  assert.deepEqual((vertex?.route as { targets: unknown }).targets, ["a"]);
});

test("a graph class that is not defined yet fails at definition, naming decorator and class, with the remedy (D9, FC-40)", () => {
  class Early {
    execute(input: number) {
      return input;
    }
  }
  const graph = as<FlowClass>(undefined);
  const attempts = {
    "@Vertex": Vertex({ graph, id: "a", ...PLAIN }),
    "@Retry": Retry({ graph, maxAttempts: 2 }),
    "@Timeout": Timeout({ graph, attempt: "1s" }),
    "@OnError": OnError({ graph, route: "a" }),
  };
  for (const [name, decorate] of Object.entries(attempts)) {
    assert.throws(() => (decorate as (cls: unknown) => void)(Early), (error: BuildError) => {
      assert.equal(error.op, name);
      assert.match(error.message, /class Early: its graph is undefined.*give a thunk, graph: \(\) => /);
      return true;
    });
  }
  assert.throws(() => OnError("pause", { graph })(Early), /class Early: its graph is undefined/);
  assert.equal(own("vertex", Early), undefined);
});

test("a graph that does not extend Workflow(schema) fails at definition (D9)", () => {
  class Plain {}
  assert.throws(() => Graph({ id: "plain" })(as<FlowClass>(Plain)), {
    name: "BuildError",
    message: /class Plain does not extend Workflow\(schema\)/,
  });
  class Task {
    execute(input: number) {
      return input;
    }
  }
  assert.throws(
    () => Vertex({ graph: as<FlowClass>(Plain), id: "a", ...PLAIN })(Task),
    /class Task: its graph Plain does not extend Workflow\(schema\)/,
  );
});

test("an error class that is not defined yet fails at definition (D9, FC-40)", () => {
  class Early {}
  assert.throws(() => OnError({ route: "a", match: wrong(undefined) })(Early), {
    name: "BuildError",
    message: /@OnError: on class Early: its match is undefined/,
  });
});

test("a wait that is not defined yet fails at definition (D9, FC-40)", () => {
  class Flow extends Workflow(State) {}
  class Task {
    execute(input: number) {
      return input;
    }
  }
  assert.throws(
    () => Vertex({ graph: Flow, id: "a", waits: [wrong(undefined)], ...PLAIN })(Task),
    /class Task: a wait is undefined.*loaded before/,
  );
});

test("a workflow needs a schema that implements Standard Schema (D13)", () => {
  for (const schema of [undefined, null, {}, { parse: () => 1 }]) {
    assert.throws(() => Workflow(wrong(schema)), { name: "BuildError", op: "Workflow" });
  }
  assert.equal(typeof Workflow(z.object({})), "function");
});
