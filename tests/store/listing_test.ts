// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compile, type RunQuery } from "../../mod.ts";
import type { CatalogQuery, WaitQuery } from "../../src/store/store.ts";
import {
  catalogRow,
  type OpenedStore,
  push,
  rejects,
  waitRow,
} from "../../src/testing/store_suite/support.ts";
import { graphOf } from "../support/graphs.ts";
import { openDenoKv, openMemory } from "../support/stores.ts";

const STORES: Readonly<Record<string, () => Promise<OpenedStore>>> = {
  memory: openMemory,
  "Deno KV": openDenoKv,
};

/** Every page of a listing. */
async function pages<Q extends { cursor?: string }, R>(
  read: (query: Q) => Promise<{ readonly rows: readonly R[]; readonly cursor?: string }>,
  query: Q,
): Promise<(readonly R[])[]> {
  const found: (readonly R[])[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await read(cursor === undefined ? query : { ...query, cursor });
    found.push(page.rows);
    if (page.cursor === undefined) return found;
    cursor = page.cursor;
    assert.ok(found.length < 100, "the listing never ends");
  }
}

const id = (i: number) => `r${String(i).padStart(3, "0")}`;

/**
 * The rows that match, of 230: 4 among the newest 100, none among the next 100, 2 at the very end. A page of 4 is exactly
 * full when the first batch of an index has been read, and what is behind lies two batches further.
 */
const MATCHING = new Set([229, 200, 180, 131, 1, 0]);

for (const [name, open] of Object.entries(STORES)) {
  test(`a filtered page of runs that is exactly full has a cursor when more rows lie far behind it, on ${name} (FT-G3, S1)`, async () => {
    const { store, cleanup } = await open();
    try {
      for (let i = 0; i < 230; i++) {
        const is = MATCHING.has(i);
        const to = catalogRow(id(i), {
          createdAt: i,
          graphId: is ? "mine" : "other",
          status: is ? "interrupted" : "completed",
          tags: ["all"],
          ...(is ? { reason: "awaiting" } : {}),
        });
        await push(store, id(i), null, { index: { catalog: { to } } });
      }
      const wanted = [...MATCHING].map(id);
      const filters: readonly CatalogQuery[] = [
        { tag: "all", graphId: "mine" },
        { tag: "all", status: "interrupted" },
        { tag: "all", reason: "awaiting", graphId: "mine" },
        { graphId: "mine", status: "interrupted" },
      ];
      for (const filter of filters) {
        for (const limit of [1, 2, 3, 4, 5, 6, 7, 100]) {
          const found = await pages((query: CatalogQuery) => store.list(query), { ...filter, limit });
          const what = `${JSON.stringify(filter)}, limit ${limit}`;
          assert.deepEqual(found.flat().map((row) => row.runId), wanted, what);
          assert.equal(found.length, Math.ceil(wanted.length / limit), what);
        }
      }
      const last = await store.list({ tag: "all", graphId: "mine", limit: 6 });
      assert.equal(last.cursor, undefined, "a full page behind which nothing matches is the last one");
      const exact = await pages((query: CatalogQuery) => store.list(query), { limit: 115 });
      assert.deepEqual(exact.map((rows) => rows.length), [115, 115]);
    } finally {
      await cleanup();
    }
  });

  test(`a filtered page of the inbox that is exactly full has a cursor when more rows lie far behind it, on ${name} (FT-G3, I1)`, async () => {
    const { store, cleanup } = await open();
    try {
      const rare = new Set([...MATCHING].map((i) => 229 - i));
      for (let r = 0; r < 2; r++) {
        const opened = Array.from({ length: 230 }, (_, i) =>
          waitRow(`run-${r}`, id(i), {
            openedAt: i,
            name: rare.has(i) ? "rare" : "common",
            graphId: `g${r}`,
          }));
        await push(store, `run-${r}`, null, { index: { opened } });
      }
      const wanted = [...rare].sort((a, b) => a - b).map(id);
      for (
        const query of [{ runId: "run-1", name: "rare" }, { graphId: "g1", name: "rare" }] as WaitQuery[]
      ) {
        for (const limit of [1, 3, 4, 6, 100]) {
          const found = await pages((q: WaitQuery) => store.waits(q), { ...query, limit });
          assert.deepEqual(
            found.flat().map((row) => [row.runId, row.waitId]),
            wanted.map((w) => ["run-1", w]),
          );
          assert.equal(found.length, Math.ceil(wanted.length / limit), `limit ${limit}`);
        }
      }
    } finally {
      await cleanup();
    }
  });
}

for (const [name, open] of Object.entries(STORES)) {
  test(`texts of a query that no row can have are refused alike, on ${name} (FT-F13, S6)`, async () => {
    const { store, cleanup } = await open();
    try {
      const graph = graphOf({ vertices: { a: {} } });
      const runner = compile(graph, { store });
      for (const bad of ["x".repeat(5_000), "", "a\0b", "\ud800"]) {
        for (const field of ["graphId", "status", "reason", "tag"] as const) {
          await rejects(store.list({ [field]: bad }), "STORE");
          if (field !== "graphId") await rejects(runner.list({ [field]: bad } as RunQuery), "ARGUMENT");
        }
        for (const field of ["graphId", "runId", "name"] as const) {
          await rejects(store.waits({ [field]: bad }), "STORE");
          if (field !== "graphId") await rejects(runner.waits({ [field]: bad }), "ARGUMENT");
        }
      }
    } finally {
      await cleanup();
    }
  });
}
