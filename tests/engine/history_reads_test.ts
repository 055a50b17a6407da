// Runs on deno by default: what is read is the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile, defineWait, GraphBuilder, type TaskContext } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import type { StoredRecord } from "../../src/store/store.ts";

const Reply = defineWait("reply", z.number());

const graph = new GraphBuilder({ id: "rounds", schema: z.object({ n: z.number() }) })
  .addVertex({
    id: "turn",
    waits: [Reply],
    task: { execute: (n: number, ctx: TaskContext) => n % 40 === 7 ? ctx.waitFor(Reply) : n },
    select: (s) => s.n,
    reduce: (s) => void s.n++,
  })
  .addVertex({ id: "odd", task: { execute: () => 0 }, select: () => 0, reduce: () => {} })
  .addVertex({ id: "end", task: { execute: () => 0 }, select: () => 0, reduce: () => {} })
  .addConditionalEdge("turn", {
    targets: ["turn", "odd", "end"],
    pick: (s) => s.n >= 120 ? "end" : s.n % 3 === 0 ? "odd" : "turn",
  })
  .addEdge("odd", "turn")
  .build({ entry: "turn", finish: "end" });

test("a page of a history reads what it shows and two records beside it, wherever it begins (FT-E3)", async () => {
  const store = memoryStore();
  const read: number[] = [];
  const around = aroundStore(store, async (call) => {
    const result = await call.apply();
    if (call.op === "range") read.push((result as readonly StoredRecord[]).length);
    return result;
  });
  const runner = compile(graph, { store: around });
  let { status, run: { runId } } = await runner.run({ n: 0 });
  while (status === "interrupted") ({ status } = await runner.resume(runId, { payload: 1 }));
  assert.equal(status, "completed");
  const { rows } = await runner.history(runId, { limit: 1_000 });
  assert.ok(rows.length > 150 && rows.at(-1)!.status === "completed");
  for (const limit of [1, 7]) {
    for (const { revision } of rows) {
      read.length = 0;
      const page = await runner.history(runId, { from: revision, limit });
      assert.deepEqual(page.rows, rows.slice(revision, revision + limit));
      const next = revision + page.rows.length;
      assert.equal(page.cursor, next < rows.length ? String(next) : undefined);
      const records = read.reduce((sum, n) => sum + n, 0);
      assert.ok(
        records <= page.rows.length + 2,
        `${records} records for ${page.rows.length} rows from ${revision}`,
      );
    }
  }
  read.length = 0;
  const { step } = (await runner.get(runId, { revision: 60 })).run;
  assert.equal(step, rows[60]!.step);
  const snapshots = (await store.range(runId, 0, 61)).length;
  const records = read.reduce((sum, n) => sum + n, 0);
  assert.ok(records <= snapshots, `${records} records for revision 60, which has ${snapshots}`);
});
