// Runs on deno by default: the stops find faults of the engine, which no runtime decides.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { GraphBuilder } from "../../mod.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { HaltKind } from "../../src/model/run.ts";
import { type CrashScenario, crashTest, type Effects } from "../../src/testing/mod.ts";

const State = z.object({ log: z.array(z.string()).default([]) });
type State = z.infer<typeof State>;

const unfaked = { execute: (_: null): Promise<string> => Promise.reject(new Error("it must be faked")) };

/** What is wrong outside of the run until somebody mends it. */
const world = { broken: true };

const vertex = (id: string) => ({
  id,
  task: unfaked,
  select: () => null,
  reduce: (s: State, name: string) => {
    s.log.push(name);
  },
});

/** a → b, where the way from a to b depends on the world. */
function twoSteps(id: string, pick: () => "b") {
  return new GraphBuilder<State>({ id, schema: State })
    .addVertex(vertex("a"))
    .addVertex(vertex("b"))
    .addConditionalEdge("a", { targets: ["b"], pick })
    .build({ entry: "a", finish: "b" });
}

const condition = twoSteps("condition", () => {
  if (world.broken) throw new Error("the rule is broken");
  return "b";
});

const undeclared = twoSteps("undeclared", () => (world.broken ? "c" : "b") as "b");

/** a leads nowhere and is no finish; b is never reached. */
const deadEnd = new GraphBuilder<State>({ id: "dead-end", schema: State })
  .addVertex({ ...vertex("a"), onError: { route: "b" } })
  .addVertex(vertex("b"))
  .build({ entry: "a", finish: "b" });

/** A cycle of five steps under a budget of three. */
const budget = new GraphBuilder<State>({ id: "budget", schema: State })
  .addVertex(vertex("a"))
  .addVertex(vertex("b"))
  .addConditionalEdge("a", { targets: ["a", "b"], pick: (s) => s.log.length < 5 ? "a" : "b" })
  .build({ entry: "a", finish: "b" });

const work = (effects: Effects) => {
  const body = (_: null, ctx: TaskContext) => {
    effects.happen(ctx.idempotencyKey, ctx.vertexId);
    return ctx.vertexId;
  };
  return { a: body, b: body };
};

const seen = new Set<string>();

const scenario: CrashScenario<State> = {
  input: {},
  tasks: work,
  begin: () => {
    world.broken = true;
  },
  finish: (result, runner) => {
    seen.add(result.halt?.kind ?? result.reason);
    world.broken = false;
    return runner.resume(result.run.runId);
  },
};

const halts = [
  { kind: "condition", graph: condition, scenario },
  { kind: "undeclared_target", graph: undeclared, scenario },
  {
    kind: "max_steps",
    graph: budget,
    scenario: {
      ...scenario,
      options: { maxSteps: 3 },
      finish: (result, runner) => {
        seen.add(result.halt?.kind ?? result.reason);
        return runner.resume(result.run.runId, { maxSteps: 10 });
      },
    },
  },
] as const satisfies readonly { kind: HaltKind; graph: unknown; scenario: CrashScenario<State> }[];

for (const { kind, graph, scenario } of halts) {
  test(`a run halted by ${kind} goes on after mending, wherever its engines are stopped (E8)`, async () => {
    seen.clear();
    const report = await crashTest(graph, {
      ...scenario,
      outcome: ({ status, state }) => ({ status, state }),
    });
    assert.deepEqual([...seen], [kind]);
    assert.ok(report.crashes.length > 2 * report.writes);
  });
}

test("a dead end stays one however often it is resumed, and no vertex runs again (E8)", async () => {
  let resumed = 0;
  const report = await crashTest(deadEnd, {
    ...scenario,
    expect: "interrupted",
    begin: () => {
      resumed = 0;
    },
    finish: (result, runner) => {
      assert.equal(result.halt?.kind, "dead_end");
      return resumed++ < 2 ? runner.resume(result.run.runId) : undefined;
    },
  });
  assert.ok(report.crashes.length > 2 * report.writes);
});

test("a vertex that failed for good gets fresh attempts when it is resumed, wherever its engines are stopped", async () => {
  const graph = new GraphBuilder<State>({ id: "errored", schema: State })
    .addVertex({ ...vertex("a"), retry: { maxAttempts: 2, backoff: { initial: "1m" } } })
    .addVertex(vertex("b"))
    .addVertex(vertex("c"))
    .addEdge("a", "b")
    .addEdge("a", "c")
    .build({ entry: "a", finish: ["b", "c"] });
  seen.clear();
  await crashTest(graph, {
    ...scenario,
    tasks: (effects) => ({
      ...work(effects),
      a: work(effects).a,
      b: (_: null, ctx: TaskContext) => {
        if (world.broken) throw new Error("no b yet");
        return work(effects).b(null, ctx);
      },
      c: work(effects).a,
    }),
    outcome: ({ status, state, path }) => ({ status, state, path }),
  });
  assert.deepEqual([...seen], ["errored"]);
});
