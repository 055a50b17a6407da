// Runs on deno by default: the database decides who is handed what, and no runtime has a part in that.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "../../src/compile.ts";
import type { Store } from "../../src/store/store.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { serve } from "../../src/worker/mod.ts";
import { graphOf, notes } from "../support/graphs.ts";
import { NO_POSTGRES, openPostgres, POSTGRES_BIN } from "../support/postgres.ts";

const quiet = { info: () => {}, warn: () => {} };
const graph = graphOf({ vertices: { v: {} } });

async function ended(store: Store, count: number): Promise<void> {
  for (;;) {
    const { rows } = await store.list({ status: "completed", limit: 1000 });
    if (rows.length >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

if (POSTGRES_BIN === undefined) test(NO_POSTGRES, () => {});
else {
  test("300 due runs under 4 workers are loaded at most 1.1 times each, and no claim is lost to another (W1, DT4)", async () => {
    const opened = await openPostgres();
    const runner = compile(graph, { store: opened.store });
    await Promise.all(Array.from({ length: 300 }, (_, i) => runner.submit(notes(), { runId: `r${i}` })));
    let loads = 0;
    let lost = 0;
    const workers = await Promise.all(Array.from({ length: 4 }, async () => {
      const store = aroundStore(await opened.second(), async (call) => {
        if (call.op === "tail" && String(call.args[0]).startsWith("r")) loads++;
        try {
          return await call.apply();
        } catch (error) {
          if (call.op === "append") lost++;
          throw error;
        }
      });
      return await serve({ runners: [compile(graph, { store })], concurrency: 8, logger: quiet });
    }));
    await ended(opened.store, 300);
    await Promise.all(workers.map((worker) => worker.stop()));
    assert.ok(loads <= 330, `300 runs were loaded ${loads} times`);
    assert.equal(lost, 0);
    await opened.cleanup();
  });

  test("a run that another process submits is claimed by a hint, long before the next look (DT6, W1)", async () => {
    const opened = await openPostgres();
    const worker = await serve({
      runners: [compile(graph, { store: await opened.second() })],
      poll: "1h",
      logger: quiet,
    });
    const runner = compile(graph, { store: opened.store });
    for (let i = 0; i < 3; i++) {
      await runner.submit(notes());
      await ended(opened.store, i + 1);
      // The connection that listens is replaced when it breaks.
      await opened.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'`,
      );
    }
    await worker.stop();
    await opened.cleanup();
  });
}
