// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "../../src/compile.ts";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import { openDriver } from "../../src/store/deno_kv/driver.ts";
import type { Store } from "../../src/store/store.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { serve } from "../../src/worker/mod.ts";
import { gate, graphOf, notes } from "../support/graphs.ts";
import { type DriverFaults, faultyKv } from "../support/kv_faults.ts";
import { openDenoKv, temporaryFolder } from "../support/stores.ts";
import { Broker } from "../worker/broker.ts";

const quiet = { info: () => {}, warn: () => {} };

/** Virtual time that stands still while the file is read or written. */
function held(store: Store, clock: VirtualClock): Store {
  return aroundStore(store, (call) => clock.hold(call.apply()));
}

/** A chain of two vertices on a file, and handles on it as other processes have them. */
async function stage(run: () => unknown = () => {}) {
  const opened = await openDenoKv();
  const clock = new VirtualClock();
  const bodies: string[] = [];
  const body = (id: string) => (_: unknown, ctx: { runId: string }) => {
    bodies.push(`${ctx.runId}/${id}`);
    return id === "a" ? run() : undefined;
  };
  const graph = graphOf({ vertices: { a: { run: body("a"), to: "b" }, b: { run: body("b") } } });
  const process = async () => {
    const store = held(await opened.second(), clock);
    return compile(graph, { store, runtime: clock, logger: quiet });
  };
  return { clock, graph, bodies, process, cleanup: opened.cleanup };
}

test("while a body works for long, scans in its own process and in another one leave it alone: it runs once (FC-03)", async () => {
  const open = gate();
  const { clock, bodies, process, cleanup } = await stage(() => open.promise);
  try {
    const [busy, other] = [await process(), await process()];
    const handle = await busy.start(notes(), { runId: "r" });
    await clock.advance("1s");
    const worker = await serve({ runners: [other], runtime: clock, logger: quiet });
    for (let i = 0; i < 3; i++) {
      assert.deepEqual(await clock.drive(Promise.all([busy.recover(), other.recover()])), [[], []]);
      await clock.advance("10s");
    }
    open.open();
    assert.equal((await clock.drive(handle.result())).status, "completed");
    assert.deepEqual(bodies, ["r/a", "r/b"]);
    await clock.drive(worker.stop(0));
  } finally {
    await cleanup();
  }
});

test("without a single message every run is under way within a polling period, whichever process made it due (FC-32)", async () => {
  const { clock, bodies, process, cleanup } = await stage();
  try {
    const [sender, one, two] = [await process(), await process(), await process()];
    const workers = [
      await serve({ runners: [one], runtime: clock, logger: quiet }),
      await serve({ runners: [two], runtime: clock, logger: quiet }),
    ];
    for (let i = 0; i < 6; i++) {
      await sender.submit(notes(), { runId: `r${i}` });
      const at = clock.now();
      await clock.advance("1250ms");
      const { status, completedAt } = await sender.status(`r${i}`);
      assert.equal(status, "completed");
      assert.ok(completedAt! - at <= 1_250);
    }
    assert.equal(bodies.length, 12);
    await clock.drive(Promise.all(workers.map((worker) => worker.stop(0))).then(() => {}));
  } finally {
    await cleanup();
  }
});

test("messages that are lost, tripled, an hour late, or slower than their redelivery change nothing about what runs (FC-32)", async () => {
  const slow = gate();
  let calls = 0;
  const { clock, graph, bodies, process, cleanup } = await stage(() =>
    calls++ === 0 ? slow.promise : undefined
  );
  try {
    const broker = new Broker(clock);
    const [sender, ...servers] = [await process(), await process(), await process()];
    const workers = await Promise.all(
      servers.map((runner) =>
        serve({ runners: [runner], runtime: clock, logger: quiet, plane: broker, poll: "10s" })
      ),
    );
    const send = async (runId: string, copies: readonly number[]) => {
      broker.copies = copies;
      await sender!.submit(notes(), { runId });
      await broker.submit({ runId, graphId: graph.id, graphVersion: graph.version });
    };
    await send("slow", [0, 500, 1_000, 5_000]);
    await clock.advance("20s");
    assert.deepEqual(bodies, ["slow/a"], "its handler is slower than the redelivery");
    slow.open();
    await send("lost", []);
    await send("tripled", [0, 0, 3_600_000]);
    await clock.advance("13s");
    const ran = [...bodies].sort();
    assert.deepEqual(ran, ["lost/a", "lost/b", "slow/a", "slow/b", "tripled/a", "tripled/b"]);
    await clock.advance("61m");
    assert.deepEqual([...bodies].sort(), ran);
    assert.ok(broker.settled.every(({ how }) => how === "ack"));
    assert.equal(broker.settled.length, 7);
    await clock.drive(Promise.all(workers.map((worker) => worker.stop(0))).then(() => {}));
  } finally {
    await cleanup();
  }
});

test(
  "workers whose acknowledgements are lost at every third commit, leases included, run each body once and lose no run (FC-31, S2, O1)",
  {
    timeout: 120_000,
  },
  async () => {
    const folder = await temporaryFolder();
    const path = `${folder.path}/store.db`;
    const bodies: string[] = [];
    const note = (_: unknown, ctx: { runId: string; vertexId: string }) =>
      void bodies.push(`${ctx.runId}/${ctx.vertexId}`);
    const graph = graphOf({
      vertices: { a: { run: note, to: "b" }, b: { run: note, to: "c" }, c: { run: note } },
    });
    let lost = 0;
    const faults: DriverFaults = {
      commit: async ({ n, commit }) => {
        const committed = await commit();
        if (n % 3 !== 0) return committed;
        lost++;
        throw new Error("connection reset");
      },
    };
    const stores = await Promise.all([1, 2].map(async () => {
      const { kv, maxChecks } = await openDriver(path);
      return await denoKv("", { kv: faultyKv(kv, faults), maxChecks });
    }));
    try {
      const runners = stores.map((store) => compile(graph, { store, logger: quiet }));
      const workers = await Promise.all(
        runners.map((runner) => serve({ runners: [runner], poll: 50, logger: quiet })),
      );
      for (let i = 0; i < 30; i++) await runners[i % 2]!.submit(notes(), { runId: `r${i}` });
      while ((await runners[0]!.list({ status: "completed" })).rows.length < 30) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await Promise.all(workers.map((worker) => worker.stop()));
      assert.ok(lost > 20, `${lost} acknowledgements were lost`);
      assert.equal(bodies.length, 90);
      assert.equal(new Set(bodies).size, 90);
    } finally {
      for (const store of stores) await store.close();
      await folder.remove();
    }
  },
);
