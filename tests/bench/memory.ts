/**
 * Whether memory grows with work: the heap after collection after many runs, and during a long one, to that after a few.
 * Prints JSON lines; exits with 1 when one is not ok.
 *
 *     deno run -A --unstable-kv --v8-flags=--expose-gc tests/bench/memory.ts
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { compile, GraphBuilder } from "superstep";
import { denoKv } from "superstep/store/deno-kv";
import { memoryStore } from "superstep/store/memory";
import { serve } from "superstep/worker";
import { z } from "zod";

const MAX = 1.1;
const collect = (globalThis as { gc?: () => void }).gc;
if (collect === undefined) {
  console.error("run it with --v8-flags=--expose-gc (Deno) or --expose-gc (Node)");
  process.exit(1);
}

async function heap(): Promise<number> {
  for (let i = 0; i < 5; i++) {
    await new Promise<void>((resolve) => setTimeout(resolve, 10));
    collect!();
  }
  return process.memoryUsage().heapUsed;
}

function print(name: string, few: number, many: number): boolean {
  const ratio = many / few;
  const ok = ratio <= MAX;
  console.log(JSON.stringify({ name, ok, ratio: Number(ratio.toPrecision(4)), max: MAX, few, many }));
  return ok;
}

function askGraph() {
  return new GraphBuilder<{ said?: string | undefined }>({
    id: "ask",
    schema: z.object({ said: z.string().optional() }),
  })
    .addVertex({
      id: "ask",
      task: { execute: (_: string, ctx) => (ctx.answer<string>()?.value ?? ctx.interrupt("?")) },
      select: () => "",
      reduce: (s, said: string) => {
        s.said = said;
      },
    })
    .build({ entry: "ask", finish: "ask" });
}

/** Runs that pause and are answered; each leaves the store when it is over, so that only the engine could keep it. */
async function answered(): Promise<boolean> {
  const store = memoryStore();
  const runner = compile(askGraph(), { store });
  const run = async (times: number) => {
    for (let i = 0; i < times; i++) {
      const { run: { runId } } = await runner.run({});
      const { rows: [wait] } = await runner.waits({ runId });
      await runner.answer(runId, wait!.waitId, "yes");
      if ((await runner.resume(runId)).status !== "completed") throw new Error("a run is not completed");
      await store.purge(runId);
    }
  };
  await run(100);
  const few = await heap();
  await run(1_900);
  return print("2 000 runs paused and answered, heap to that after 100", few, await heap());
}

/** Runs that a worker takes up, pauses and goes on with, each submitted and answered by others; it stops without a trace. */
async function served(): Promise<boolean> {
  const store = memoryStore();
  const runner = compile(askGraph(), { store });
  const leave = new AbortController();
  const listeners = countListeners(leave.signal);
  const worker = await serve({ runners: [runner], signal: leave.signal });
  const until = async (runId: string, wanted: string) => {
    while ((await runner.status(runId)).status !== wanted) {
      await new Promise<void>((resolve) => setTimeout(resolve));
    }
  };
  const run = async (times: number) => {
    for (let i = 0; i < times; i += 50) {
      await Promise.all(Array.from({ length: 50 }, async () => {
        const { runId } = await runner.submit({});
        await until(runId, "interrupted");
        const { rows: [wait] } = await runner.waits({ runId });
        await runner.answer(runId, wait!.waitId, "yes");
        await until(runId, "completed");
        await store.purge(runId);
      }));
    }
  };
  await run(100);
  const few = await heap();
  await run(1_900);
  const ok = print("2 000 runs served by a worker, heap to that after 100", few, await heap());
  leave.abort();
  await worker.stopped;
  return noneLeft("a worker", listeners()) && ok;
}

function noneLeft(whose: string, listeners: number): boolean {
  console.log(
    JSON.stringify({ name: `listeners left on the signal of ${whose}`, ok: listeners === 0, listeners }),
  );
  return listeners === 0;
}

function countListeners(signal: AbortSignal): () => number {
  let count = 0;
  const { addEventListener, removeEventListener } = signal;
  Object.assign(signal, {
    addEventListener(...args: Parameters<typeof addEventListener>) {
      count++;
      addEventListener.apply(signal, args);
    },
    removeEventListener(...args: Parameters<typeof removeEventListener>) {
      count--;
      removeEventListener.apply(signal, args);
    },
  });
  return () => count;
}

/** One long run on a file, under a caller's signal. */
async function long(): Promise<boolean> {
  const seen: number[] = [];
  const leave = new AbortController();
  const listeners = countListeners(leave.signal);
  let turns = 0;
  const graph = new GraphBuilder<{ n: number }>({ id: "long", schema: z.object({ n: z.number() }) })
    .addVertex({
      id: "turn",
      task: {
        execute: async (n: number) => {
          if (++turns === 100 || turns === 10_000) seen.push(await heap());
          if (turns === 10_000) leave.abort();
          return n + 1;
        },
      },
      select: (s) => s.n,
      reduce: (s, n: number) => {
        s.n = n;
      },
    })
    .addEdge("turn", "turn")
    .build({ entry: "turn", finish: "turn" });
  const folder = mkdtempSync(join(tmpdir(), "superstep-memory-"));
  const store = await denoKv(join(folder, "runs.kv"));
  await compile(graph, { store }).run({ n: 0 }, { maxSteps: 20_000, signal: leave.signal }).catch(() => {});
  await store.close();
  rmSync(folder, { recursive: true, force: true });
  const [few, many] = seen as [number, number];
  const ok = print("a run of 10 000 steps under one signal, heap to that after 100", few, many);
  return noneLeft("a run of 10 000 steps", listeners()) && ok;
}

const ok = [await answered(), await served(), await long()];
process.exit(ok.every(Boolean) ? 0 : 1);
