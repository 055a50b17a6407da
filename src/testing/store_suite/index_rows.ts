import assert from "node:assert/strict";
import type { CatalogQuery, CatalogRow, ClosedWait, Store, WaitQuery, WakeRow } from "../../store/store.ts";
import {
  bytes,
  catalogRow,
  entryAt,
  freshId,
  mail,
  push,
  rejects,
  type StoreCase,
  text,
  waitRow,
} from "./support.ts";
import { defined } from "../../model/defined.ts";
import { matchesCatalog } from "../../store/query.ts";
import { casesOf } from "../suite.ts";

async function listed(store: Store, query: CatalogQuery): Promise<string[]> {
  return (await store.list(query)).rows.map(({ runId }) => runId);
}

async function paged<Q extends { cursor?: string; limit?: number }, R>(
  read: (query: Q) => Promise<{ readonly rows: readonly R[]; readonly cursor?: string }>,
  query: Q,
): Promise<R[][]> {
  const pages: R[][] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await read(cursor === undefined ? query : { ...query, cursor });
    pages.push([...page.rows]);
    if (page.cursor === undefined) return pages;
    cursor = page.cursor;
    assert.ok(pages.length < 1000, "the listing never ends");
  }
}

async function enlist(store: Store, to: CatalogRow): Promise<void> {
  await push(store, to.runId, null, { index: { catalog: { to } } });
}

/** Catalog, inbox and wakes. */
export const indexCases: readonly StoreCase[] = casesOf({
  "the catalog lists the newest created first, ties by id, whatever order they were written in (S1)": async (
    { store },
  ) => {
    for (const [runId, createdAt] of [["b", 10], ["a", 30], ["d", 20], ["c", 20], ["e", 9]] as const) {
      await enlist(store, catalogRow(runId, { createdAt }));
    }
    assert.deepEqual(await listed(store, {}), ["a", "d", "c", "b", "e"]);
    const { rows: [row] } = await store.list({ limit: 1 });
    assert.deepEqual(row, catalogRow("a", { createdAt: 30 }));
  },
  "the catalog filters by graph, status, reason and tag, each alone and all together (S1)": async (
    { store },
  ) => {
    const rows = [
      catalogRow("1", { graphId: "g", status: "interrupted", reason: "awaiting", tags: ["x", "y"] }),
      catalogRow("2", { graphId: "g", status: "interrupted", reason: "errored", tags: ["y"] }),
      catalogRow("3", { graphId: "h", status: "interrupted", reason: "awaiting", tags: ["x"] }),
      catalogRow("4", { graphId: "g", status: "completed", tags: ["x", "x"] }),
    ];
    for (const row of rows) await enlist(store, row);
    assert.deepEqual(await listed(store, { graphId: "g" }), ["4", "2", "1"]);
    assert.deepEqual(await listed(store, { status: "interrupted" }), ["3", "2", "1"]);
    assert.deepEqual(await listed(store, { reason: "awaiting" }), ["3", "1"]);
    assert.deepEqual(await listed(store, { tag: "x" }), ["4", "3", "1"]);
    assert.deepEqual(await listed(store, { graphId: "g", status: "interrupted", tag: "x" }), ["1"]);
    assert.deepEqual(await listed(store, { graphId: "g", reason: "awaiting", tag: "y" }), ["1"]);
    assert.deepEqual(await listed(store, { tag: "none" }), []);
  },
  "a change of status moves the row, which is listed once and under the new status alone (S1)": async (
    { store },
  ) => {
    const from = catalogRow("run", { tags: ["keep", "drop"] });
    const at = await push(store, "run", null, { index: { catalog: { to: from } } });
    const to = catalogRow("run", {
      status: "interrupted",
      reason: "sleeping",
      tags: ["keep"],
      step: 3,
      revision: 1,
      openWaits: 2,
      updatedAt: 2000,
    });
    await push(store, "run", at, { index: { catalog: { from, to } } });
    assert.deepEqual((await store.list({})).rows, [to]);
    assert.deepEqual(await listed(store, { status: "running" }), []);
    assert.deepEqual(await listed(store, { tag: "drop" }), []);
    for (
      const query of [{ status: "interrupted" }, { reason: "sleeping" }, { tag: "keep" }, {
        graphId: "graph",
      }]
    ) {
      assert.deepEqual((await store.list(query)).rows, [to]);
    }
  },
  "pages of the catalog join to the whole, with a filter that few rows pass too (S1)": async ({ store }) => {
    for (let i = 0; i < 130; i++) {
      const tags = i % 7 === 0 ? ["seventh"] : [];
      await enlist(
        store,
        catalogRow(`r${String(i).padStart(3, "0")}`, { createdAt: Math.floor(i / 3), tags }),
      );
    }
    const all = await listed(store, { limit: 1000 });
    assert.equal(all.length, 130);
    const pages = await paged((query: CatalogQuery) => store.list(query), { limit: 25 });
    assert.deepEqual(pages.map(({ length }) => length), [25, 25, 25, 25, 25, 5]);
    assert.deepEqual(pages.flat().map(({ runId }) => runId), all);
    const few = await paged((query: CatalogQuery) => store.list(query), {
      limit: 5,
      graphId: "graph",
      tag: "seventh",
    });
    assert.deepEqual(few.map(({ length }) => length), [5, 5, 5, 4]);
    assert.equal((await store.list({})).rows.length, 100, "the default page");
    assert.equal((await store.list({ limit: 130 })).cursor, undefined, "the last page has no cursor");
  },
  "whatever is asked of the catalog, its pages join to the rows that match, in order (S1)": async (
    { store },
  ) => {
    const states = [["running"], ["interrupted", "awaiting"], ["interrupted", "errored"], [
      "completed",
    ]] as const;
    const rows = Array.from({ length: 120 }, (_, i) => {
      const [status, reason] = states[i * 7 % states.length]!;
      return catalogRow(`r${String(i * 37 % 120).padStart(3, "0")}`, {
        createdAt: Math.floor(i / 3),
        graphId: `g${i % 5}`,
        tags: i % 2 === 0 ? ["even"] : [],
        status,
        ...(reason === undefined ? {} : { reason }),
      });
    });
    for (const row of rows) await enlist(store, row);
    rows.sort((a, b) => b.createdAt - a.createdAt || (a.runId < b.runId ? 1 : -1));
    const some = <T>(...values: T[]) => [undefined, ...values];
    for (const graphId of some("g0", "g4", "none")) {
      for (const [status, reason] of [[], ...states, [undefined, "awaiting"]] as const) {
        for (const tag of some("even")) {
          const query: CatalogQuery = defined({ graphId, status, reason, tag });
          const pages = await paged((q: CatalogQuery) => store.list(q), { ...query, limit: 7 });
          const expected = rows.filter((row) => matchesCatalog(row, query));
          assert.deepEqual(pages.flat(), expected, JSON.stringify(query));
        }
      }
    }
  },
  "a limit or cursor that no listing gave is refused (S1, STORE-7)": async ({ store }) => {
    for (const limit of [0, -1, 1.5, NaN]) await rejects(store.list({ limit }), "STORE", { op: "list" });
    for (const cursor of ["", "x", "%", "[]", "[1]", encodeURIComponent('["a",1]')]) {
      await rejects(store.list({ cursor }), "STORE", { op: "list" });
      await rejects(store.waits({ cursor }), "STORE", { op: "waits" });
    }
  },
  "an append that is refused changes no index row (STORE-1)": async ({ store }) => {
    const row = catalogRow("run");
    const at = await push(store, "run", null, { index: { catalog: { to: row } } });
    await push(store, "run", at);
    await rejects(
      store.append(
        "run",
        1,
        entryAt(at, {
          index: {
            catalog: { from: row, to: catalogRow("run", { status: "completed" }) },
            opened: [waitRow("run", "w")],
            wake: { to: { runId: "run", graphId: "g", graphVersion: "v", due: 1 } },
            owned: { to: "me" },
          },
        }),
      ),
      "REVISION_CONFLICT",
    );
    assert.deepEqual((await store.list({})).rows, [row]);
    assert.deepEqual((await store.waits({})).rows, []);
    assert.deepEqual(await store.wakes(10, 10), []);
    assert.deepEqual(await store.owners.ownedBy("me", 10), []);
  },
  "open waits of all runs are listed oldest first, with everything that was kept of them (I1)": async (
    { store },
  ) => {
    const row = waitRow("b", "w1", { openedAt: 5, item: 3, deadline: 99, body: bytes("what to answer") });
    await push(store, "b", null, { index: { opened: [row, waitRow("b", "w0", { openedAt: 7 })] } });
    await push(store, "a", null, {
      index: { opened: [waitRow("a", "w2", { openedAt: 5, name: "ticket" })] },
    });
    const { rows } = await store.waits({});
    assert.deepEqual(rows.map(({ waitId }) => waitId), ["w2", "w1", "w0"]);
    assert.deepEqual({ ...rows[1], body: [...rows[1]!.body] }, { ...row, body: [...row.body] });
  },
  "the inbox filters by run, graph and name, and its pages join to the whole (I1)": async ({ store }) => {
    for (const runId of ["a", "b", "c"]) {
      const opened = Array.from({ length: 40 }, (_, i) =>
        waitRow(runId, `w${String(i).padStart(2, "0")}`, {
          openedAt: i,
          graphId: runId === "c" ? "other" : "graph",
          name: i % 10 === 0 ? "rare" : "verdict",
        }));
      await push(store, runId, null, { index: { opened } });
    }
    const ids = async (query: WaitQuery) =>
      (await store.waits(query)).rows.map((row) => `${row.runId}/${row.waitId}`);
    assert.equal((await ids({ limit: 1000 })).length, 120);
    assert.equal((await ids({ runId: "b" })).length, 40);
    assert.equal((await ids({ graphId: "other" })).length, 40);
    assert.deepEqual(await ids({ runId: "b", name: "rare" }), ["b/w00", "b/w10", "b/w20", "b/w30"]);
    assert.equal((await ids({ graphId: "graph", name: "rare" })).length, 8);
    assert.deepEqual(await ids({ runId: "none" }), []);
    const pages = await paged((query: WaitQuery) => store.waits(query), { limit: 3, name: "rare" });
    assert.deepEqual(pages.map(({ length }) => length), [3, 3, 3, 3]);
    assert.equal(new Set(pages.flat().map((row) => `${row.runId}/${row.waitId}`)).size, 12);
    const openings = pages.flat().map(({ openedAt }) => openedAt);
    assert.deepEqual(openings, [...openings].sort((x, y) => x - y));
  },
  "a wait that an append closes leaves the inbox and is a tombstone with reason and revision (I1)": async (
    { store },
  ) => {
    const at = await push(store, "run", null, {
      index: { opened: [waitRow("run", "w1"), waitRow("run", "w2")] },
    });
    const before = await store.wait("run", "w1");
    assert.equal(text(before.open!.body), "info");
    assert.equal(before.closed, null);
    assert.deepEqual(before.head, { position: at, owner: null });
    const closed: ClosedWait = { runId: "run", waitId: "w1", openedAt: 1000, reason: "settled", revision: 1 };
    await push(store, "run", at, { index: { closed: [closed] } });
    const after = await store.wait("run", "w1");
    assert.equal(after.open, null);
    assert.deepEqual(after.closed, closed);
    assert.deepEqual((await store.waits({})).rows.map(({ waitId }) => waitId), ["w2"]);
    assert.deepEqual((await store.waits({ runId: "run" })).rows.map(({ waitId }) => waitId), ["w2"]);
    assert.equal((await store.wait("run", "unknown")).open, null);
  },
  "wakes that are due are answered earliest first, and a run has one at most (W1)": async ({ store }) => {
    const wake = (runId: string, due: number): WakeRow => ({ runId, graphId: "g", graphVersion: "v", due });
    for (const [runId, due] of [["late", 300], ["b", 200], ["a", 200], ["soon", 100]] as const) {
      await push(store, runId, null, { index: { wake: { to: wake(runId, due) } } });
    }
    const due = async (until: number, limit = 10) =>
      (await store.wakes(until, limit)).map(({ runId }) => runId);
    assert.deepEqual(await due(99), []);
    assert.deepEqual(await due(100), ["soon"]);
    assert.deepEqual(await due(299), ["soon", "a", "b"]);
    assert.deepEqual(await due(1000, 2), ["soon", "a"]);
    assert.deepEqual((await store.wakes(100, 1))[0], wake("soon", 100));
    const at = (await store.tail("soon"))!.position;
    const next = await push(store, "soon", at, {
      index: { wake: { from: wake("soon", 100), to: wake("soon", 400) } },
    });
    assert.deepEqual(await due(1000), ["a", "b", "late", "soon"]);
    await push(store, "soon", next, { index: { wake: { from: wake("soon", 400) } } });
    assert.deepEqual(await due(1000), ["a", "b", "late"]);
  },
  "wakes are read on from a row, also when it is gone, so that nobody's backlog hides another's (W1)": async (
    { store },
  ) => {
    const wake = (runId: string, due: number): WakeRow => ({ runId, graphId: "g", graphVersion: "v", due });
    const rows = [["a", 1], ["b", 1], ["c", 2], ["d", 2], ["e", 3]] as const;
    for (const [runId, due] of rows) {
      await push(store, runId, null, { index: { wake: { to: wake(runId, due) } } });
    }
    const read = async (after: { due: number; runId: string }, until = 10, limit = 10) =>
      (await store.wakes(until, limit, { after })).map(({ runId }) => runId);
    assert.deepEqual(await read({ due: 1, runId: "a" }), ["b", "c", "d", "e"]);
    assert.deepEqual(await read({ due: 1, runId: "b" }, 2, 1), ["c"]);
    assert.deepEqual(await read({ due: 2, runId: "bb" }, 2), ["c", "d"]);
    assert.deepEqual(await read({ due: 2, runId: "d" }, 2), []);
    assert.deepEqual(await read({ due: 3, runId: "e" }), []);
  },
  "a purge removes everything of a run, and a run begun anew under its id sees nothing of it (STORE-6, H4)":
    async ({ store, second }) => {
      const wake = { runId: "run", graphId: "g", graphVersion: "v", due: 5 };
      await store.owners.register("me");
      const first = await store.append(
        "run",
        0,
        entryAt(null, {
          parts: [bytes("part")],
          owner: "me",
          writer: "me",
          mailbox: mail(null, "mail"),
          index: {
            catalog: { to: catalogRow("run", { tags: ["t"] }) },
            opened: [waitRow("run", "w1"), waitRow("run", "w2")],
            wake: { to: wake },
            owned: { to: "me" },
          },
        }),
      );
      const old = await push(store, "run", first.position, { owner: "me", parts: [bytes("p1")] });
      await push(store, "other", null, { index: { catalog: { to: catalogRow("other") } } });
      await store.purge("run");
      await store.purge("run");
      assert.equal(await store.tail("run"), undefined);
      assert.deepEqual(await store.range("run", 0, 10), []);
      assert.deepEqual(await listed(store, {}), ["other"]);
      assert.deepEqual(await listed(store, { tag: "t" }), []);
      assert.deepEqual((await store.waits({})).rows, []);
      assert.deepEqual((await store.waits({ runId: "run" })).rows, []);
      assert.deepEqual(await store.wakes(100, 10), []);
      assert.deepEqual(await store.owners.ownedBy("me", 10), []);
      assert.deepEqual(await store.wait("run", "w1"), {
        head: null,
        mailbox: null,
        open: null,
        closed: null,
      });
      await rejects(store.append("run", 2, entryAt(old)), "REVISION_CONFLICT", { expected: 0, actual: 2 });
      await rejects(store.parts("run", old.epoch, [{ revision: 0, index: 0 }]), "CHECKPOINT_NOT_FOUND");
      const stale = mail(first.mailbox!, "late answer");
      const late = { postId: freshId("post"), epoch: old.epoch, mailbox: stale };
      await rejects(store.post("run", late), "CHECKPOINT_NOT_FOUND");

      const handle = await second();
      const fresh = await push(handle, "run", null, { record: bytes("anew") });
      assert.notEqual(fresh.epoch, old.epoch);
      const tail = await store.tail("run");
      assert.deepEqual(tail!.records.map(({ bytes }) => text(bytes)), ["anew"]);
      assert.equal(tail!.mailbox, null);
      assert.equal((await store.wait("run", "w1")).open, null);
      assert.deepEqual((await store.waits({})).rows, []);
      await rejects(store.parts("run", old.epoch, [{ revision: 0, index: 0 }]), "CHECKPOINT_NOT_FOUND");
      await rejects(store.append("run", 1, entryAt({ ...first.position })), "REVISION_CONFLICT");
      await rejects(store.post("run", late), "CHECKPOINT_NOT_FOUND");
      const unseen = { ...late, mailbox: mail(null, "late answer") };
      await rejects(store.post("run", unseen), "CHECKPOINT_NOT_FOUND", { runId: "run" });
      await rejects(store.post("run", { ...late, epoch: fresh.epoch }), "MAILBOX_CONFLICT");
      await rejects(store.append("run", 1, entryAt(old)), "REVISION_CONFLICT");
    },
});
