// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Graph, Vertex, Workflow } from "../../src/decorators/mod.ts";
import type { BuildError, BuildFaultsError, DuplicateVertexError } from "../../src/errors.ts";
import { canonicalForm, GraphBuilder } from "../../src/graph/mod.ts";
import { graphOf, scan } from "../../src/scanner/mod.ts";
import * as approval from "../decorators/fixtures/approval.ts";
import { as, wrong } from "../graph/fixtures.ts";
import * as barrel from "./fixtures/barrel.ts";
import { aloneIn, Echo, type FlowClass, newWorkflow, PLAIN, State } from "./fixtures/workflows.ts";

function faultsOf(flow: FlowClass): readonly string[] {
  try {
    graphOf(flow);
  } catch (error) {
    const { faults } = error as Partial<BuildFaultsError>;
    return (faults ?? [error as Error]).map(({ message }) => message);
  }
  return [];
}

test("a workflow class and a builder give the same graph (D8)", () => {
  const { Approval, Draft, Review, ReviewVerdict, Send, Ticket } = approval;
  const graph = graphOf(Approval);
  const plain = { select: () => wrong(""), reduce: () => {} };
  const built = new GraphBuilder<unknown>({ id: "approval", version: 1 })
    .addVertex({ id: "draft", task: Draft, onError: { route: "ticket" }, ...plain })
    .addVertex({ id: "review", task: Review, waits: [ReviewVerdict], ...plain })
    .addVertex({ id: "send", task: Send, ...plain }).addVertex({ id: "ticket", task: Ticket, ...plain })
    .addEdge("draft", "review")
    .addConditionalEdge("review", { targets: ["send", "draft", "ticket"], pick: () => "send" })
    .build({ entry: "draft", finish: ["send", "ticket"] });
  assert.equal(graph.version, built.version);
  assert.equal(canonicalForm(graph), canonicalForm(built));
});

test("everything that the decorators say reaches the compiled graph (D8)", () => {
  const { vertices, schema, entry, finishes } = graphOf(approval.Approval);
  const draft = vertices.get("draft");
  assert.deepEqual(draft?.retry, {
    maxAttempts: 3,
    backoff: { initialMs: 200, factor: 2, maxMs: 10_000, jitter: true },
    retryIf: undefined,
  });
  assert.deepEqual(draft?.timeout, { attemptMs: 30_000, totalMs: 120_000 });
  assert.deepEqual(draft?.task, { kind: "class", cls: approval.Draft });
  const state = { question: "why?", lastError: "" };
  draft?.handlers[0]?.record?.(state, { name: "E", message: "down", attempt: 3, phase: "execute" });
  assert.equal(state.lastError, "down");
  assert.deepEqual(draft?.select?.({ question: "why?" }), { text: "why?" });
  assert.equal(vertices.get("review")?.waits.get("verdict"), approval.ReviewVerdict);
  assert.equal(vertices.get("review")?.condition?.pick({ question: "", verdict: "refine" }), "draft");
  assert.equal(vertices.get("ticket")?.label, "Ask an expert");
  assert.equal(typeof schema?.["~standard"].validate, "function");
  assert.equal(entry, "draft");
  assert.deepEqual([...finishes], ["send", "ticket"]);
});

test("each and join reach the compiled graph (D5, D6)", () => {
  const flow = newWorkflow("flow");
  @Vertex({ graph: flow, id: "a", entry: true, to: ["b", "b"], each: (s) => [s.n], reduce: () => {} })
  class A extends Echo {}
  @Vertex({ graph: flow, id: "b", finish: true, join: "all", ...PLAIN })
  class B extends Echo {}
  assert.ok(A && B);
  const { vertices } = graphOf(flow);
  assert.deepEqual(vertices.get("a")?.each?.({ n: 3 }), [3]);
  assert.equal(vertices.get("a")?.select, undefined);
  assert.deepEqual(vertices.get("a")?.edges, ["b", "b"]);
  assert.equal(vertices.get("b")?.join, "all");
});

test("ids and thunks work for modules that import each other (D9, FC-40)", async () => {
  assert.deepEqual([...graphOf(barrel.One).vertices.keys()], ["one"]);
  assert.deepEqual([...graphOf(barrel.Two).vertices.keys()], ["two"]);
  assert.deepEqual(graphOf(barrel.Two).vertices.get("two")?.handlers, [{ route: "two", match: RangeError }]);
  assert.deepEqual((await scan(import("./fixtures/two.ts"))).map(({ id }) => id), ["one", "two"]);
});

test("scan returns every workflow that modules export or that their tasks are bound into, in id order (D9)", async () => {
  const found = await scan(barrel, Promise.resolve(approval));
  assert.deepEqual(found.map(({ id, workflow }) => [id, workflow]), [
    ["approval", approval.Approval],
    ["one", barrel.One],
    ["two", barrel.Two],
  ]);
  assert.deepEqual(found.map(({ graph }) => graph.id), ["approval", "one", "two"]);
  const { Approval: _, ...tasksAlone } = approval;
  assert.deepEqual((await scan(tasksAlone, { nothing: 1, echo: Echo, empty: null })).map(({ id }) => id), [
    "approval",
  ]);
});

test("scan reports the faults of all workflows at once (D9)", async () => {
  const lost = aloneIn(class extends Echo {}, "lost");
  Vertex({ graph: lost, id: "island", ...PLAIN })(class Island extends Echo {});
  const astray = newWorkflow("astray");
  Vertex({ graph: astray, id: "start", entry: true, to: "fnish", ...PLAIN })(class Start extends Echo {});
  Vertex({ graph: astray, id: "finish", finish: true, ...PLAIN })(class Finish extends Echo {});
  await assert.rejects(
    () => scan({ lost, astray, fine: aloneIn(class extends Echo {}, "fine") }),
    (error) => {
      assert.deepEqual((error as BuildFaultsError).faults.map(({ name }) => name).sort(), [
        "UnknownVertexError",
        "UnreachableVertexError",
      ]);
      assert.match((error as Error).message, /unreachable vertex island/);
      assert.match((error as Error).message, /unknown vertex "fnish".*did you mean "finish"/);
      return true;
    },
  );
});

test("the faults of one workflow come all at once; a vertex that could not be added is reported once (D9)", () => {
  const flow = newWorkflow("flow");
  const add = (id: string, more: object) =>
    Vertex({ graph: flow, id, ...PLAIN, ...as<Record<never, never>>(more) })(class extends Echo {});
  add("a", { entry: true, to: ["b", "c"], join: "some" });
  add("b", { finish: true, reduce: undefined });
  add("c", { to: "nowhere" });
  const faults = faultsOf(flow);
  assert.equal(faults.length, 3, faults.join("\n"));
  assert.match(faults[0] ?? "", /vertex a of graph flow: join is "some"/);
  assert.match(faults[1] ?? "", /vertex b of graph flow: reduce is undefined/);
  assert.match(faults[2] ?? "", /unknown vertex "nowhere"/);
});

test("lists that are none are refused by name, for callers without types (D9)", () => {
  const flow = newWorkflow("flow");
  const more = { to: 7, waits: "verdict", route: { pick: () => "a" } };
  Vertex({ graph: flow, id: "a", entry: true, finish: true, ...PLAIN, ...as<Record<never, never>>(more) })(
    class extends Echo {},
  );
  const faults = faultsOf(flow);
  assert.match(faults[0] ?? "", /vertex a of graph flow: waits is "verdict"/);
  assert.match(faults[1] ?? "", /addEdge: graph flow: an edge from a: to is 7/);
  assert.match(faults[2] ?? "", /addConditionalEdge: vertex a of graph flow: targets is undefined/);
});

test("a workflow has one entry and at least one finish (D8)", () => {
  const none = newWorkflow("none");
  Vertex({ graph: none, id: "a", ...PLAIN })(class extends Echo {});
  assert.deepEqual(faultsOf(none).map((m) => /graph \w+ has no (\w+)/.exec(m)?.[1]), ["entry", "finish"]);
  const two = aloneIn(class extends Echo {});
  Vertex({ graph: two, id: "other", entry: true, ...PLAIN })(class extends Echo {});
  assert.match(faultsOf(two).join("\n"), /workflow Flow \(graph flow\) has 2 entries: only, other; mark one/);
});

test("a workflow without vertices says that their modules have to be imported (D9)", () => {
  const faults = faultsOf(newWorkflow("empty"));
  assert.equal(faults.length, 1);
  assert.match(faults[0] ?? "", /no task is bound into workflow Flow \(graph empty\); import the modules/);
});

test("a class without @Graph, with two, or that is undefined is no workflow (D9)", () => {
  class Bare extends Workflow(State) {}
  assert.throws(() => graphOf(Bare), {
    name: "BuildError",
    message: /class Bare is no workflow; put @Graph/,
  });
  @Graph({ id: "a" })
  @Graph({ id: "b" })
  class Twice extends Workflow(State) {}
  assert.throws(() => graphOf(Twice), { name: "BuildError", message: /twice on class Twice/ });
  class Parent extends newWorkflow("parent") {}
  assert.throws(() => graphOf(Parent), /class Parent is no workflow/);
  assert.throws(() => graphOf(wrong(undefined)), {
    name: "BuildError",
    message: /undefined.*import each other/,
  });
});

test("the id of a graph is checked like that of a builder (D9)", () => {
  const flow = newWorkflow("not an id");
  assert.match(faultsOf(flow).join("\n"), /graph's id is "not an id"/);
});

test("an id that two classes of one module bind is a fault that names both and where they are (BLD-07, D9)", () => {
  const flow = newWorkflow("flow");
  Vertex({ graph: flow, id: "only", entry: true, finish: true, ...PLAIN })(class First extends Echo {});
  Vertex({ graph: flow, id: "only", ...PLAIN })(class Second extends Echo {});
  assert.throws(() => graphOf(flow), (error: DuplicateVertexError) => {
    assert.equal(error.name, "DuplicateVertexError");
    assert.equal(error.vertexId, "only");
    assert.match(error.message, /class First in file:.*scan_test.* and class Second in file:.*scan_test/);
    return true;
  });
});

test("one class that binds one id twice is a fault, not a reload (BLD-07)", () => {
  const flow = newWorkflow("flow");
  class Echoes extends Echo {}
  Vertex({ graph: flow, id: "only", entry: true, finish: true, ...PLAIN })(Echoes);
  Vertex({ graph: flow, id: "only", ...PLAIN })(Echoes);
  assert.throws(() => graphOf(flow), { name: "DuplicateVertexError" });
});

test("two classes without a name that bind one id are a fault, not a reload (BLD-07)", () => {
  const flow = newWorkflow("flow");
  for (const base of [Echo, class Other extends Echo {}]) {
    Vertex({ graph: flow, id: "only", entry: true, finish: true, ...PLAIN })(class extends base {});
  }
  assert.throws(() => graphOf(flow), { name: "DuplicateVertexError" });
});

function evaluate(flow: FlowClass, module: string, label: string) {
  @Vertex({ graph: flow, id: "only", entry: true, finish: true, label, module, ...PLAIN })
  class Task extends Echo {}
  return Task;
}

test("a vertex bound again from the same module replaces the old one (D9, FC-40)", () => {
  const flow = newWorkflow("flow");
  evaluate(flow, "file:///app/task.ts", "old");
  const newest = evaluate(flow, "file:///app/task.ts?t=1730000000", "new");
  const vertex = graphOf(flow).vertices.get("only");
  assert.equal(vertex?.label, "new");
  assert.ok(vertex?.task.kind === "class" && vertex.task.cls === newest);
});

test("a vertex bound again from another module is a fault that names both (D9)", () => {
  const flow = newWorkflow("flow");
  evaluate(flow, "file:///app/task.ts", "one");
  evaluate(flow, "file:///app/copy.ts", "other");
  assert.throws(
    () => graphOf(flow),
    /class Task in file:\/\/\/app\/copy\.ts and class Task in file:\/\/\/app\/task\.ts/,
  );
});

test("a task module that is evaluated again replaces its binding (FC-40)", async () => {
  const { Reloading } = await import("./fixtures/reloading.ts");
  const path = `./fixtures/reloaded${import.meta.url.slice(-3)}`;
  const first = await import(`${path}?t=1`);
  const second = await import(`${path}?t=2`);
  assert.notEqual(first.Step, second.Step);
  const source = graphOf(Reloading).vertices.get("step")?.task;
  assert.ok(source?.kind === "class" && source.cls === second.Step);
});

function workflow(module: string) {
  const flow = newWorkflow("orders", module);
  Vertex({ graph: flow, id: "only", entry: true, finish: true, ...PLAIN })(class extends Echo {});
  return flow;
}

test("of one graph id, the same module's newer class replaces, another module's is a fault that names both (D9)", async () => {
  const old = workflow("file:///app/orders.ts?t=1");
  const reloaded = workflow("file:///app/orders.ts?t=2");
  const found = await scan({ old }, { reloaded });
  assert.deepEqual(found.map((w) => w.workflow), [reloaded]);
  await assert.rejects(
    () => scan({ old }, { copy: workflow("file:///app/copy.ts") }),
    (error: BuildError) => {
      assert.equal(error.name, "BuildError");
      assert.match(
        error.message,
        /version 0 of graph orders is defined twice: .*app\/copy\.ts and .*app\/orders\.ts/,
      );
      return true;
    },
  );
});

test("a thunk that leads nowhere yet is named when its graph is faulty for it, and taken once it leads on (D9, FC-40)", () => {
  const flow = aloneIn(class extends Echo {});
  const later: { flow?: FlowClass } = {};
  @Vertex({ graph: () => as<FlowClass>(later.flow), id: "late", ...PLAIN })
  class Late extends Echo {}
  Vertex({ graph: flow, id: "middle", to: "late", ...PLAIN })(class extends Echo {});
  Vertex({ graph: flow, id: "side", to: "middle", ...PLAIN })(class extends Echo {});
  const faults = faultsOf(flow);
  assert.match(
    faults[0] ?? "",
    /@Vertex: on class Late \(vertex late\): its graph thunk does not return a workflow/,
  );
  assert.match(faults.join("\n"), /unknown vertex "late"/);
  later.flow = flow;
  assert.ok(Late);
  assert.deepEqual(faultsOf(flow).filter((m) => /late/i.test(m) && !/unreachable/.test(m)), []);
});

test("compiling while a thunk's class is still in its dead zone names the task (D9, FC-40)", () => {
  const flow = newWorkflow("flow");
  Vertex({ graph: flow, id: "first", entry: true, to: "last", ...PLAIN })(class extends Echo {});
  Vertex({ graph: () => Late, id: "last", finish: true, ...PLAIN })(class Task extends Echo {});
  assert.match(faultsOf(flow)[0] ?? "", /on class Task \(vertex last\): its graph thunk/);
  const Late = flow;
  assert.deepEqual(faultsOf(flow), []);
});

test("scan reports an exported task whose thunk leads nowhere, and an export that is not defined yet (D9)", async () => {
  const later: { flow?: FlowClass } = {};
  @Vertex({ graph: () => as<FlowClass>(later.flow), id: "only", ...PLAIN })
  class Late extends Echo {}
  await assert.rejects(() => scan({ Late }), /on class Late \(vertex only\): its graph thunk/);
  later.flow = aloneIn(class extends Echo {});
  graphOf(aloneIn(class extends Echo {}));
  const module = Object.defineProperty({}, "Early", {
    enumerable: true,
    get: () => {
      throw new ReferenceError("Early is not initialized");
    },
  });
  await assert.rejects(() => scan(module), {
    name: "BuildError",
    message: /export Early has not been defined yet/,
  });
});

test("a class or a workflow without an id is refused, never named after its class (FC-37)", () => {
  const flow = newWorkflow("flow");
  const id = as<string>(undefined);
  Vertex({ graph: flow, id, entry: true, finish: true, ...PLAIN })(class Nameable extends Echo {});
  assert.match(faultsOf(flow)[0] ?? "", /addVertex.*id is undefined/);
  assert.doesNotMatch(faultsOf(flow).join("\n"), /vertex Nameable/);
  class Named extends Workflow(State) {}
  Graph({ id })(Named);
  assert.match(faultsOf(Named)[0] ?? "", /graph's id is undefined/);
});

test("a graph does not depend on the order in which its modules were loaded (D9)", () => {
  const build = (ids: readonly string[]) => {
    const flow = newWorkflow("flow");
    for (const id of ids) {
      const to = id === "a" ? ["b", "c"] : [];
      Vertex({ graph: flow, id, entry: id === "a", finish: id !== "a", to, ...PLAIN })(class extends Echo {});
    }
    return graphOf(flow);
  };
  const forth = build(["a", "b", "c"]);
  const back = build(["c", "b", "a"]);
  assert.equal(forth.version, back.version);
  assert.deepEqual([...forth.vertices.keys()], [...back.vertices.keys()]);
});

test("what a thing is does not depend on instanceof: classes of another realm's shape are scanned by their records (D9)", async () => {
  const flow = aloneIn(class extends Echo {}, "shape");
  Object.defineProperty(flow, Symbol.hasInstance, { value: () => false });
  assert.deepEqual((await scan({ flow })).map(({ id }) => id), ["shape"]);
});
