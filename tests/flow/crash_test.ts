// Runs on deno by default: the stops find faults of the engine, which no runtime decides.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "../../src/compile.ts";
import type { Runner } from "../../src/engine/runner.ts";
import type { FlowOptions } from "../../src/model/flow.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { type CrashPlan, CrashStore } from "../../src/testing/crash_store.ts";
import { lateStore } from "../../src/testing/late_store.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { serve } from "../../src/worker/mod.ts";
import { effort } from "../support/effort.ts";
import { graphOf } from "../support/graphs.ts";
import { openDenoKv } from "../support/stores.ts";
import { checkPermits, type Job, limited } from "./support.ts";

const QUIET = { info: () => {}, warn: () => {} };

/** Of so many writes each is one to be stopped at. */
const STRIDE = effort(3, 1);

/** A run naps, and asks when it is told to. */
function graphWith(limits: FlowOptions<Job>) {
  return limited(
    graphOf<Job>({
      id: "jobs",
      vertices: {
        work: {
          select: (s) => s,
          run: async (input, ctx) => {
            await ctx.sleep("nap", "200ms");
            if ((input as Job)["asks"] === true && ctx.answer() === undefined) await ctx.interrupt();
          },
        },
      },
    }),
    limits,
  );
}

/** What a process does before it is stopped, if it is. */
type Errand = (runner: Runner<Job>, settle: (ms: number) => Promise<void>) => Promise<void>;

interface Lab {
  readonly limits: FlowOptions<Job>;
  readonly errand: Errand;
  readonly limit: number;
  readonly lateMs?: number;
}

/** One process is stopped at a write; another one, with a worker, has to bring all to its end. Whether it was stopped. */
async function round(
  store: Store,
  { limits, errand, limit, lateMs = 0 }: Lab,
  plan: CrashPlan,
): Promise<boolean> {
  const graph = graphWith(limits);
  const clock = new VirtualClock();
  const first = clock.fork();
  const crash = new CrashStore(store, clock, 1, plan, () => first.stop());
  const far = (held: Store, runtime: ReturnType<VirtualClock["fork"]>) =>
    lateMs > 0 ? lateStore(held, runtime, lateMs) : held;
  const one = far(crash.store, first);
  const runner = compile(graph, { store: one, runtime: first, logger: QUIET });
  const worker = await clock.drive(
    serve({ runners: [runner], runtime: first, logger: QUIET, concurrency: 4 }),
  );
  const settle = (ms: number) => first.sleep(ms);
  await clock.drive(
    Promise.race([errand(runner, settle), crash.stopped]).catch((error) => {
      if (crash.point === undefined) throw error;
    }),
  );
  const second = clock.fork();
  const two = far(aroundStore(store, (call) => clock.hold(call.apply())), second);
  const rescuer = compile(graph, { store: two, runtime: second, logger: QUIET });
  const other = await clock.drive(
    serve({ runners: [rescuer], runtime: second, logger: QUIET, concurrency: 4 }),
  );
  const isOpen = ({ status }: { readonly status: string }) =>
    status !== "completed" && status !== "cancelled";
  for (let i = 0; i < 20 && (await store.list({ limit: 1000 })).rows.some(isOpen); i++) {
    await clock.advance("10s");
    const { rows: waits } = await clock.drive(rescuer.waits());
    for (const { runId, waitId } of waits) await clock.drive(rescuer.answer(runId, waitId, "go on"));
  }
  const open = (await store.list({ limit: 1000 })).rows.filter(isOpen);
  assert.deepEqual(open, [], JSON.stringify([plan, crash.point]));
  await checkPermits(store, () => limit);
  assert.deepEqual(await store.cells.list("queue", { limit: 10 }), [], "nobody is left in a queue");
  // It may have been stopped while the other one was at work, or be stopped by its last write, which says that it leaves.
  const ended = crash.point !== undefined
    ? undefined
    : Promise.race([worker.stop(0), crash.stopped.catch(() => {})]);
  await clock.drive(Promise.all([other.stop(0), ended]).then(() => {}));
  return crash.point !== undefined;
}

async function atEveryWrite(lab: Lab): Promise<void> {
  let rounds = 0;
  for (let write = 1;; write += STRIDE) {
    assert.ok(write < 200, "the errand never ends");
    // A write that was lost is, for the others, the one before it that was acknowledged to nobody.
    if (!await round(memoryStore(), lab, { write, when: rounds++ % 3 === 0 ? "before" : "after" })) break;
  }
  assert.ok(rounds > 2, `${rounds} rounds`);
}

const concurrency: Lab = {
  limits: { concurrency: { limit: 1, key: ({ tenant = "" }) => tenant } },
  limit: 1,
  errand: async (runner, settle) => {
    const job = (tenant: string): Job => ({ log: [], tenant });
    await runner.submit(job("a"), { runId: "a1" });
    await runner.submit(job("a"), { runId: "a2", priority: "low" });
    await runner.submit(job("a"), { runId: "a3", priority: "high" });
    await runner.start({ ...job("b"), asks: true }, { runId: "b1" });
    await runner.start(job("b"), { runId: "b2" });
    await runner.submit(job("b"), { runId: "b3" });
    await runner.cancel("a2");
    await settle(3_000);
    const { rows: [wait] } = await runner.waits();
    await runner.answer("b1", wait!.waitId, 1);
    await settle(2_000);
  },
};

test("a stop at any write leaves no permit held, no run in a queue and no limit broken (Q4)", async () => {
  await atEveryWrite(concurrency);
});

test("a stop at any write of a singleton leaves none of its runs behind (Q1, Q4)", async () => {
  for (const onConflict of ["queue", "cancel", "skip"] as const) {
    await atEveryWrite({
      limits: { singleton: { onConflict, key: ({ tenant = "" }) => tenant }, concurrency: { limit: 2 } },
      limit: 2,
      errand: async (runner, settle) => {
        for (let i = 0; i < 3; i++) await runner.submit({ log: [], tenant: "a" }, { runId: `a${i}` });
        await runner.start({ log: [], tenant: "b" }, { runId: "b0" });
        await runner.start({ log: [], tenant: "b" }, { runId: "b1" });
        await settle(3_000);
      },
    });
  }
});

test("a stop at any write under a throttle leaves every run begun in the end (Q1)", async () => {
  await atEveryWrite({
    limits: { throttle: { limit: 1, per: "5s" }, concurrency: { limit: 1 } },
    limit: 1,
    errand: async (runner, settle) => {
      for (let i = 0; i < 4; i++) await runner.submit({ log: [] }, { runId: `r${i}` });
      await settle(20_000);
    },
  });
});

test("acknowledgements that are late, lost and made again break no limit (Q4, S7)", async () => {
  for (const write of [1_000, 7, 15]) {
    await round(memoryStore(), { ...concurrency, lateMs: 200 }, { write, when: "after" });
  }
});

test("limits hold on a Deno KV file as they do in memory (Q4)", async () => {
  const opened = await openDenoKv();
  try {
    await round(opened.store, concurrency, { write: 9, when: "after" });
  } finally {
    await opened.cleanup();
  }
});
