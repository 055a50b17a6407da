// Runs on deno and node by default: Bun has the client of Node.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { compile } from "../../src/compile.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { controlPlaneSuite } from "../../src/testing/mod.ts";
import type { Store } from "../../src/store/store.ts";
import { dispatching, serve } from "../../src/worker/mod.ts";
import { natsPlane } from "../../src/worker/nats/mod.ts";
import { graphOf, notes } from "../support/graphs.ts";
import { NATS_SERVER, NatsServer, NO_NATS } from "../support/nats.ts";

/** The suite waits for minutes of a plane whose pauses are seconds; here they are shorter by this. */
const SPEED = 12;
const quiet = { info: () => {}, warn: () => {} };
const graph = graphOf({ vertices: { v: {} } });

async function completed(store: Store, count: number): Promise<void> {
  while ((await store.list({ status: "completed", limit: 1000 })).rows.length < count) await pause(10);
}

if (NATS_SERVER === undefined) test(NO_NATS, () => {});
else {
  let shared: Promise<NatsServer> | undefined;
  const server = () => shared ??= NatsServer.start();
  after(async () => await (await shared)?.stop());
  let streams = 0;

  controlPlaneSuite("nats", {
    open: async () => {
      const plane = natsPlane((await server()).url, { stream: `suite${++streams}`, backoff: 1_000 / SPEED });
      let runs = 0;
      return {
        plane,
        keys: [{ graphId: "g", graphVersion: "1" }, { graphId: "g", graphVersion: "2" }],
        due: async (key) => {
          const dispatch = { runId: `r${++runs}`, ...key };
          await plane.submit(dispatch);
          return dispatch;
        },
        claim: async () => {},
        pass: (ms) => pause(ms / SPEED),
        cleanup: () => plane.close(),
      };
    },
  });

  test("what becomes due is dispatched from the process that made it due, also when its time comes (DT1, W1)", async () => {
    const plane = natsPlane((await server()).url, { stream: "fed" });
    const inner = memoryStore();
    const store = dispatching(inner, plane);
    const elsewhere = compile(graph, { store: dispatching(inner, plane) });
    await using served = await serve({
      plane,
      runners: [compile(graph, { store })],
      poll: "1h",
      logger: quiet,
    });
    await elsewhere.submit(notes());
    await completed(inner, 1);
    await elsewhere.submit(notes(), { at: 200 });
    await completed(inner, 2);
    await served.stop();
    await plane.close();
  });

  test("NATS that is killed, comes back empty, or has lost its stream loses no run and is used again (DT1, W1)", async () => {
    const own = await NatsServer.start();
    try {
      const plane = natsPlane(own.url, { stream: "lossy" });
      const inner = memoryStore();
      const warnings: string[] = [];
      const logger = { info: () => {}, warn: (message: string) => void warnings.push(message) };
      const elsewhere = compile(graph, { store: dispatching(inner, plane, { logger }) });
      const store = dispatching(inner, plane);
      await using worker = await serve({
        plane,
        runners: [compile(graph, { store })],
        poll: "300ms",
        logger: quiet,
      });
      let submitted = 0;
      const submit = async (count: number) => {
        await Promise.all(
          Array.from({ length: count }, () => elsewhere.submit(notes(), { runId: `r${submitted++}` })),
        );
      };
      await submit(5);
      await completed(inner, 5);
      await own.kill();
      await submit(5);
      await completed(inner, 10);
      await own.forget();
      await own.restart();
      await submit(5);
      await completed(inner, 15);
      await worker.stop();
      const rows = (await inner.list({ limit: 1000 })).rows;
      assert.deepEqual(rows.filter(({ status }) => status !== "completed"), []);
      await plane.close();
    } finally {
      await own.stop();
    }
  });
}
