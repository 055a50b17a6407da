// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { z } from "zod";
import { OnError, Retry, Timeout, Vertex } from "../../src/decorators/mod.ts";
import type { CompiledVertex } from "../../src/model/definition.ts";
import { graphOf } from "../../src/scanner/mod.ts";
import { aloneIn, Echo, type FlowClass, newWorkflow, PLAIN, type State } from "./fixtures/workflows.ts";

function only(
  flow: FlowClass,
): Pick<CompiledVertex<z.infer<typeof State>>, "retry" | "timeout" | "handlers"> {
  const vertex = graphOf(flow).vertices.get("only");
  assert.ok(vertex);
  return vertex;
}

function routesOf(flow: FlowClass): readonly string[] {
  return only(flow).handlers.map(({ route }) => route);
}

test("a subclass inherits the policies of its parent, but not its bindings (D3)", () => {
  @Retry({ maxAttempts: 4 })
  @Timeout({ attempt: "30s", total: "2m" })
  @OnError({ route: "only" })
  class Base extends Echo {}
  const flow = aloneIn(Base);
  class Sub extends Base {}
  assert.deepEqual([...graphOf(flow).vertices.values()].map(({ task }) => task), [{
    kind: "class",
    cls: Base,
  }]);
  const other = aloneIn(Sub);
  assert.equal(only(other).retry.maxAttempts, 4);
  assert.deepEqual(only(other).timeout, { attemptMs: 30_000, totalMs: 120_000 });
  assert.deepEqual(routesOf(other), ["only"]);
  assert.equal(graphOf(flow).vertices.size, 1);
});

test("an own stack of handlers replaces the parent's, also when it only pauses (D3)", () => {
  @OnError({ route: "only", match: TypeError })
  @OnError({ route: "only" })
  class Base extends Echo {}
  @OnError({ route: "only", match: RangeError })
  class Own extends Base {}
  @OnError("pause")
  class Pausing extends Base {}
  assert.deepEqual(only(aloneIn(Own)).handlers, [{ route: "only", match: RangeError }]);
  assert.deepEqual(only(aloneIn(Pausing)).handlers, []);
  assert.equal(only(aloneIn(Base)).handlers.length, 2);
});

test("a policy with a graph holds for that graph only, one without for every binding (D3)", () => {
  const first = newWorkflow("first");
  const second = newWorkflow("second");
  @Vertex({ graph: first, id: "only", entry: true, finish: true, ...PLAIN })
  @Vertex({ graph: second, id: "only", entry: true, finish: true, ...PLAIN })
  @Retry({ graph: first, maxAttempts: 7 })
  @Retry({ maxAttempts: 3 })
  @Timeout({ graph: () => second, attempt: "5s" })
  @OnError({ graph: second, route: "only", match: TypeError })
  @OnError({ route: "only" })
  @OnError("pause", { graph: first })
  class Twice extends Echo {}
  assert.equal(only(first).retry.maxAttempts, 7);
  assert.equal(only(second).retry.maxAttempts, 3);
  assert.equal(only(first).timeout.attemptMs, undefined);
  assert.equal(only(second).timeout.attemptMs, 5000);
  assert.deepEqual(only(first).handlers, [{ route: "only" }]);
  assert.deepEqual(only(second).handlers, [{ route: "only", match: TypeError }, { route: "only" }]);
  assert.ok(Twice);
});

test("the same policy twice on one class for one graph is a build error (D9)", () => {
  @Retry({ maxAttempts: 2 })
  @Retry({ maxAttempts: 3 })
  class Two extends Echo {}
  assert.throws(() => graphOf(aloneIn(Two)), {
    name: "BuildError",
    op: "@Retry",
    message: /twice on class Two/,
  });
  @Timeout("1s")
  @Timeout("2s")
  class TwoLimits extends Echo {}
  assert.throws(() => graphOf(aloneIn(TwoLimits)), { name: "BuildError", op: "@Timeout" });
});

test("a policy whose thunk leads to no workflow is a build error that names the class (D9)", () => {
  const nowhere = (() => undefined) as never;
  @Retry({ graph: nowhere, maxAttempts: 2 })
  class Lost extends Echo {}
  assert.throws(() => graphOf(aloneIn(Lost)), {
    name: "BuildError",
    op: "@Retry",
    message: /class Lost.*its graph thunk does not return a workflow class yet/,
  });
});

test("the invalid numbers of a policy are reported when its vertex is built (D9)", () => {
  @Retry({ maxAttempts: 0 })
  class Never extends Echo {}
  assert.throws(() => graphOf(aloneIn(Never)), { name: "BuildError", message: /retry\.maxAttempts is 0/ });
});

function family() {
  @Retry({ maxAttempts: 2 })
  abstract class Base extends Echo {}
  @Retry({ maxAttempts: 5 })
  @OnError({ route: "only" })
  class B1 extends Base {}
  class B2 extends Base {}
  class B3 extends Base {
    override execute(input: number): number {
      return input + 1;
    }
  }
  class Sibling extends Base {}
  return { Base: Base as typeof Echo, B1, B2, B3, Sibling };
}

test("what a class has does not depend on its subclasses, nor on the order of compiling them, twice (D3, FC-38)", () => {
  const expected = {
    Base: { attempts: 2, handlers: 0 },
    B1: { attempts: 5, handlers: 1 },
    B2: { attempts: 2, handlers: 0 },
    B3: { attempts: 2, handlers: 0 },
    Sibling: { attempts: 2, handlers: 0 },
  };
  const names = Object.keys(expected) as (keyof typeof expected)[];
  for (const order of [names, [...names].reverse()]) {
    const classes = family();
    const flows = new Map(order.map((name) => [name, aloneIn(classes[name], name)]));
    for (const round of [1, 2]) {
      for (const name of order) {
        const flow = flows.get(name);
        assert.ok(flow);
        const { retry, handlers } = only(flow);
        assert.deepEqual(
          { attempts: retry.maxAttempts, handlers: handlers.length },
          expected[name],
          `${name}, round ${round}`,
        );
        assert.equal(graphOf(flow).id, name);
      }
    }
  }
});

test("an undecorated subclass of a bound class is not bound (FC-38)", () => {
  const flow = newWorkflow("flow");
  @Vertex({ graph: flow, id: "only", entry: true, finish: true, ...PLAIN })
  class Bound extends Echo {}
  class Plain extends Bound {}
  const source = graphOf(flow).vertices.get("only")?.task;
  assert.ok(source?.kind === "class" && source.cls === Bound);
  assert.notEqual(source.cls, Plain);
});

test("policies pass through mixins, each application on its own (FC-38)", () => {
  const retrying = (maxAttempts: number) => (base: typeof Echo) => {
    @Retry({ maxAttempts })
    class Retrying extends base {}
    return Retrying;
  };
  const Three = retrying(3)(Echo);
  const Six = retrying(6)(Echo);
  class Leaf extends Three {}
  assert.equal(only(aloneIn(Leaf)).retry.maxAttempts, 3);
  assert.equal(only(aloneIn(Six)).retry.maxAttempts, 6);
  assert.equal(only(aloneIn(class extends Echo {})).retry.maxAttempts, 1);
});

test("a task is bound again by a subclass, or by a second @Vertex for another graph (D3)", () => {
  const sales = newWorkflow("sales");
  const support = newWorkflow("support");
  @Vertex({ graph: sales, id: "draft", entry: true, finish: true, ...PLAIN })
  @Vertex({ graph: support, id: "reply", entry: true, to: "draft", ...PLAIN })
  class Draft extends Echo {}
  @Vertex({ graph: support, id: "draft", finish: true, ...PLAIN })
  class SupportDraft extends Draft {}
  assert.deepEqual([...graphOf(sales).vertices.keys()], ["draft"]);
  const { vertices } = graphOf(support);
  assert.deepEqual([...vertices].map(([id, { task }]) => [id, task.kind === "class" && task.cls]), [
    ["draft", SupportDraft],
    ["reply", Draft],
  ]);
});
