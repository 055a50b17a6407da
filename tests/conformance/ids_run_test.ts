// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { idempotencyKey } from "../../src/engine/ids.ts";
import type { RunResult } from "../../src/engine/result.ts";
import { RunExistsError, StoreError } from "../../src/errors.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { chainOf, completed, engine, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";

const boom = new Error("boom");

test("the key names graph, run, step and vertex, and nothing else (IDS-14, IDS-15)", async () => {
  assert.equal(idempotencyKey("g", "r", 5, "v"), "graph=g/run=r/step=5/vertex=v");
  const keys: string[] = [];
  const runs: string[] = [];
  const e = engine(graphOf({
    id: "orders",
    vertices: {
      a: { to: "v" },
      v: {
        run: (_input, ctx) => {
          keys.push(ctx.idempotencyKey);
          runs.push(ctx.vertexRunId);
          throw boom;
        },
      },
    },
  }));
  await e.run(notes(), { runId: "r-1" });
  await e.resume("r-1");
  assert.deepEqual(keys, Array(2).fill("graph=orders/run=r-1/step=1/vertex=v"));
  assert.notEqual(runs[0], runs[1]);
});

test("another graph, run, step, vertex or item is another key (IDS-16)", () => {
  const keys = [
    idempotencyKey("g", "r", 1, "v"),
    idempotencyKey("h", "r", 1, "v"),
    idempotencyKey("g", "s", 1, "v"),
    idempotencyKey("g", "r", 2, "v"),
    idempotencyKey("g", "r", 1, "w"),
    idempotencyKey("g", "r", 1, "v", 0),
    idempotencyKey("g", "r", 1, "v", 1),
  ];
  assert.equal(new Set(keys).size, keys.length);
});

test("the key is one through failed attempts, a pause, a crash and a resume that begins the vertex afresh (IDS-17)", async () => {
  const keys = new Set<string>();
  const runs = new Set<string>();
  let fails = true;
  const e = engine(graphOf({
    vertices: {
      v: {
        retry: { maxAttempts: 2 },
        run: (_input, ctx) => {
          keys.add(ctx.idempotencyKey);
          runs.add(ctx.vertexRunId);
          if (fails) throw boom;
          return ctx.answer() === undefined ? ctx.interrupt() : 1;
        },
      },
    },
  }));
  const { run } = interrupted(await e.run(notes()), "errored");
  fails = false;
  interrupted(await e.restart().resume(run.runId), "awaiting");
  completed(await e.restart().resume(run.runId, { payload: 1 }));
  assert.deepEqual([e.ran("v"), keys.size, runs.size], [4, 1, 2]);
});

test("a vertex that a cycle runs in two steps has two keys (IDS-19)", async () => {
  const keys: string[] = [];
  const e = engine(graphOf({
    vertices: {
      a: { run: (_input, ctx) => void keys.push(ctx.idempotencyKey), to: "b" },
      b: { targets: ["a", "f"], pick: (s) => s.log.length < 4 ? "a" : "f" },
      f: {},
    },
  }));
  completed(await e.run(notes(), { runId: "r" }));
  assert.deepEqual(keys, ["graph=g/run=r/step=0/vertex=a", "graph=g/run=r/step=2/vertex=a"]);
});

test("what a body is told of itself is what is recorded and told of it (IDS-21)", async () => {
  const seen: Pick<TaskContext, "graphId" | "runId" | "vertexId" | "vertexRunId" | "step">[] = [];
  const told: unknown[] = [];
  const e = engine(
    graphOf({
      id: "g7",
      vertices: {
        a: { to: "v" },
        v: {
          run: (_input, { graphId, runId, vertexId, vertexRunId, step }) => {
            seen.push({ graphId, runId, vertexId, vertexRunId, step });
            throw boom;
          },
        },
      },
    }),
    {
      hooks: {
        vertexFinish: (event) => void (event.vertexId === "v" && told.push([event.vertexRunId, event.step])),
      },
    },
  );
  const { run, failures } = interrupted(await e.run(notes()), "errored");
  const [{ error }] = failures as [typeof failures[0]];
  const { vertexId, vertexRunId, step } = error;
  assert.deepEqual(seen, [{ graphId: "g7", runId: run.runId, vertexId, vertexRunId, step }]);
  assert.deepEqual([vertexId, step, told], ["v", 1, [[vertexRunId, 1]]]);
  assert.equal((await e.eventsOf(run.runId, "failed"))[0]!.vertexId, "v");
});

test("a body reads its own attempt, counted from 1, and its start is told once with its time (IDS-22)", async () => {
  const attempts: number[] = [];
  const starts: unknown[] = [];
  const e = engine(
    graphOf({
      vertices: {
        v: {
          retry: { maxAttempts: 3, backoff: { initial: "1s" } },
          run: (_input, ctx) => {
            attempts.push(ctx.attempt);
            if (ctx.attempt < 3) throw boom;
          },
        },
      },
    }),
    { hooks: { vertexStart: (event) => void starts.push([event.vertexId, event.attempt, event.startedAt]) } },
  );
  const begin = e.clock.now();
  completed(await e.run(notes()));
  assert.deepEqual([attempts, starts], [[1, 2, 3], [["v", 1, begin]]]);
});

test("a run id that is given is the run's id as it is (IDS-24)", async () => {
  for (const runId of ["order-7", "A.b_c:d-9", "0192f0c1-2b3c-7d4e-8f50-123456789abc"]) {
    const e = engine(chainOf("v"));
    assert.equal((await e.run(notes(), { runId })).run.runId, runId);
    assert.deepEqual((await e.runner.list()).rows.map((row) => row.runId), [runId]);
  }
});

test("a start under the id of another run is refused: nothing runs and nothing is written (IDS-25)", async () => {
  const e = engine(chainOf("v"));
  completed(await e.run(notes({ x: 1 }), { runId: "r" }));
  await assert.rejects(e.run(notes({ x: 2 }), { runId: "r" }), (error) => {
    assert.ok(error instanceof RunExistsError);
    assert.equal(error.runId, "r");
    return true;
  });
  const other = e.restart(graphOf({ id: "other", vertices: { v: {} } }));
  await assert.rejects(other.run(notes({ x: 1 }), { runId: "r" }), RunExistsError);
  assert.deepEqual([e.ran(), (await e.runner.history("r")).rows.length], [1, 2]);
  assert.deepEqual(
    completed(await e.run(notes({ x: 1 }), { runId: "r" })).state,
    notes({ x: 1, log: ["v"] }),
  );
  assert.deepEqual([e.ran(), (await e.runner.history("r")).rows.length], [1, 2]);
});

test("a store that fails while the id is looked up rejects the start with its error, and nothing runs (IDS-26)", async () => {
  const store = memoryStore();
  const e = engine(chainOf("v"), { store });
  completed(await e.run(notes(), { runId: "r" }));
  const fault = new StoreError("tail", "the disk is gone");
  const broken = new Proxy(store, {
    get: (target, key) => {
      if (key === "tail") return () => Promise.reject(fault);
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const second = engine(chainOf("v"), { store: broken, clock: e.clock, bodies: e.bodies });
  await assert.rejects(second.run(notes(), { runId: "r" }), (error) => error === fault);
  assert.deepEqual([e.ran(), (await e.runner.history("r")).rows.length], [1, 2]);
});

test("the times of a completed run are in order, and those of what did not happen are absent (IDS-28)", async () => {
  const e = engine(
    graphOf({ vertices: { v: { timeout: "1h", run: (_input, ctx) => ctx.sleep("s", "5s") } } }),
  );
  const begin = e.clock.now();
  const { run } = completed(await e.run(notes()));
  const { createdAt, startedAt, updatedAt, completedAt } = run;
  assert.deepEqual([createdAt, startedAt, completedAt, updatedAt], [
    begin,
    begin,
    begin + 5_000,
    begin + 5_000,
  ]);
  assert.deepEqual(["interruptedAt" in run, "cancelledAt" in run, "deadline" in run], [false, false, false]);
});

test("a run is created and started at one time, which no pause, resume or restart changes (IDS-29)", async () => {
  const e = engine(graphOf({ vertices: { v: { run: (_input, ctx) => ctx.answer() ?? ctx.interrupt() } } }));
  const begin = e.clock.now();
  const { run } = interrupted(await e.run(notes()), "awaiting");
  await e.clock.advance("1h");
  const done = completed(await e.restart().resume(run.runId, { payload: 1 }));
  for (const { createdAt, startedAt } of [run, done.run]) {
    assert.deepEqual([createdAt, startedAt], [begin, begin]);
  }
  assert.equal(done.run.completedAt, begin + 3_600_000);
});

test("a result's revision is the newest of the store, and revisions have no gap (IDS-31)", async () => {
  const e = engine(graphOf({
    vertices: {
      a: { to: "v" },
      v: { run: (_input, ctx) => ctx.answer() ?? ctx.interrupt(), to: "z" },
      z: {},
    },
  }));
  const check = async (result: RunResult<Notes>) => {
    const { rows: history } = await e.runner.history(result.run.runId);
    assert.equal(result.run.revision, history.length - 1);
    assert.deepEqual(history.map((entry) => entry.revision), history.map((_, i) => i));
    assert.equal((await e.runner.status(result.run.runId)).revision, result.run.revision);
  };
  const paused = await e.run(notes());
  await check(interrupted(paused, "awaiting"));
  await check(completed(await e.restart().resume(paused.run.runId, { payload: 1 })));
});
