import assert from "node:assert/strict";
import type { LeaseQuery, Leases, Store, WakeRow } from "../../store/store.ts";
import { push, type StoreCase } from "./support.ts";
import { casesOf } from "../suite.ts";

const V1 = { graphId: "g", graphVersion: "v1" };
const V2 = { graphId: "g", graphVersion: "v2" };
/** Longer than any case takes. */
const LONG_MS = 600_000;

function leasesOf({ leases }: Store): Leases {
  assert.ok(leases, "the store hands out leases");
  return leases;
}

async function make(store: Store, runId: string, due: number, key = V1): Promise<WakeRow> {
  const wake = { runId, due, ...key };
  await push(store, runId, null, { index: { wake: { to: wake } } });
  return wake;
}

async function take(store: Store, query: Partial<LeaseQuery> = {}): Promise<string[]> {
  const { rows } = await leasesOf(store).take({
    keys: [V1],
    until: 100,
    limit: 10,
    forMs: LONG_MS,
    ...query,
  });
  return rows.map(({ runId }) => runId);
}

/** Due runs handed to one process at a time. A store without leases need not pass them. */
export const leaseCases: readonly StoreCase[] = casesOf({
  "due runs of the versions asked for are handed out once, earliest first, with the time of the next (LEASE-1, W1)":
    async ({ store, second }) => {
      const other = await second();
      const b = await make(store, "b", 2);
      await make(store, "a", 1);
      await make(store, "late", 200);
      await make(store, "other", 1, V2);
      const { rows, next } = await leasesOf(other).take({
        keys: [V1],
        until: 100,
        limit: 10,
        forMs: LONG_MS,
      });
      assert.deepEqual(rows.map(({ runId }) => runId), ["a", "b"]);
      assert.deepEqual([rows[1], next], [b, 200]);
      assert.deepEqual(await take(store), []);
      assert.deepEqual(await take(store, { keys: [V1, V2], until: 300, limit: 1 }), ["other"]);
      assert.deepEqual(await take(store, { keys: [] }), []);
      assert.equal((await store.wakes(100, 10)).length, 3, "a lease is no claim");
    },
  "what is given back is handed out again, unless it has another wake by then (LEASE-1, LEASE-3)": async (
    { store, second },
  ) => {
    const other = await second();
    const a = await make(store, "a", 1);
    const b = await make(store, "b", 1);
    assert.deepEqual(await take(store), ["a", "b"]);
    assert.deepEqual(await take(other, { back: [a, { ...b, due: 7 }] }), ["a"]);
    assert.deepEqual(await take(other), []);
  },
  "a lease runs out by itself, and with the wake that it was for (LEASE-1)": async ({ store }) => {
    const a = await make(store, "a", 1);
    assert.deepEqual(await take(store, { forMs: 1 }), ["a"]);
    let again: string[] = [];
    while (again.length === 0) again = await take(store);
    assert.deepEqual(again, ["a"]);
    const { position } = (await store.tail("a"))!;
    await push(store, "a", position, { index: { wake: { from: a, to: { ...a, due: 3 } } } });
    assert.deepEqual(await take(store), ["a"]);
  },
  "of four that take at once each gets other runs, and all are handed out (LEASE-2)": async (
    { store, second },
  ) => {
    const handles = [store, await second(), await second(), await second()];
    const runs = Array.from({ length: 60 }, (_, i) => `r${String(i).padStart(2, "0")}`);
    await Promise.all(runs.map((runId, i) => make(store, runId, i)));
    const got: string[] = [];
    await Promise.all(handles.map(async (handle) => {
      for (let some = ["-"]; some.length > 0;) got.push(...some = await take(handle, { limit: 4 }));
    }));
    // One that others hold for a moment is skipped.
    got.push(...await take(store, { limit: 60 }));
    assert.deepEqual(got.sort(), runs);
  },
});
