import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { denoKv } from "superstep/store/deno-kv";
import { z } from "zod";
import { aroundStore } from "../../src/testing/around_store.ts";
import { compile, defineWait, GraphBuilder, type Store, type TaskContext } from "../../mod.ts";

/**
 * What runs whose states or executions are large, and change a little at a time, take in a Deno KV file, beside the bytes of
 * what changed. Prints JSON lines; exits with 1 when a file is larger than five times that.
 *
 *     deno run -A tests/bench/cost.ts [shape …]
 */

type Shape = (store: Store, size: number, steps: number) => Promise<number>;

const end = { id: "end", task: { execute: () => 0 }, select: () => 0, reduce: () => {} };

/** A loop whose only vertex changes the state, so many times. */
function loop<S extends { n: number }>(
  schema: z.ZodType<S>,
  steps: number,
  execute: (n: number) => unknown,
  fold: (s: S, n: number) => void,
) {
  return new GraphBuilder<S>({ id: "loop", schema })
    .addVertex({
      id: "turn",
      task: { execute: (n: number) => execute(n) as number },
      select: (s) => s.n,
      reduce: (s) => {
        fold(s as S, s.n);
        s.n++;
      },
    })
    .addVertex(end)
    .addConditionalEdge("turn", { targets: ["turn", "end"], pick: (s) => s.n < steps ? "turn" : "end" })
    .build({ entry: "turn", finish: "end" });
}

/** A place that looks random and is the same everywhere. */
const placeOf = (n: number, size: number) => (n * 2_654_435_761 >>> 0) % size;

const textOf = (n: number, bytes: number) => String(n).padEnd(bytes, "abcdefghij");

/** One entry of 200 bytes of an array of `size` such entries changes a step. */
const arrayEntry: Shape = async (store, size, steps) => {
  const State = z.object({ n: z.number(), list: z.array(z.string()) });
  const graph = loop(State, steps, () => 0, (s, n) => void (s.list[placeOf(n, size)] = textOf(n, 200)));
  const list = Array.from({ length: size }, (_, i) => textOf(i, 200));
  await compile(graph, { store }).run({ n: 0, list }, { maxSteps: steps + 2 });
  return 200 * (steps + size);
};

/** One key of a record of `size` keys changes a step. */
const recordKey: Shape = async (store, size, steps) => {
  const State = z.object({ n: z.number(), record: z.record(z.string(), z.string()) });
  const graph = loop(
    State,
    steps,
    () => 0,
    (s, n) => void (s.record[`key-${placeOf(n, size)}`] = textOf(n, 200)),
  );
  const record = Object.fromEntries(Array.from({ length: size }, (_, i) => [`key-${i}`, textOf(i, 200)]));
  await compile(graph, { store }).run({ n: 0, record }, { maxSteps: steps + 2 });
  return 200 * (steps + size);
};

/** A map over `size` items whose outputs of 2 KB come one after another, each when the one before is stored. */
const mapItems: Shape = async (inner, size) => {
  let resolve = () => {};
  const next = () => new Promise<void>((stored) => resolve = stored);
  let stored = next();
  const store = aroundStore(inner, async (call) => {
    const result = await call.apply();
    if (call.op === "append") {
      resolve();
      stored = next();
    }
    return result;
  });
  const graph = new GraphBuilder({ id: "map", schema: z.object({ size: z.number(), sum: z.number() }) })
    .addVertex({
      id: "each",
      task: {
        execute: async (n: number) => {
          if (n > 0) await stored;
          return textOf(n, 2_000);
        },
      },
      each: (s) => Array.from({ length: s.size }, (_, i) => i),
      reduce: (s, outs: readonly string[]) => {
        s.sum = outs.length;
      },
    })
    .build({ entry: "each", finish: "each" });
  const { state } = await compile(graph, { store }).run({ size, sum: 0 }, { concurrency: 1 });
  if (state.sum !== size) throw new Error(`${state.sum} items`);
  return 2_000 * size;
};

const Reply = defineWait("reply", z.string());

/** `size` items that wait, each answered by itself with 500 bytes. */
const waitsAnswered: Shape = async (store, size, steps) => {
  const graph = new GraphBuilder({ id: "waits", schema: z.object({ size: z.number(), sum: z.number() }) })
    .addVertex({
      id: "each",
      waits: [Reply],
      task: { execute: (n: number, ctx: TaskContext) => ctx.waitFor(Reply, { info: { n } }) },
      each: (s) => Array.from({ length: s.size }, (_, i) => i),
      reduce: (s, outs: readonly string[]) => {
        s.sum = outs.length;
      },
    })
    .build({ entry: "each", finish: "each" });
  const runner = compile(graph, { store });
  const { run } = await runner.run({ size, sum: 0 });
  const waits: string[] = [];
  for (let cursor: string | undefined;;) {
    const page = await runner.waits({ runId: run.runId, limit: 1_000, ...(cursor ? { cursor } : {}) });
    waits.push(...page.rows.map((row) => row.waitId));
    if ((cursor = page.cursor) === undefined) break;
  }
  if (waits.length !== size) throw new Error(`${waits.length} waits`);
  for (const [i, waitId] of waits.slice(0, steps).entries()) {
    await runner.answer(run.runId, waitId, textOf(i, 500));
    await runner.resume(run.runId);
  }
  return 1_000 * steps + 100 * size;
};

const SHAPES: Readonly<Record<string, readonly [Shape, size: number, steps: number]>> = {
  arrayEntry: [arrayEntry, 5_000, 10_000],
  recordKey: [recordKey, 5_000, 2_000],
  mapItems: [mapItems, 5_000, 1],
  waitsAnswered: [waitsAnswered, 800, 800],
};

const folder = mkdtempSync(join(tmpdir(), "superstep-cost-"));
const asked = process.argv.slice(2);
for (const [name, [shape, size, steps]] of Object.entries(SHAPES)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const path = join(folder, `${name}.kv`);
  const store = await denoKv(path);
  const began = performance.now();
  const information = await shape(store, size, steps);
  await store.close();
  const bytes = statSync(path).size + (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
  const ratio = Number((bytes / information).toFixed(2));
  const seconds = Number(((performance.now() - began) / 1_000).toFixed(1));
  if (ratio > 5) process.exitCode = 1;
  console.log(JSON.stringify({ name, ok: ratio <= 5, ratio, bytes, information, seconds }));
}
rmSync(folder, { recursive: true, force: true });
