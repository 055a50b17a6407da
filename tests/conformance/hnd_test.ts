// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile, defineWait, GraphBuilder } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Registry, runnerHandle } from "../../src/worker/mod.ts";

const When = defineWait("when", z.object({ at: z.date(), count: z.number().default(1) }));

const State = z.object({
  n: z.number().default(0),
  due: z.date().optional(),
  tags: z.set(z.string()).default(new Set<string>()),
  said: z.unknown().optional(),
});

function graph(version = 1) {
  return new GraphBuilder({ id: "json", version, schema: State })
    .addVertex({
      id: "ask",
      task: {
        execute: async (_: number, ctx) => {
          const { at, count } = await ctx.waitFor(When, { info: { since: new Date(0) } });
          return { at, count };
        },
      },
      waits: [When],
      select: (s) => s.n,
      reduce: (s, { at, count }) => {
        s.due = at;
        s.n += count;
      },
    })
    .addVertex({
      id: "free",
      task: { execute: (_: number, ctx) => (ctx.answer()?.value ?? ctx.interrupt("anything")) },
      select: (s) => s.n,
      reduce: (s, said: unknown) => {
        s.said = said;
      },
    })
    .addEdge("ask", "free")
    .build({ entry: "ask", finish: "free" });
}

function lab(version = 1) {
  const store = memoryStore();
  const runner = compile(graph(version), { store });
  return { store, runner, handle: runnerHandle(runner) };
}

test("a handle has the graph, the version and the topology of its runner (HND-01)", () => {
  const { handle, runner } = lab();
  assert.deepEqual([handle.graphId, handle.graphVersion], ["json", runner.graph.version]);
  assert.deepEqual(handle.topology(), runner.topology());
});

test("inputs and states are JSON, both ways, with what JSON lacks as tags; no input is the empty object (HND-02, HND-08)", async () => {
  const { handle, runner } = lab();
  const input = { n: 4, due: { $date: "2026-01-02T03:04:05.000Z" }, tags: { $set: ["a", "b"] } };
  const paused = await handle.run(input, { runId: "r" });
  assert.deepEqual([paused.status, paused.reason], ["interrupted", "awaiting"]);
  assert.deepEqual(paused.state, input);
  assert.doesNotThrow(() => structuredClone(paused));
  assert.deepEqual(JSON.parse(JSON.stringify(paused)), paused);
  assert.deepEqual((await runner.get("r")).state.tags, new Set(["a", "b"]));
  const empty = await handle.run(undefined, { runId: "s" });
  assert.deepEqual(empty.state, { n: 0, tags: { $set: [] } });
  assert.deepEqual(await handle.get("s"), empty);
  assert.deepEqual(await handle.status("s"), empty.run);
});

test("what the schema refuses, or JSON cannot mean, starts nothing (HND-03)", async () => {
  const { handle } = lab();
  await assert.rejects(handle.run({ n: "4" }), { code: "VALIDATION" });
  await assert.rejects(handle.run([1]), { code: "VALIDATION" });
  await assert.rejects(handle.run(null), { code: "VALIDATION" });
  await assert.rejects(handle.submit({ due: { $date: "yesterday" } }), { code: "ARGUMENT" });
  assert.deepEqual((await handle.list()).rows, []);
});

test("errors of the runner come through unchanged (HND-04)", async () => {
  const { handle } = lab();
  await assert.rejects(handle.get("none"), { code: "CHECKPOINT_NOT_FOUND" });
  await assert.rejects(handle.status("none"), { code: "CHECKPOINT_NOT_FOUND" });
  await assert.rejects(handle.resume("none"), { code: "CHECKPOINT_NOT_FOUND" });
  await assert.rejects(handle.cancel("none"), { code: "CHECKPOINT_NOT_FOUND" });
  await assert.rejects(handle.history("none"), { code: "CHECKPOINT_NOT_FOUND" });
  await assert.rejects(handle.answer("none", "w", {}), { code: "CHECKPOINT_NOT_FOUND" });
  await handle.run({}, { runId: "r" });
  await assert.rejects(handle.run({ n: 1 }, { runId: "r" }), { code: "RUN_EXISTS" });
});

test("an answer in JSON reaches the task as its wait's schema makes it, and an interrupt takes whatever it is (HND-05, HND-06)", async () => {
  const { handle } = lab();
  await handle.run({}, { runId: "r" });
  const { rows: [wait] } = await handle.waits({ runId: "r" });
  const { waitId, info } = wait as { waitId: string; info: unknown };
  assert.deepEqual(info, { since: { $date: "1970-01-01T00:00:00.000Z" } });
  await assert.rejects(handle.answer("r", waitId, { at: "2026-01-01" }), { code: "ANSWER" });
  await handle.answer("r", waitId, { at: { $date: "2026-01-01T00:00:00.000Z" } });
  const next = await handle.resume("r");
  assert.deepEqual(next.state, { n: 1, due: { $date: "2026-01-01T00:00:00.000Z" }, tags: { $set: [] } });
  assert.deepEqual(next.waits!.map((w) => [w.vertexId, w.kind, w.info]), [["free", "interrupt", "anything"]]);
  const done = await handle.resume("r", { payload: { a: [1, { $bigint: "12345678901234567890" }] } });
  assert.equal(done.status, "completed");
  assert.deepEqual((done.state as { said: unknown }).said, { a: [1, { $bigint: "12345678901234567890" }] });
});

test("failures, halts and cancellations are told as plain data (HND-04)", async () => {
  const store = memoryStore();
  const failing = new GraphBuilder({ id: "f", schema: State })
    .addVertex({
      id: "v",
      task: {
        execute: () => {
          throw new TypeError("no");
        },
      },
      select: () => 0,
      reduce: () => {},
    })
    .build({ entry: "v", finish: "v" });
  const handle = runnerHandle(compile(failing, { store }));
  const result = await handle.run({}, { runId: "r" });
  assert.equal(result.reason, "errored");
  assert.deepEqual(
    result.failures!.map(({ vertexId, failure }) => [vertexId, (failure as { name: string }).name]),
    [
      ["v", "TypeError"],
    ],
  );
  assert.deepEqual(JSON.parse(JSON.stringify(result)), result);
  const { rows } = await handle.history("r");
  assert.deepEqual(JSON.parse(JSON.stringify(rows)), rows);
  assert.deepEqual(await handle.cancel("r", "enough"), { runId: "r", status: "cancelled", reason: "enough" });
  const cancelled = await handle.get("r");
  assert.deepEqual([cancelled.status, cancelled.cancelReason], ["cancelled", "enough"]);
  const halting = new GraphBuilder({ id: "h", schema: State })
    .addVertex({ id: "a", task: { execute: () => 1 }, select: () => 0, reduce: () => {} })
    .addVertex({ id: "b", task: { execute: () => 1 }, select: () => 0, reduce: () => {} })
    .addEdge("a", "a").addEdge("a", "b").build({ entry: "a", finish: "b" });
  const halted = await runnerHandle(compile(halting, { store })).run({}, { maxSteps: 2 });
  assert.deepEqual(halted.halt, {
    kind: "max_steps",
    step: 2,
    message: halted.halt!.message,
  });
});

test("a registry keeps versions apart, resolves exactly, and refuses a second runner of one, by name (HND-09, HND-10, HND-14)", () => {
  const registry = new Registry();
  const [one, two] = [lab(1), lab(2)];
  const first = registry.add(one.runner);
  const second = registry.add(two.runner);
  assert.equal(registry.resolve("json", one.runner.graph.version), first);
  assert.equal(registry.resolve("json", two.runner.graph.version), second);
  assert.equal(registry.resolve("json", "other"), undefined);
  assert.equal(registry.resolve("other", one.runner.graph.version), undefined);
  assert.throws(() => registry.add(lab(1).runner), (error: Error & { code?: string }) => {
    assert.equal(error.code, "DUPLICATE_REGISTRATION");
    assert.ok(error.message.includes("json") && error.message.includes(one.runner.graph.version));
    return true;
  });
  assert.equal(registry.resolve("json", one.runner.graph.version), first);
});

test("keys and manifest are sorted and stable, and empty lists when there is nothing (HND-11, HND-12)", () => {
  const registry = new Registry();
  assert.deepEqual([registry.keys, registry.manifest], [[], []]);
  const store = memoryStore();
  for (const [id, version] of [["b", 2], ["a", 1], ["b", 1]] as const) {
    const built = new GraphBuilder({ id, version, schema: State })
      .addVertex({ id: "v", task: { execute: () => 1 }, select: () => 0, reduce: () => {} })
      .build({ entry: "v", finish: "v" });
    registry.add(compile(built, { store }));
  }
  const ends = registry.keys.map(({ graphId, graphVersion }) => [graphId, graphVersion.split(":")[1]]);
  assert.deepEqual(ends, [["a", "1"], ["b", "1"], ["b", "2"]]);
  assert.deepEqual(registry.manifest.map(({ graphId, versions }) => [graphId, versions.length]), [["a", 1], [
    "b",
    2,
  ]]);
  assert.deepEqual(registry.manifest[1]!.versions, [...registry.manifest[1]!.versions].sort());
});
