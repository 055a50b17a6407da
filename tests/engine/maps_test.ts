// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskContext } from "../../src/model/context.ts";
import type { VertexFailure } from "../../src/model/failure.ts";
import {
  completed,
  engine,
  gate,
  graphOf,
  interrupted,
  type Notes,
  notes,
  type VertexOf,
} from "../support/graphs.ts";

const boom = new Error("boom");
const items = (s: Readonly<Notes>) => s.items as number[];
const keep = (s: Notes, outputs: unknown) => void (s.out = outputs);

/** A graph whose one map vertex goes over `items` and keeps its outputs in `out`. */
const mapOver = (vertex: VertexOf<Notes>) =>
  graphOf<Notes>({ vertices: { m: { each: items, reduce: keep, ...vertex } } });

test("a map vertex runs once per item and reduces once, with the outputs in item order, whoever ended first (D5)", async () => {
  const gates = [gate<string>(), gate<string>(), gate<string>()];
  let reductions = 0;
  const e = engine(mapOver({
    run: (input) => gates[input as number]!.promise,
    reduce: (s, outputs) => (reductions++, keep(s, outputs)),
  }));
  const running = e.run(notes({ items: [0, 1, 2] }));
  for (const i of [2, 0, 1]) {
    await e.clock.settle();
    gates[i]!.open(`item ${i}`);
  }
  assert.deepEqual(completed(await running).state.out, ["item 0", "item 1", "item 2"]);
  assert.deepEqual([e.ran("m", 0), e.ran("m", 1), e.ran("m", 2), e.ran(), reductions], [1, 1, 1, 3, 1]);
});

test("no items run nothing and reduce the empty list (D5)", async () => {
  const e = engine(mapOver({}));
  const { state, run } = completed(await e.run(notes({ items: [] })));
  assert.deepEqual([state.out, e.ran()], [[], 0]);
  assert.deepEqual((await e.eventsOf(run.runId, "mapped")).map((m) => m.count), [0]);
});

test("items may be undefined, equal and falsy; each is its own execution with its own item number and key (D5)", async () => {
  const keys: string[] = [];
  const e = engine(mapOver({ run: (input, ctx) => (keys.push(ctx.idempotencyKey), [ctx.item, input]) }));
  const list = [undefined, 0, 0, "", null, false];
  const { state } = completed(await e.run(notes({ items: list }), { runId: "r" }));
  assert.deepEqual(state.out, list.map((item, i) => [i, item]));
  assert.deepEqual(keys, list.map((_, i) => `graph=g/run=r/step=0/vertex=m/item=${i}`));
});

test("each item has its own attempts, and a retry runs that item alone (D5)", async () => {
  const e = engine(mapOver({
    retry: { maxAttempts: 3, backoff: { initial: "1s" } },
    run: (input, ctx) => {
      if (ctx.attempt <= (input as number)) throw boom;
      return ctx.attempt;
    },
  }));
  const { state, run } = completed(await e.run(notes({ items: [0, 1, 2] })));
  assert.deepEqual([state.out, e.ran("m", 0), e.ran("m", 1), e.ran("m", 2)], [[1, 2, 3], 1, 2, 3]);
  const failed = await e.eventsOf(run.runId, "attempt_failed");
  assert.deepEqual(failed.map((f) => [f.item, f.failure.attempt]).sort(), [[1, 1], [2, 1], [2, 2]]);
});

test("the start of an item tells how many there are, when the map is fresh and when it is gone on with (D5)", async () => {
  const told: (number | undefined)[] = [];
  const hooks = { vertexStart: (event: { readonly items?: number }) => void told.push(event.items) };
  const e = engine(
    mapOver({ run: (input, ctx) => input === 1 ? "plain" : (ctx.answer() ?? ctx.interrupt()) }),
  );
  const { run, waits } = interrupted(await e.run(notes({ items: [0, 1, 2] }), { hooks }), "awaiting");
  assert.deepEqual(told, [3, 3, 3]);
  await e.restart().resume(run.runId, { answers: { [waits[0]!.waitId]: "c" }, hooks });
  assert.deepEqual(told, [3, 3, 3, 3]);
});

test("each item has its own wait; an answer re-runs that item alone, in another process too (D5)", async () => {
  const e = engine(
    mapOver({ run: (input, ctx) => input === 1 ? "plain" : (ctx.answer() ?? ctx.interrupt({ of: input })) }),
  );
  const first = interrupted(await e.run(notes({ items: [0, 1, 2] })), "awaiting");
  assert.deepEqual(first.waits.map((w) => [w.item, w.info]), [[0, { of: 0 }], [2, { of: 2 }]]);
  const other = e.restart();
  const second = interrupted(
    await other.resume(first.run.runId, { answers: { [first.waits[1]!.waitId]: "c" } }),
    "awaiting",
  );
  assert.deepEqual(second.waits.map((w) => w.waitId), [first.waits[0]!.waitId]);
  assert.deepEqual([e.ran("m", 0), e.ran("m", 1), e.ran("m", 2)], [1, 1, 2]);
  const done = completed(await e.restart().resume(first.run.runId, { payload: "a" }));
  assert.deepEqual(done.state.out, [{ value: "a" }, "plain", { value: "c" }]);
  assert.deepEqual([e.ran("m", 0), e.ran("m", 1), e.ran("m", 2)], [2, 1, 2]);
});

test("an item that fails under pause pauses only itself; a resume runs it alone (D5)", async () => {
  let fails = true;
  const e = engine(mapOver({
    run: (input) => {
      if (input === 1 && fails) throw boom;
      return input;
    },
  }));
  const { run, failures, state } = interrupted(await e.run(notes({ items: [0, 1, 2] })), "errored");
  assert.deepEqual(failures.map((f) => [f.vertexId, f.item, f.error.item]), [["m", 1, 1]]);
  assert.equal("out" in state, false);
  fails = false;
  assert.deepEqual(completed(await e.restart().resume(run.runId)).state.out, [0, 1, 2]);
  assert.deepEqual([e.ran("m", 0), e.ran("m", 1), e.ran("m", 2)], [1, 2, 1]);
});

test("under a route the other items finish, then the vertex fails once with the lowest item's handler and all failures (D5)", async () => {
  const received: VertexFailure[] = [];
  const last = gate();
  let reduced = 0;
  class Third extends Error {}
  const e = engine(graphOf<Notes>({
    vertices: {
      m: {
        each: items,
        run: async (input) => {
          if (input === 1) throw new TypeError("one");
          if (input === 3) throw new Third("three");
          if (input === 2) await last.promise;
          return input;
        },
        reduce: () => void reduced++,
        onError: [
          { route: "third", match: Third },
          {
            route: "handler",
            record: (s, failure) => (received.push(failure), void (s.failed = failure.message)),
          },
        ],
        to: "fin",
      },
      handler: { finish: true },
      third: { finish: true },
      fin: { finish: true },
    },
  }));
  const running = e.run(notes({ items: [0, 1, 2, 3] }));
  await e.clock.settle();
  assert.equal(e.ran("handler"), 0);
  last.open();
  const result = completed(await running);
  assert.deepEqual([result.path, result.state.failed, reduced], [["m", "handler"], "one", 0]);
  assert.equal(received.length, 1);
  const { failures, ...lowest } = received[0]!;
  assert.deepEqual(lowest, { name: "TypeError", message: "one", attempt: 1, phase: "execute" });
  assert.deepEqual(failures!.map((f) => [f.item, f.name, f.message]), [[1, "TypeError", "one"], [
    3,
    "Error",
    "three",
  ]]);
  assert.deepEqual([0, 1, 2, 3].map((i) => e.ran("m", i)), [1, 1, 1, 1]);
});

test("count and digest are recorded with the first outcome; a re-run that maps otherwise is a fault and runs nothing (D5)", async () => {
  for (const changed of [[0, 1], [0, 1, 3], [2, 1, 0], [0, 1, 2, 3]]) {
    const e = engine(
      mapOver({ run: (input, ctx) => input === 1 ? (ctx.answer() ?? ctx.interrupt()) : input }),
    );
    const { run, waits } = interrupted(await e.run(notes({ items: [0, 1, 2] })), "awaiting");
    const [mapped] = await e.eventsOf(run.runId, "mapped");
    assert.equal(mapped!.count, 3);
    assert.equal(
      (await e.runner.history(run.runId)).rows[1]!.events.some((event) => event.type === "mapped"),
      true,
    );
    const other = e.restart(mapOver({ each: () => changed, run: (input) => input }));
    const result = interrupted(
      await other.resume(run.runId, { answers: { [waits[0]!.waitId]: 1 } }),
      "errored",
    );
    assert.deepEqual(result.failures.map((f) => [f.vertexId, f.item, f.failure.phase]), [[
      "m",
      undefined,
      "select",
    ]]);
    assert.match(result.failures[0]!.error.message, /m.*differ/);
    assert.equal(e.ran(), 3);
    const back = completed(await e.restart(mapOver({ run: (input) => input })).resume(run.runId));
    assert.deepEqual(back.state.out, [0, 1, 2]);
  }
});

test("what each returns must be an array (D5)", async () => {
  for (const bad of [undefined, null, "text", 7, { length: 1 }, new Set([1])]) {
    const e = engine(mapOver({ each: () => bad as never }));
    const { failures } = interrupted(await e.run(notes({ items: [] })), "errored");
    assert.deepEqual([failures[0]!.failure.phase, e.ran()], ["select", 0]);
  }
});

test("a reducer of a map that throws pauses the vertex, and a resume reduces again without running an item (D5)", async () => {
  let broken = true;
  const e = engine(mapOver({
    run: (input) => input,
    reduce: (s, outputs) => {
      if (broken) throw boom;
      keep(s, outputs);
    },
  }));
  const { run, failures } = interrupted(await e.run(notes({ items: [5, 6] })), "errored");
  assert.deepEqual([failures[0]!.vertexId, failures[0]!.item, failures[0]!.failure.phase], [
    "m",
    undefined,
    "reduce",
  ]);
  broken = false;
  assert.deepEqual(completed(await e.restart().resume(run.runId)).state.out, [5, 6]);
  assert.equal(e.ran(), 2);
});

test("done items survive a crash, the others run again with the same key (D5)", async () => {
  const keys: string[] = [];
  const held = gate();
  const run = (
    input: unknown,
    ctx: TaskContext,
  ) => (keys.push(ctx.idempotencyKey), input === 1 ? held.promise : input);
  const e = engine(mapOver({ run }));
  const handle = await e.runner.start(notes({ items: [0, 1, 2] }));
  await e.clock.settle();
  e.kill();
  held.open();
  const done = completed(await e.restart().resume(handle.runId, { takeover: true }));
  assert.deepEqual(done.state.out, [0, undefined, 2]);
  assert.deepEqual([0, 1, 2].map((i) => e.ran("m", i)), [1, 2, 1]);
  assert.equal(keys[3], keys[1]);
});
