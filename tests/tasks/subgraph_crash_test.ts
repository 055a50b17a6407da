// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compile, type CompiledGraph, defineWait, GraphBuilder, type TaskContext } from "../../mod.ts";
import { z } from "zod";
import type { Effects } from "../../src/testing/crash_ledger.ts";
import type { CrashHost, CrashScenario } from "../../src/testing/crash_scenario.ts";
import { crashTest } from "../../src/testing/crash_test.ts";
import { effort } from "../support/effort.ts";
import { Subgraph, waitsOf } from "../../tasks/subgraph.ts";

const Ok = defineWait("ok", z.object({ ok: z.boolean() }), { deadline: "9d" });
const Text = z.object({ text: z.string(), log: z.array(z.string()).default([]) });

const SILENT = { info: () => {}, warn: () => {} };

/** A vertex whose task is a function. */
function step(id: string, execute: (text: string, ctx: TaskContext) => unknown) {
  return {
    id,
    waits: [Ok],
    task: { execute },
    select: (s: z.infer<typeof Text>) => s.text,
    reduce: (s: z.infer<typeof Text>) => void s.log.push(id),
  };
}

/** Works, asks, sleeps and works again; every effect is told under its key. */
function errand(effects: Pick<Effects, "happen">) {
  const happen = (_: string, ctx: TaskContext) => effects.happen(ctx.idempotencyKey);
  return new GraphBuilder({ id: "errand", schema: Text })
    .addVertex(step("begin", happen))
    .addVertex(step("ask", async (text, ctx) => {
      await ctx.once("mail", ({ idempotencyKey }) => effects.happen(idempotencyKey));
      await ctx.waitFor(Ok, { info: text });
    }))
    .addVertex(step("nap", (_, ctx) => ctx.sleep("nap", "1d")))
    .addVertex(step("end", happen))
    .addEdge("begin", "ask")
    .addEdge("begin", "nap")
    .addEdge("ask", "end")
    .addEdge("nap", "end")
    .build({ entry: "begin", finish: "end" });
}

const NOBODY = { execute: (_: { text: string }): Promise<string[]> => Promise.reject(new Error("no task")) };

/** Runs a graph as the task of a vertex, on what an engine runs on. */
function within(graph: CompiledGraph<z.infer<typeof Text>, { text: string }>, { store, runtime }: CrashHost) {
  const runner = compile(graph, { store, runtime, logger: SILENT });
  const task = new Subgraph(runner, { output: (s) => s.log });
  return (input: { text: string }, ctx: TaskContext) => task.execute(input, ctx);
}

const nothing: Pick<Effects, "happen"> = { happen: () => {} };

/** A graph of one vertex, or one map vertex, that runs the errand. */
function calling(id: string, mapped: boolean) {
  const vertex = {
    id: "run",
    task: NOBODY,
    waits: waitsOf(errand(nothing)),
  };
  const builder = new GraphBuilder({ id, schema: Text });
  if (mapped) {
    builder.addVertex({
      ...vertex,
      each: (s) => ["one", "two"].map((n) => ({ text: `${s.text} ${n}` })),
      reduce: (s, logs) => void s.log.push(...logs.flat()),
    });
  } else {
    builder.addVertex({
      ...vertex,
      select: (s) => ({ text: s.text }),
      reduce: (s, log) => void s.log.push(...log),
    });
  }
  return builder.build({ entry: "run", finish: "run" });
}

const COMMON = {
  input: { text: "tea" },
  answers: { ok: { ok: true } },
  secondCrashes: effort(2, 10),
} satisfies Partial<CrashScenario<z.infer<typeof Text>, { text: string }>>;

test("Subgraph under a crash at every write, of the run and of what it calls: every effect happens, under its own key", async () => {
  const report = await crashTest(calling("caller", false), {
    ...COMMON,
    tasks: (effects, host) => ({ run: within(errand(effects), host) }),
  });
  assert.ok(report.crashes.length >= 2 * report.writes);
});

/** The deeper one stops at more writes than everything else together. */
const LEVELS = effort(1, 2);

test(`Subgraph in a map, ${LEVELS} deep, under a crash at every write`, async () => {
  const middle = calling("middle", false);
  const report = await crashTest(calling("outer", true), {
    ...COMMON,
    secondCrashes: effort(0, 3),
    tasks: (effects, host) => {
      const inner = within(errand(effects), host);
      const vertex = middle.vertices.get("run")!;
      const task = { kind: "instance", task: { execute: inner } } as const;
      const graph = { ...middle, vertices: new Map([["run", { ...vertex, task: task as never }]]) };
      return { run: LEVELS === 1 ? inner : within(graph, host) };
    },
  });
  assert.ok(report.crashes.length >= 2 * report.writes);
});
