// Runs on deno by default: limits are decided by the cells of a store, which no runtime changes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile, definePool, defineWait, GraphBuilder, isSuperstepError, listPools } from "../../mod.ts";
import type { CompiledGraph, Pool, Runner, Store, TaskContext } from "../../mod.ts";
import { Subgraph } from "../../tasks/mod.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";

const State = z.object({ items: z.array(z.number()).default([]) });
const Ok = defineWait("ok", z.boolean());
type Body = (ctx: TaskContext) => unknown;

/** A graph of one vertex, whose bodies are of the pool; with `each` it is a map over the items. */
function graphOf(id: string, pool: Pool, body: Body, each = false): CompiledGraph<z.infer<typeof State>> {
  const task = { execute: (_: unknown, ctx: TaskContext) => body(ctx) };
  const common = { id: "call", task, pool, waits: [Ok], reduce: () => {} };
  const builder = new GraphBuilder({ id, schema: State });
  if (each) builder.addVertex({ ...common, each: (s) => s.items });
  else builder.addVertex({ ...common, select: () => null });
  return builder.build({ entry: "call", finish: "call" }) as never;
}

/** Bodies that take some time, and how many were at work at once. */
class Load {
  readonly clock = new VirtualClock();
  readonly store: Store = memoryStore();
  readonly begun: number[] = [];
  now = 0;
  most = 0;
  #processes = 0;

  readonly body = (ms: number): Body => async () => {
    this.begun.push(this.clock.now());
    this.most = Math.max(this.most, ++this.now);
    await this.clock.sleep(ms);
    this.now--;
  };

  /** A runner in a process of its own. */
  process<S>(graph: CompiledGraph<S>): Runner<S> {
    this.#processes++;
    const store = aroundStore(this.store, (call) => call.apply());
    return compile(graph, { store, runtime: this.clock, logger: false });
  }
}

/** The grants and returns of a pool, in the records of some runs, in the order of their numbers. */
async function numbersOf(runner: Runner<unknown>, runIds: readonly string[]): Promise<string[]> {
  const found: { n: number; type: string }[] = [];
  for (const runId of runIds) {
    for (const { events } of (await runner.history(runId, { limit: 1_000 })).rows) {
      for (const event of events) {
        if (event.type === "granted" || event.type === "freed") found.push({ n: event.n, type: event.type });
      }
    }
  }
  return found.sort((a, b) => a.n - b.n).map(({ type }) => type);
}

test("bodies of all graphs and processes share a pool, and each grant and return is recorded with its number (Q2, Q4)", async () => {
  const load = new Load();
  const pool = definePool("model", { concurrency: 3 });
  const [one, two] = [graphOf("one", pool, load.body(100)), graphOf("two", pool, load.body(70), true)];
  const [a, b, c] = [load.process(one), load.process(one), load.process(two)];
  const input = { items: [1, 2, 3, 4, 5, 6, 7, 8] };
  const runs = [a, b, a, b, a, b, c, c].map((runner, i) => runner.run(input, { runId: `r${i}` }));
  const results = await load.clock.drive(Promise.all(runs));
  assert.ok(results.every(({ status }) => status === "completed"));
  assert.equal(load.begun.length, 6 + 16);
  assert.equal(load.most, 3);
  const numbers = await numbersOf(a as never, ["r0", "r1", "r2", "r3", "r4", "r5"]);
  const ofMaps = await numbersOf(c as never, ["r6", "r7"]);
  for (const all of [numbers, ofMaps]) {
    assert.equal(all.filter((type) => type === "granted").length, all.filter((t) => t === "freed").length);
  }
  assert.equal(numbers.length + ofMaps.length, 2 * load.begun.length);
  const [row] = await listPools(load.store);
  assert.deepEqual([row?.name, row?.concurrency, row?.held, row?.waiting], ["model", 3, {}, {}]);
});

test("so many bodies begin in any period of a rate, whichever process they are in (Q2)", async () => {
  const load = new Load();
  const pool = definePool("api", { rate: { limit: 4, per: "1s" } });
  const graph = graphOf("calls", pool, load.body(10));
  const processes = [load.process(graph), load.process(graph)];
  await load.clock.drive(Promise.all(Array.from({ length: 12 }, (_, i) => processes[i % 2]!.run({}))));
  const { begun } = load;
  for (let i = 4; i < begun.length; i++) assert.ok(begun[i]! - begun[i - 4]! >= 990, `${begun}`);
  assert.ok(begun.at(-1)! - begun[0]! < 3_500, "nobody waits longer than that");
});

test("a body that only waits, for an answer or a run that it called, gives its permit back and has one again before it goes on (Q1, Q2)", async () => {
  const load = new Load();
  const pool = definePool("desk", { concurrency: 1 });
  const child = graphOf("child", pool, load.body(50));
  const asks = graphOf("asks", pool, async (ctx) => {
    await load.body(10)(ctx);
    await ctx.waitFor(Ok);
    await load.body(10)(ctx);
  });
  const inner = load.process(child);
  const store = inner.store;
  const calls = compile(
    graphOf("calls", pool, async (ctx) => {
      await load.body(10)(ctx);
      await new Subgraph(inner).execute({}, ctx);
      await load.body(10)(ctx);
    }),
    { store, runtime: load.clock, logger: false },
  );
  const asking = load.process(asks);
  const waiting = await load.clock.drive(asking.run({}, { runId: "asks" }));
  assert.equal(waiting.status, "interrupted");
  // The one that waits is in nobody's way, and neither is the caller in that of the run that it calls.
  assert.equal((await load.clock.drive(calls.run({}))).status, "completed");
  const { rows: [wait] } = await asking.waits({ runId: "asks" });
  await asking.answer("asks", wait!.waitId, true);
  const results = await load.clock.drive(Promise.all([asking.resume("asks"), calls.run({})]));
  assert.deepEqual(results.map(({ status }) => status), ["completed", "completed"]);
  assert.equal(load.most, 1);
});

test("a permit of an owner that was buried counts no more (Q4)", async () => {
  const load = new Load();
  const pool = definePool("gpu", { concurrency: 1 });
  const graph = graphOf("train", pool, load.body(3_600_000));
  let cut = false;
  const dying = compile(graph, {
    // It falls silent: nothing of it reaches the store any more.
    store: aroundStore(load.store, (call) => cut ? new Promise<never>(() => {}) : call.apply()),
    runtime: load.clock,
    logger: false,
  });
  const lost = await dying.start({}, { runId: "lost" });
  void lost.result().catch(() => {});
  await load.clock.advance("1s");
  cut = true;
  const quick = load.process(graphOf("quick", pool, load.body(10)));
  const next = quick.start({}, { runId: "next" });
  await load.clock.advance("5s");
  assert.equal((await quick.status("next")).status, "running");
  assert.equal(load.begun.length, 1, "the permit is held");
  const watcher = load.process(graph);
  for (let i = 0; i < 60; i++) {
    await load.clock.drive(watcher.recover());
    await load.clock.advance("2s");
  }
  assert.equal((await load.clock.drive((await next).result())).status, "completed");
});

test("limits of the process that was started last hold; two definitions of one name that differ are a fault, and so is what is none (Q2)", async () => {
  const load = new Load();
  const old = load.process(graphOf("g", definePool("p", { concurrency: 1 }), load.body(10)));
  await load.clock.drive(old.run({}));
  await load.clock.advance("1m");
  const newer = load.process(graphOf("g", definePool("p", { concurrency: 2 }), load.body(10)));
  await load.clock.drive(Promise.all([newer.run({}), old.run({}), newer.run({})]));
  assert.equal(load.most, 2);
  assert.deepEqual((await listPools(load.store)).map(({ concurrency }) => concurrency), [2]);

  const both = new GraphBuilder({ id: "both", schema: State })
    .addVertex({
      id: "a",
      task: { execute: () => 1 },
      pool: definePool("x", { concurrency: 1 }),
      select: () => null,
      reduce: () => {},
    })
    .addVertex({
      id: "b",
      task: { execute: () => 1 },
      pool: definePool("x", { concurrency: 2 }),
      select: () => null,
      reduce: () => {},
    })
    .addEdge("a", "b");
  assert.throws(
    () => compile(both.build({ entry: "a", finish: "b" }), { store: memoryStore() }),
    /two pools x/,
  );
  for (const options of [{}, { concurrency: 0 }, { rate: { limit: 1, per: "soon" } }, { most: 1 }]) {
    assert.throws(
      () => definePool("p", options as never),
      (e) => isSuperstepError(e, "BUILD"),
      JSON.stringify(options),
    );
  }
  assert.throws(() => definePool("not an id", { concurrency: 1 }), (e) => isSuperstepError(e, "BUILD"));
  assert.throws(() => graphOf("g", { name: "p" } as never, load.body(1)), /definePool/);
});
