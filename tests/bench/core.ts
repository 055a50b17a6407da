/**
 * The figures of the engine on a Deno KV file, each a ratio to a bare commit of the same process. Prints JSON lines;
 * exits with 1 when one of them is not ok. Run with `deno task bench:core`.
 *
 * A bare commit is one versionstamp check and two sets of 1 KB. Repeats are interleaved and the median counts.
 */

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { compile, GraphBuilder, type Runner, type Store } from "superstep";
import { denoKv, type KvDriver } from "superstep/store/deno-kv";
import { z } from "zod";
import { openDriver } from "../../src/store/deno_kv/driver.ts";

const REPEATS = 5;
/** Rounds of both that are not counted: a server that has been up for a second is measured, not a start. */
const WARM_UP = 10;
const STEPS = 200;
const KB = 1024;
/** Makes the record of a step 1 KB long. */
const PADDING = 900;

const folder = mkdtempSync(join(tmpdir(), "superstep-bench-"));
let files = 0;
let failed = false;

const State = z.object({ count: z.number(), last: z.number(), pad: z.string(), blob: z.string().optional() });
type State = z.infer<typeof State>;

/** A loop of one vertex; each step changes the counter and `pad`, so that its record is as long as `padding`. */
function loop(padding: number, body: (count: number) => void = () => {}) {
  return new GraphBuilder<State>({ id: "loop", schema: State })
    .addVertex({
      id: "turn",
      task: {
        execute: (count: number) => {
          body(count);
          return count + 1;
        },
      },
      select: (s) => s.count,
      reduce: (s, count: number) => {
        s.count = count;
        if (padding > 0) s.pad = String(count).padEnd(padding, "x");
      },
    })
    .addVertex({ id: "end", task: { execute: () => 0 }, select: () => 0, reduce: () => {} })
    .addConditionalEdge("turn", { targets: ["turn", "end"], pick: (s) => s.count < s.last ? "turn" : "end" })
    .build({ entry: "turn", finish: "end" });
}

async function withStore<T>(work: (store: Store, path: string) => Promise<T>): Promise<T> {
  const path = join(folder, `${files++}.kv`);
  const store = await denoKv(path);
  try {
    return await work(store, path);
  } finally {
    await store.close();
  }
}

function sizeOf(path: string): number {
  return ["", "-wal"].reduce(
    (sum, end) => sum + (statSync(path + end, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

function print(name: string, ok: boolean, figures: Record<string, unknown>): void {
  failed ||= !ok;
  console.log(JSON.stringify({ name, ok, ...figures }));
}

const round = (n: number) => Number(n.toPrecision(4));

async function bareCommits(n: number): Promise<number> {
  const { kv } = await openDriver(join(folder, `${files++}.kv`));
  const value = new Uint8Array(KB).fill(7);
  let versionstamp: string | null = null;
  const began = performance.now();
  for (let i = 0; i < n; i++) {
    const done = await kv.atomic()
      .check({ key: ["head"], versionstamp })
      .set(["head"], value)
      .set(["record", i], value)
      .commit();
    if (!done.ok) throw new Error("a bare commit was refused");
    versionstamp = done.versionstamp;
  }
  const ms = (performance.now() - began) / n;
  kv.close();
  return ms;
}

/** A chain of steps, each with a record of 1 KB. */
async function chain(): Promise<void> {
  // From the first body to the body after the last step: each step is a body and its boundary record.
  let began: number | undefined;
  let ended = 0;
  const graph = loop(PADDING, () => {
    ended = performance.now();
    began ??= ended;
  });
  const bare: number[] = [];
  const step: number[] = [];
  const whole: number[] = [];
  let recordBytes = 0;
  for (let i = -WARM_UP; i < REPEATS; i++) {
    const oneBare = await bareCommits(STEPS);
    const oneStep = await withStore(async (store) => {
      const runner = compile(graph, { store });
      began = undefined;
      const called = performance.now();
      const result = await runner.run({ count: 0, last: STEPS + 1, pad: "" });
      if (result.status !== "completed") throw new Error(`the chain is ${result.status}`);
      if (i >= 0) whole.push((performance.now() - called) / (STEPS + 2));
      const { rows: [record] } = await runner.history(result.run.runId, { from: 100, limit: 1 });
      recordBytes = record!.bytes;
      return (ended - began!) / STEPS;
    });
    if (i >= 0) bare.push(oneBare), step.push(oneStep);
  }
  const ratio = median(step.map((ms, i) => ms / bare[i]!));
  print("chain of 200, ms per step to a bare commit", ratio <= 1.6 && recordBytes >= 1000, {
    ratio: round(ratio),
    max: 1.6,
    withStartAndFinish: round(median(whole.map((ms, i) => ms / bare[i]!))),
    recordBytes,
    msPerStep: round(median(step)),
    msPerBareCommit: round(median(bare)),
  });
}

/** From the call of resume to the first body. */
async function resumed(runner: Runner<State>, runId: string, body: { run?: () => void }): Promise<number> {
  const leave = new AbortController();
  const began = performance.now();
  let ms = NaN;
  body.run = () => {
    if (!Number.isNaN(ms)) return;
    ms = performance.now() - began;
    leave.abort();
  };
  await runner.resume(runId, { signal: leave.signal }).catch(() => {});
  delete body.run;
  return ms;
}

/** A run of 10 000 steps resumes as fast as one of 10. */
async function resume(): Promise<void> {
  const { kv } = await openDriver(join(folder, `${files++}.kv`));
  let reads = 0;
  const driver: KvDriver = {
    getMany: (keys, options) => (reads++, kv.getMany(keys, options)),
    list: (selector, options) => (reads++, kv.list(selector, options)),
    atomic: () => kv.atomic(),
    close: () => kv.close(),
  };
  const store = await denoKv("", { kv: driver });
  try {
    const body: { run?: () => void } = {};
    const graph = loop(PADDING, () => body.run?.());
    const runner = compile(graph, { store });
    const lengths = [10, 10_000];
    for (const length of lengths) {
      const leave = new AbortController();
      let turns = 0;
      body.run = () => {
        if (++turns === length) leave.abort();
      };
      await runner.run({ count: 0, last: 1_000_000, pad: "" }, {
        runId: `run-${length}`,
        maxSteps: 1_000_000,
        signal: leave.signal,
      }).catch(() => {});
      delete body.run;
    }
    const times = new Map(lengths.map((length) => [length, [] as number[]]));
    let most = 0;
    for (let i = 0; i <= REPEATS; i++) {
      for (const length of lengths) {
        reads = 0;
        const ms = await resumed(runner, `run-${length}`, body);
        if (i === 0) continue;
        times.get(length)!.push(ms);
        most = Math.max(most, reads);
      }
    }
    const ratio = median(times.get(10_000)!) / median(times.get(10)!);
    const { revision } = await runner.status("run-10000");
    print("resume of 10 000 steps to that of 10", ratio <= 3 && most <= 4 && revision >= 10_000, {
      ratio: round(ratio),
      max: 3,
      ms: round(median(times.get(10_000)!)),
      msOf10: round(median(times.get(10)!)),
      reads: most,
      maxReads: 4,
      revision,
    });
  } finally {
    await store.close();
  }
}

/** A counter that changes beside 1 MB that does not. */
async function bigState(): Promise<void> {
  const blob = Array.from({ length: 1024 }, (_, i) => String.fromCharCode(33 + (i * 7) % 90)).join("").repeat(
    KB,
  );
  const path = await withStore(async (store, path) => {
    const result = await compile(loop(0), { store }).run({ count: 0, last: 29, pad: "", blob });
    if (result.status !== "completed") throw new Error(`the run is ${result.status}`);
    return path;
  });
  const mib = sizeOf(path) / KB / KB;
  print("30 steps over 1 MB of which a counter changes, MiB on disk", mib <= 1.5, {
    mib: round(mib),
    max: 1.5,
  });
}

try {
  await chain();
  await resume();
  await bigState();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
