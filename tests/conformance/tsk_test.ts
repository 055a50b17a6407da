// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "../../src/compile.ts";
import { CheckpointNotFoundError, VertexError } from "../../src/errors.ts";
import { GraphBuilder } from "../../src/graph/mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import {
  completed,
  engine,
  type Gate,
  gate,
  graphOf,
  interrupted,
  type Notes,
  notes,
} from "../support/graphs.ts";

const boom = new Error("boom");

test("one task bound in two graphs with two stores gives each its own result (TSK-01)", async () => {
  const task = { execute: (n: number) => n + 1 };
  const clock = new VirtualClock();
  const make = (id: string, factor: number) =>
    compile(
      new GraphBuilder<{ n: number }>({ id })
        .addVertex({ id: "v", task, select: (s) => s.n * factor, reduce: (s, out) => void (s.n = out) })
        .build({ entry: "v", finish: "v" }),
      { store: memoryStore(), runtime: clock },
    );
  const [one, two] = [make("one", 1), make("two", 10)];
  const [a, b] = await Promise.all([one.run({ n: 1 }), two.run({ n: 1 })]);
  assert.deepEqual([completed(a).state, completed(b).state], [{ n: 2 }, { n: 11 }]);
  await assert.rejects(one.get(b.run.runId), CheckpointNotFoundError);
  await assert.rejects(two.get(a.run.runId), CheckpointNotFoundError);
});

test("a task receives what was selected and its context, and its output reaches the reducer as it is (TSK-02)", async () => {
  const seen: unknown[] = [];
  let output: unknown;
  const e = engine(graphOf({
    vertices: {
      v: {
        select: (s) => ({ items: s.items }),
        run: (input, ctx) => (seen.push(input, ctx.vertexId, ctx.signal.aborted), { deep: [1, { two: 2 }] }),
        reduce: (_s, out) => void (output = out),
      },
    },
  }));
  completed(await e.run(notes({ items: [1, 2] })));
  assert.deepEqual(seen, [{ items: [1, 2] }, "v", false]);
  assert.deepEqual(output, { deep: [1, { two: 2 }] });
});

test("what a task throws is the cause of its failure, that very object (TSK-02)", async () => {
  for (const thrown of [boom, "text", undefined, { code: 7 }]) {
    const e = engine(graphOf({ vertices: { v: { run: () => Promise.reject(thrown) } } }));
    const { failures } = interrupted(await e.run(notes()), "errored");
    assert.equal(failures[0]!.error.cause, thrown);
  }
});

test("a graph of one vertex runs its task once, folds once and completes (TSK-04)", async () => {
  let folds = 0;
  const e = engine(graphOf({ vertices: { only: { reduce: (s) => void (folds++, s.log.push("folded")) } } }));
  const result = completed(await e.run(notes()));
  assert.deepEqual([e.ran(), folds, result.state.log, result.path], [1, 1, ["folded"], ["only"]]);
  assert.equal(result.run.reason, undefined);
  assert.equal("halt" in result, false);
});

test("in a chain every vertex runs once, in order, and sees what the one before committed (TSK-05)", async () => {
  const seen: unknown[] = [];
  const link = (id: string) => ({
    select: (s: Readonly<Notes>) => s.log.length,
    run: (input: unknown) => input,
    reduce: (s: Notes, out: unknown) => (seen.push([id, out, [...s.log]]), void s.log.push(id)),
  });
  const e = engine(
    graphOf({ vertices: { a: { ...link("a"), to: "b" }, b: { ...link("b"), to: "fin" }, fin: link("fin") } }),
  );
  completed(await e.run(notes()));
  assert.deepEqual(e.bodies.map((b) => [b.vertexId, b.step]), [["a", 0], ["b", 1], ["fin", 2]]);
  assert.deepEqual(seen, [["a", 0, []], ["b", 1, ["a"]], ["fin", 2, ["a", "b"]]]);
});

test("a sibling's reduction is not visible in the same step, in a retry neither (TSK-06)", async () => {
  const inputs: unknown[] = [];
  const e = engine(graphOf({
    vertices: {
      start: { to: ["a", "b"] },
      a: { reduce: (s) => void (s.x = "changed") },
      b: {
        select: (s) => s.x,
        retry: { maxAttempts: 3, backoff: { initial: "1s" } },
        run: (input, ctx) => {
          inputs.push(input);
          if (ctx.attempt < 3) throw boom;
        },
      },
    },
  }));
  const { state } = completed(await e.run(notes({ x: "before" })));
  assert.deepEqual(inputs, ["before", "before", "before"]);
  assert.equal(state.x, "changed");
});

test("no reducer of a step starts before every task of the step has returned (TSK-07)", async () => {
  const order: string[] = [];
  const slow = gate();
  const e = engine(graphOf({
    vertices: {
      start: { to: ["a", "z"] },
      a: { run: () => void order.push("a ran"), reduce: () => void order.push("a reduced") },
      z: {
        run: () => slow.promise.then(() => void order.push("z ran")),
        reduce: () => void order.push("z reduced"),
      },
    },
  }));
  const running = e.run(notes());
  await e.clock.settle();
  assert.deepEqual(order, ["a ran"]);
  slow.open();
  completed(await running);
  assert.deepEqual(order, ["a ran", "z ran", "a reduced", "z reduced"]);
});

/** Three siblings that end in the order given. */
async function runSiblings(ids: readonly string[], order: readonly string[]) {
  const gates = new Map<string, Gate>(ids.map((id) => [id, gate()]));
  const siblings = ids.map((id) =>
    [id, {
      run: () => gates.get(id)!.promise,
      reduce: (s: Notes) => void (s.log.push(id), s.last = id, s[`only-${id}`] = true),
    }] as const
  );
  const e = engine(
    graphOf({ vertices: { start: { to: [...ids], reduce: () => {} }, ...Object.fromEntries(siblings) } }),
  );
  const running = e.run(notes());
  for (const id of order) {
    await e.clock.settle();
    gates.get(id)!.open();
  }
  return completed(await running).state;
}

for (const order of [["B", "a10", "a9"], ["a9", "a10", "B"], ["a10", "a9", "B"], ["a9", "B", "a10"]]) {
  test(`siblings that end in the order ${order} fold in the order of their ids (TSK-08, TSK-09, TSK-10)`, async () => {
    const state = await runSiblings(["a9", "B", "a10"], order);
    assert.deepEqual(state, {
      log: ["B", "a10", "a9"],
      last: "a9",
      "only-B": true,
      "only-a10": true,
      "only-a9": true,
    });
  });
}

/** A state with collections, and a reducer that spoils all of it before it throws. */
const rich = () =>
  notes({ list: [1, { deep: [2] }], map: new Map([["k", { n: 1 }]]), set: new Set([1]), gone: 1 });
function spoil(s: Notes): never {
  (s.list as unknown[]).push(3);
  ((s.list as { deep: number[] }[])[1]!).deep.sort().push(9);
  (s.map as Map<string, { n: number }>).get("k")!.n = 2;
  (s.map as Map<string, unknown>).set("new", {});
  (s.set as Set<number>).clear();
  delete s.gone;
  s.log.push("spoilt");
  throw boom;
}

test("a reducer that edits and then throws leaves the state as it was and pauses the run (TSK-11, TSK-12)", async () => {
  let finishes = 0;
  const e = engine(graphOf({ vertices: { v: { reduce: spoil } } }), {
    hooks: { runFinish: () => finishes++ },
  });
  const result = interrupted(await e.run(rich()), "errored");
  assert.deepEqual(result.state, rich());
  assert.deepEqual((await e.restart().runner.get(result.run.runId)).state, rich());
  const [failed, ...others] = result.failures;
  assert.equal(others.length, 0);
  assert.ok(failed!.error instanceof VertexError);
  assert.deepEqual([failed!.vertexId, failed!.failure.phase, failed!.failure.message], [
    "v",
    "reduce",
    "boom",
  ]);
  assert.equal(failed!.error.cause, boom);
  assert.deepEqual([result.waits, result.halt, finishes], [[], undefined, 1]);
});

test("a reducer's failure is never retried, whatever the retry policy (TSK-14)", async () => {
  let reductions = 0;
  const e = engine(graphOf({
    vertices: {
      v: {
        retry: { maxAttempts: 5 },
        reduce: () => (reductions++, spoil(notes({ list: [1, { deep: [] }] }))),
      },
    },
  }));
  const { run } = interrupted(await e.run(notes()), "errored");
  assert.equal(e.ran("v"), 1);
  assert.equal((await e.eventsOf(run.runId, "attempt_failed")).length, 0);
  assert.ok(reductions >= 1);
});

test("a reducer's failure takes the error route, and record sees an unspoilt draft (TSK-15)", async () => {
  const seen: unknown[] = [];
  const e = engine(graphOf({
    vertices: {
      v: {
        reduce: spoil,
        to: "next",
        onError: {
          route: "handler",
          record: (s, failure) => {
            const map = JSON.stringify([...s.map as Map<string, unknown>]);
            seen.push(
              map,
              JSON.stringify(s.list),
              [...s.set as Set<number>],
              [...s.log],
              s.gone,
              failure.message,
            );
            s.failed = failure.phase;
          },
        },
      },
      next: { finish: true },
      handler: { finish: true },
    },
  }));
  const result = completed(await e.run(rich()));
  assert.deepEqual(seen, ['[["k",{"n":1}]]', '[1,{"deep":[2]}]', [1], [], 1, "boom"]);
  assert.deepEqual(result.state, { ...rich(), log: ["handler"], failed: "reduce" });
  assert.deepEqual(result.path, ["v", "handler"]);
  const [failed] = await e.eventsOf(result.run.runId, "failed");
  assert.deepEqual([failed!.vertexId, failed!.handler], ["v", "handler"]);
  assert.equal((await e.eventsOf(result.run.runId, "released")).length, 0);
});

test("a selector that throws pauses the run and its task never runs (TSK-17)", async () => {
  const e = engine(graphOf({
    vertices: {
      v: {
        retry: { maxAttempts: 5 },
        select: () => {
          throw boom;
        },
      },
    },
  }));
  const result = interrupted(await e.run(notes({ x: 1 })), "errored");
  assert.equal(e.ran(), 0);
  assert.deepEqual(result.failures.map((f) => [f.vertexId, f.failure.phase, f.error.cause]), [[
    "v",
    "select",
    boom,
  ]]);
  assert.deepEqual(result.state, notes({ x: 1 }));
});

test("a selector that throws takes the error route of its vertex (TSK-19)", async () => {
  const e = engine(graphOf({
    vertices: {
      v: {
        select: () => {
          throw boom;
        },
        to: "next",
        onError: { route: "handler", record: (s, f) => void (s.failed = [f.phase, f.message]) },
      },
      next: {},
      handler: { finish: true },
    },
  }));
  const result = completed(await e.run(notes()));
  assert.deepEqual(result.state, { log: ["handler"], failed: ["select", "boom"] });
  assert.equal(e.ran("v"), 0);
});
