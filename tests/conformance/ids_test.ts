// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "../../src/compile.ts";
import type { RunResult } from "../../src/engine/result.ts";
import { ArgumentError, BuildError } from "../../src/errors.ts";
import { defineWait } from "../../src/decorators/mod.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { z } from "zod";
import {
  chainOf,
  completed,
  engine,
  gate,
  graphOf,
  interrupted,
  type Notes,
  notes,
} from "../support/graphs.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ZERO = "00000000-0000-0000-0000-000000000000";
const boom = new Error("boom");

test("minted run ids are UUIDs in canonical text, never zero, and no two are the same (IDS-01, IDS-04, IDS-23)", async () => {
  const minted = new Set<string>();
  const perVertex = new Set<string>();
  const graph = graphOf({ vertices: { v: { run: (_input, ctx) => void perVertex.add(ctx.vertexRunId) } } });
  const runner = compile(graph, { store: memoryStore(), runtime: systemRuntime });
  for (let i = 0; i < 20; i++) {
    const { run } = await runner.run(notes());
    assert.match(run.runId, UUID_V7);
    assert.equal(JSON.parse(JSON.stringify(run)).runId, run.runId);
    assert.equal((await runner.status(run.runId)).runId, run.runId);
    minted.add(run.runId);
  }
  for (const id of perVertex) assert.match(id, UUID);
  assert.deepEqual([minted.size, perVertex.size, minted.has(ZERO), perVertex.has(ZERO)], [
    20,
    20,
    false,
    false,
  ]);
});

test("a text that is no id is refused with a typed error wherever an id is taken (IDS-02)", async () => {
  const { runner } = engine(chainOf("v"));
  for (const bad of ["", "-a", " a", "a b", "a/b", "ä", "a".repeat(129), "../x", "a\0", "__proto__"]) {
    assert.throws(() => graphOf({ id: bad, vertices: { v: {} } }), BuildError, `graph ${bad}`);
    assert.throws(() => graphOf({ vertices: { v: {}, [bad]: {} } }), BuildError, `vertex ${bad}`);
    assert.throws(() => defineWait(bad, z.string()), BuildError, `wait ${bad}`);
    for (
      const call of [
        () => runner.start(notes(), { runId: bad }),
        () => runner.resume(bad),
        () => runner.get(bad),
        () => runner.status(bad),
        () => runner.history(bad),
        () => runner.answer(bad, "w", 1),
      ]
    ) await assert.rejects(call, ArgumentError, `run ${bad}`);
  }
  assert.deepEqual((await runner.list()).rows, []);
});

test("what the source of ids throws is what the start throws, and nothing is left (IDS-05)", async () => {
  const clock = new VirtualClock();
  const store = memoryStore();
  let broken = false;
  const uuid = () => {
    if (broken) throw boom;
    return clock.uuid();
  };
  const failing: Runtime = {
    now: () => clock.now(),
    elapsed: () => clock.elapsed(),
    wakeAt: (...timer) => clock.wakeAt(...timer),
    wakeIn: (...timer) => clock.wakeIn(...timer),
    macrotask: (run) => clock.macrotask(run),
    pause: (...timer) => clock.pause(...timer),
    random: () => clock.random(),
    uuid,
  };
  let ran = 0;
  const graph = graphOf({ vertices: { v: { run: () => void ran++ } } });
  const runner = compile(graph, { store, runtime: failing });
  broken = true;
  await assert.rejects(runner.run(notes()), (error) => error === boom);
  assert.deepEqual([ran, (await runner.list()).rows], [0, []]);
});

test("a step is a number in JSON and its decimal text in keys (IDS-06)", async () => {
  let key = "";
  const e = engine(graphOf({
    vertices: {
      a: { targets: ["a", "b"], pick: (s) => s.log.length < 11 ? "a" : "b" },
      b: { run: (_input, ctx) => void (key = ctx.idempotencyKey) },
    },
  }));
  const { run } = completed(await e.run(notes()));
  assert.match(JSON.stringify(run), /"step":11[,}]/);
  assert.match(key, /\/step=11\//);
});

/** A run of every kind of end. */
async function ends(): Promise<Readonly<Record<string, RunResult<Notes>>>> {
  const run = (vertices: Parameters<typeof graphOf<Notes>>[0]["vertices"], options = {}) => {
    const e = engine(graphOf<Notes>({ vertices, entry: "v", finish: "v" }));
    return e.run(notes(), options);
  };
  const over = engine(graphOf<Notes>({ vertices: { v: { run: () => new Promise(() => {}) } } }));
  return {
    completed: await run({ v: {} }),
    errored: await run({ v: { run: () => Promise.reject(boom) } }),
    awaiting: await run({ v: { run: (_input, ctx) => ctx.interrupt() } }),
    sleeping: await run({ v: { run: (_input, ctx) => ctx.sleep("s", "1d") } }),
    halted: await run({ v: { to: "v" } }, { maxSteps: 1 }),
    cancelled: await over.run(notes(), { deadline: "1m" }),
  };
}

test("statuses and reasons are lower-case words, stored and rendered as they are (IDS-07, IDS-10, IDS-12)", async () => {
  const seen = Object.entries(await ends()).map(([name, { run }]) => [name, run.status, run.reason]);
  assert.deepEqual(seen, [
    ["completed", "completed", undefined],
    ["errored", "interrupted", "errored"],
    ["awaiting", "interrupted", "awaiting"],
    ["sleeping", "interrupted", "sleeping"],
    ["halted", "interrupted", "halted"],
    ["cancelled", "cancelled", undefined],
  ]);
  const held = gate();
  const e = engine(graphOf({ vertices: { v: { run: () => held.promise } } }));
  const handle = await e.runner.start(notes());
  assert.equal((await e.runner.status(handle.runId)).status, "running");
  assert.deepEqual((await e.runner.list({ status: "running" })).rows.map((row) => row.runId), [handle.runId]);
  held.open();
  completed(await e.clock.drive(handle.result()));
  assert.deepEqual((await e.runner.list({ status: "completed" })).rows.map((row) => row.status), [
    "completed",
  ]);
});

test("what run and resume return is never running (IDS-30)", async () => {
  for (const [name, result] of Object.entries(await ends())) {
    assert.notEqual(result.status as string, "running", name);
  }
  const e = engine(chainOf("a", "b"));
  const abort = new AbortController();
  await assert.rejects(
    e.run(notes(), { runId: "r", signal: abort.signal, hooks: { step: () => abort.abort() } }),
    { code: "RUN_ABORTED" },
  );
  assert.equal((await e.runner.status("r")).status, "running");
  assert.equal((await e.resume("r")).status, "completed");
});

test("a vertex is pending, suspended, in backoff, done or failed, in lower-case words (IDS-08, IDS-12)", async () => {
  const told: string[] = [];
  const e = engine(
    graphOf({
      vertices: {
        start: { to: ["b", "d", "f", "s"] },
        b: { retry: { maxAttempts: 2, backoff: { initial: "1d" } }, run: () => Promise.reject(boom) },
        d: {},
        f: { run: () => Promise.reject(boom) },
        s: { run: (_input, ctx) => ctx.interrupt() },
      },
    }),
    { hooks: { vertexFinish: (event) => void told.push(`${event.vertexId} ${event.status}`) } },
  );
  const { run } = interrupted(await e.run(notes()), "errored");
  assert.deepEqual(told.sort(), ["d done", "f failed", "s suspended", "start done"]);
  const picture = await e.runner.mermaid(run.runId);
  for (const status of ["done", "failed", "suspended", "backoff"]) {
    assert.match(picture, new RegExp(`\\b${status}\\b`));
  }
});

test("the phases of a history are routed, running, paused and halted (IDS-09)", async () => {
  const held = gate();
  const e = engine(graphOf({
    vertices: {
      start: { to: ["a", "b"] },
      a: {},
      b: {
        run: (_input, ctx) => ctx.answer() === undefined ? held.promise.then(() => ctx.interrupt()) : 1,
        to: "b",
      },
    },
    finish: "a",
  }));
  const running = e.run(notes(), { maxSteps: 2 });
  await e.clock.settle();
  held.open();
  const { run } = interrupted(await running, "awaiting");
  interrupted(await e.resume(run.runId, { payload: 1 }), "halted");
  const phases = (await e.runner.history(run.runId)).rows.map((entry) => entry.phase);
  assert.deepEqual(phases, ["routed", "routed", "running", "paused", "running", "halted"]);
});

test("the routing halts are condition, undeclared_target, dead_end and max_steps (IDS-11)", async () => {
  const halt = async (pick: () => unknown, finish = "f", options = {}) => {
    const e = engine(
      graphOf({ vertices: { v: { targets: ["v", "w", "f"], pick }, w: {}, f: {} }, entry: "v", finish }),
    );
    return interrupted(await e.run(notes(), options), "halted").halt!.kind;
  };
  const throwing = () => {
    throw boom;
  };
  assert.deepEqual(
    [
      await halt(throwing),
      await halt(() => "x"),
      await halt(() => "w"),
      await halt(() => "v", "f", { maxSteps: 3 }),
    ],
    ["condition", "undeclared_target", "dead_end", "max_steps"],
  );
});
