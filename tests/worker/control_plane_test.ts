import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "../../src/compile.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import {
  controlPlaneSuite,
  type OpenedPlane,
  type OpenedStore,
  VirtualClock,
} from "../../src/testing/mod.ts";
import type { Store } from "../../src/store/store.ts";
import { type ControlPlane, storePlane } from "../../src/worker/mod.ts";
import { graphOf, notes, processOn } from "../support/graphs.ts";
import { Broker } from "./broker.ts";
import { NO_POSTGRES, openPostgres, POSTGRES_BIN } from "../support/postgres.ts";
import { openDenoKv, openMemory } from "../support/stores.ts";

/** A plane, by default that of the store, on virtual time that stands still while the store is at work. */
async function openPlane(
  open: () => Promise<OpenedStore>,
  make: (store: Store, clock: VirtualClock) => ControlPlane = (store, runtime) =>
    storePlane(store, { runtime }),
): Promise<OpenedPlane> {
  const opened = await open();
  const clock = new VirtualClock();
  const store = aroundStore(opened.store, (call) => clock.hold(call.apply()));
  const plane = make(store, clock);
  const runners = [1, 2].map((version) =>
    compile(graphOf({ version, vertices: { v: {} } }), { store, runtime: clock })
  );
  const keyOf = ({ graph }: (typeof runners)[number]) => ({ graphId: graph.id, graphVersion: graph.version });
  const runnerOf = (version: string) => runners.find((runner) => runner.graph.version === version)!;
  return {
    plane,
    keys: [keyOf(runners[0]!), keyOf(runners[1]!)],
    due: async (key) => {
      const { runId } = await runnerOf(key.graphVersion).submit(notes());
      const dispatch = { runId, ...key };
      await plane.submit(dispatch);
      return dispatch;
    },
    claim: async ({ runId, graphVersion }) => {
      await (await runnerOf(graphVersion).claim(runId))!.result();
    },
    pass: (ms) => clock.advance(ms),
    timers: () => clock.pending,
    cleanup: async () => {
      await plane.close();
      await opened.cleanup();
    },
  };
}

controlPlaneSuite("memory", { open: () => openPlane(openMemory) });
controlPlaneSuite("deno kv", { open: () => openPlane(openDenoKv) });
// Leases by the clock of the database, beside the virtual one of the plane.
if (POSTGRES_BIN === undefined) test(NO_POSTGRES, () => {});
else controlPlaneSuite("postgres", { open: () => openPlane(openPostgres) });
controlPlaneSuite("a broker", { open: () => openPlane(openMemory, (_, clock) => new Broker(clock)) });

test("a polling period or a backoff that is none is refused (CPL-07)", () => {
  for (const options of [{ backoff: 0 }, { backoff: -1 }, { poll: "0s" }, { poll: NaN }] as const) {
    assert.throws(() => storePlane(memoryStore(), options), { code: "ARGUMENT" });
  }
});

test("a run whose nack could not be stored is put off by the plane itself, and one without a wake too (FC-32, W1)", async () => {
  const clock = new VirtualClock();
  const inner = memoryStore();
  let refuse = false;
  const store = aroundStore(inner, (call) => {
    if (refuse && call.op === "post") return Promise.reject(new Error("no"));
    return call.apply();
  });
  const runner = compile(graphOf({ vertices: { v: {} } }), { store, runtime: clock });
  const plane = storePlane(store, { runtime: clock, backoff: "10s" });
  const { runId } = await runner.submit(notes());
  const key = { graphId: runner.graph.id, graphVersion: runner.graph.version };
  const consumer = plane.consume([key]);
  const first = (await consumer.next()).value!;
  refuse = true;
  await first.nack();
  const again = consumer.next();
  let came = false;
  again.then(() => came = true);
  await clock.advance("4s");
  assert.equal(came, false);
  await clock.advance("7s");
  assert.equal((await again).value?.dispatch.runId, runId);
  await consumer.return?.();
  await plane.close();
});

test("CONTROL-4, W1: what one worker could not look at is put off for every worker on the store", async () => {
  const clock = new VirtualClock();
  const store = memoryStore();
  const runner = compile(graphOf({ vertices: { v: {} } }), { store, runtime: clock });
  const key = { graphId: runner.graph.id, graphVersion: runner.graph.version };
  const planes = [1, 2].map(() => storePlane(processOn(store).store, { runtime: clock, backoff: "20s" }));
  await runner.submit(notes());
  const first = planes[0]!.consume([key]);
  await (await first.next()).value!.nack();
  const [wake] = await store.wakes(Infinity, 9);
  assert.ok(wake!.due >= clock.now() + 10_000);
  const next = planes[1]!.consume([key]).next();
  let came = false;
  next.then(() => came = true);
  await clock.advance("9s");
  assert.equal(came, false);
  await clock.advance("12s");
  assert.equal(came, true);
  for (const plane of planes) await plane.close();
});
