// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ArgumentError } from "../../src/errors.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { completed, engine, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";

const LIMITS: readonly (readonly [limit: number | undefined, most: number])[] = [[1, 1], [2, 2], [6, 6], [
  undefined,
  6,
]];

/** Six vertices, or a map of six items, of which two pause and one fails its first attempt. */
function fanOut(kind: "vertices" | "items") {
  const load = { now: 0, most: 0 };
  const body = (i: number) => async (_input: unknown, ctx: TaskContext) => {
    load.now += 1;
    load.most = Math.max(load.most, load.now);
    try {
      for (let turn = 0; turn < 5; turn++) await undefined;
      if (i === 3 && ctx.attempt === 1) throw new Error("first attempt");
      if (i === 2 || i === 5) return ctx.answer()?.value ?? ctx.interrupt();
      return i;
    } finally {
      load.now -= 1;
    }
  };
  const retry = { maxAttempts: 2 };
  const ids = [1, 2, 3, 4, 5, 6];
  const keep = (s: Notes, out: unknown) => void (s.out = [...s.out as unknown[], out]);
  const graph = kind === "items"
    ? graphOf<Notes>({
      vertices: {
        m: {
          each: () => ids,
          retry,
          run: (i, ctx) => body(i as number)(i, ctx),
          reduce: (s, out) => void (s.out = out),
        },
      },
    })
    : graphOf<Notes>({
      vertices: {
        start: { to: ids.map((i) => `v${i}`) },
        ...Object.fromEntries(ids.map((i) => [`v${i}`, { retry, run: body(i), reduce: keep }])),
      },
    });
  return { graph, load };
}

for (const kind of ["vertices", "items"] as const) {
  for (const [concurrency, most] of LIMITS) {
    test(`six ${kind} under the limit ${concurrency} all give a result, never more than ${most} at once, after a restart too (E3, FC-21)`, async () => {
      const { graph, load } = fanOut(kind);
      const options = concurrency === undefined ? {} : { concurrency };
      const e = engine(graph);
      const first = interrupted(await e.run(notes({ out: [] }), options), "awaiting");
      assert.equal(load.most, most);
      assert.equal(first.waits.length, 2);
      load.most = 0;
      const answers = Object.fromEntries(
        first.waits.map((w) => [w.waitId, `answer ${w.item ?? w.vertexId}`]),
      );
      const result = completed(await e.restart().resume(first.run.runId, { answers, ...options }));
      const named = kind === "items" ? ["answer 1", "answer 4"] : ["answer v2", "answer v5"];
      assert.deepEqual(result.state.out, [1, named[0], 3, 4, named[1], 6]);
      assert.equal(load.most, Math.min(2, most));
      assert.equal(e.ran(), 6 + 1 + 2 + (kind === "items" ? 0 : 1));
    });
  }
}

test("a limit of none, a negative one or a fraction is refused at start and resume, and nothing runs (E3)", async () => {
  const e = engine(graphOf({ vertices: { v: { run: (_input, ctx) => ctx.answer() ?? ctx.interrupt() } } }));
  const { run } = interrupted(await e.run(notes()), "awaiting");
  for (const concurrency of [0, -1, 1.5, NaN, Infinity, "2" as never]) {
    await assert.rejects(e.runner.start(notes(), { concurrency }), ArgumentError, String(concurrency));
    await assert.rejects(
      e.runner.resume(run.runId, { concurrency, payload: 1 }),
      ArgumentError,
      String(concurrency),
    );
  }
  assert.deepEqual([e.ran(), (await e.runner.list()).rows.length], [1, 1]);
  assert.equal((await e.runner.status(run.runId)).revision, run.revision);
});

test("the default limit is 64 (E3)", async () => {
  let now = 0;
  let most = 0;
  const e = engine(graphOf<Notes>({
    vertices: {
      m: {
        each: () => Array.from({ length: 100 }, (_, i) => i),
        run: async (i) => {
          most = Math.max(most, ++now);
          for (let turn = 0; turn < 5; turn++) await undefined;
          now -= 1;
          return i;
        },
        reduce: (s, out) => void (s.sum = (out as number[]).reduce((a, b) => a + b, 0)),
      },
    },
  }));
  assert.equal(completed(await e.run(notes())).state.sum, 4950);
  assert.equal(most, 64);
});

test("siblings are cancelled neither by a sibling's wait nor by its failure (E3)", async () => {
  let aborted = 0;
  const e = engine(graphOf({
    vertices: {
      start: { to: ["f", "s", "w"] },
      f: { run: () => Promise.reject(new Error("no")) },
      w: { run: (_input, ctx) => ctx.interrupt() },
      s: {
        run: async (_input, ctx) => {
          ctx.signal.addEventListener("abort", () => aborted++);
          for (let turn = 0; turn < 50; turn++) await undefined;
          return 1;
        },
      },
    },
  }));
  const { run } = interrupted(await e.run(notes()), "errored");
  assert.equal(aborted, 0);
  assert.deepEqual((await e.eventsOf(run.runId, "done")).map((d) => d.vertexId), ["start", "s"]);
});
