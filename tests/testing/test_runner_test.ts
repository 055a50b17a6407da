// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { GraphBuilder } from "../../src/graph/mod.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { testRunner, VirtualClock } from "../../src/testing/mod.ts";
import { openDenoKv } from "../support/stores.ts";

const Ok = defineWait("ok", z.object({ yes: z.boolean() }));
const List = defineWait("list", z.array(z.number()));

const State = z.object({
  log: z.array(z.string()).default([]),
  items: z.array(z.string()).default(["x", "y", "z"]),
});

class Ask {
  constructor(readonly prefix = "real") {}
  async execute(item: string, ctx: TaskContext): Promise<string> {
    const { yes } = await ctx.waitFor(Ok, { info: { item } });
    return `${this.prefix} ${item} ${yes}`;
  }
}

const refuse = { execute: (_: string): Promise<string> => Promise.reject(new Error("it must be faked")) };

/** ask (a map with a wait) → nap → end */
const graph = new GraphBuilder({ id: "asking", schema: State })
  .addVertex({
    id: "ask",
    waits: [Ok],
    task: Ask,
    each: (s) => s.items,
    reduce: (s, out) => {
      s.log.push(...out);
    },
  })
  .addVertex({
    id: "nap",
    waits: [List],
    task: refuse,
    select: () => "",
    reduce: (s, out) => {
      s.log.push(out);
    },
  })
  .addVertex({ id: "end", task: refuse, select: () => "", reduce: () => {} })
  .addEdge("ask", "nap")
  .addEdge("nap", "end")
  .build({ entry: "ask", finish: "end" });

const napping = async (_: string, ctx: TaskContext) => {
  await ctx.sleep("week", "7d");
  return "slept";
};

test("testRunner runs fakes and real tasks, answers waits by name, moves time to the next wake", async () => {
  const kit = testRunner(graph, { tasks: { nap: napping, end: () => "" }, answers: { ok: { yes: true } } });
  const begun = kit.clock.now();
  const result = await kit.run({});
  assert.equal(result.status, "completed");
  assert.deepEqual(result.state.log, ["real x true", "real y true", "real z true", "slept"]);
  assert.deepEqual(result.path, ["ask", "nap", "end"]);
  assert.deepEqual(kit.calls, { ask: 6, nap: 2, end: 1 });
  assert.equal(kit.clock.now() - begun, 7 * 24 * 3_600_000);
});

test("an array answers one opening after the other, the rest stays open; a resume goes on", async () => {
  const kit = testRunner(graph, {
    tasks: { nap: () => "no nap", end: () => "" },
    answers: { ok: [{ yes: true }, { yes: false }] },
  });
  const paused = await kit.run({}, { runId: "r" });
  assert.ok(paused.status === "interrupted" && paused.reason === "awaiting");
  assert.deepEqual(paused.waits.map((w) => w.item), [2]);
  assert.deepEqual(kit.calls, { ask: 5, nap: 0, end: 0 });
  const done = await kit.resume("r", { payload: { yes: true } });
  assert.equal(done.status, "completed");
  assert.deepEqual(done.state.log, ["real x true", "real y false", "real z true", "no nap"]);
});

test("a function answers by what it sees of the wait, and leaves open what it gives nothing for", async () => {
  const seen: unknown[] = [];
  const kit = testRunner(graph, {
    answers: {
      ok: (wait) => {
        seen.push(wait.info);
        return wait.item === 1 ? undefined : { yes: wait.item === 0 };
      },
    },
  });
  const paused = await kit.run({});
  assert.ok(paused.status === "interrupted");
  assert.deepEqual(paused.waits.map((w) => w.item), [1]);
  assert.deepEqual(seen.slice(0, 3), [{ item: "x" }, { item: "y" }, { item: "z" }]);
});

test("an answer that is an array goes into an array", async () => {
  const kit = testRunner(graph, {
    tasks: {
      nap: async (_: string, ctx: TaskContext) => (await ctx.waitFor(List)).join(),
      end: () => "",
    },
    answers: { list: [[1, 2, 3]] },
  });
  const { state } = await kit.run({ items: [] });
  assert.deepEqual(state.log, ["1,2,3"]);
});

test("an answer comes before the timer that it races against, also while the run is at work", async () => {
  const kit = testRunner(graph, {
    tasks: {
      nap: async (_: string, ctx: TaskContext) =>
        await Promise.race([
          ctx.waitFor(List).then(() => "answered"),
          ctx.sleep("short", "10s").then(() => "slept"),
        ]),
      end: () => "",
    },
    answers: { list: [[1]] },
  });
  assert.deepEqual((await kit.run({ items: [] })).state.log, ["answered"]);
  const { path, state } = await kit.run({ items: [] });
  assert.deepEqual(state.log, ["slept"], "the second opening has no answer");
  assert.deepEqual(path, ["ask", "nap", "end"]);
});

test("a run that fails is given back for the test to decide; its resume gets fresh attempts", async () => {
  let broken = true;
  const kit = testRunner(graph, {
    tasks: {
      nap: () => {
        if (broken) throw new Error("no bed");
        return "slept";
      },
      end: () => "",
    },
  });
  const failed = await kit.run({ items: [] }, { runId: "r" });
  assert.ok(failed.status === "interrupted" && failed.reason === "errored");
  assert.equal(failed.failures[0]?.failure.message, "no bed");
  broken = false;
  assert.equal((await kit.resume("r")).status, "completed");
  assert.deepEqual(kit.calls, { ask: 0, nap: 2, end: 1 });
});

test("provide makes the tasks that are not faked", async () => {
  const kit = testRunner(graph, {
    provide: (cls) => new cls("provided"),
    tasks: { nap: () => "", end: () => "" },
    answers: { ok: { yes: true } },
  });
  assert.equal((await kit.run({ items: ["x"] })).state.log[0], "provided x true");
});

test("a fake for an unknown vertex and an answer for an unknown wait are refused by name", () => {
  assert.throws(() => testRunner(graph, { tasks: { naps: () => "" } }), /naps/);
  assert.throws(
    () => testRunner(graph, { answers: { oké: 1 } }),
    /"oké", which graph asking does not declare \(declared: ok, list\)/,
  );
});

test("a graph under test keeps its version, so that its runs are those of the real one", async () => {
  const store = memoryStore();
  const kit = testRunner(graph, { store, tasks: { nap: () => "", end: () => "" } });
  assert.equal(kit.runner.graph.version, graph.version);
  const paused = await kit.run({ items: ["x"] }, { runId: "r" });
  assert.equal(paused.status, "interrupted");
  const other = testRunner(graph, {
    store,
    clock: kit.clock,
    tasks: { nap: () => "", end: () => "" },
    answers: { ok: { yes: false } },
  });
  assert.equal((await other.resume("r")).status, "completed");
});

test("start moves no time; the clock drives the handle", async () => {
  const kit = testRunner(graph, { tasks: { nap: napping, end: () => "" } });
  const handle = await kit.start({ items: [] });
  const before = kit.clock.now();
  const result = await kit.clock.drive(handle.result());
  assert.ok(result.status === "interrupted" && result.reason === "sleeping");
  assert.equal(kit.clock.now(), before);
});

test("virtual time stands still while a store does real I/O", async () => {
  const opened = await openDenoKv();
  try {
    const clock = new VirtualClock();
    const kit = testRunner(graph, {
      store: opened.store,
      clock,
      tasks: { nap: napping, end: () => "" },
      answers: { ok: { yes: true } },
    });
    const begun = clock.now();
    assert.equal((await kit.run({})).status, "completed");
    assert.equal(clock.now() - begun, 7 * 24 * 3_600_000);
  } finally {
    await opened.cleanup();
  }
});
