import assert from "node:assert/strict";
import type { Appended, Cell, CellChange, Store } from "../../store/store.ts";
import {
  bytes,
  catalogRow,
  entryAt,
  freshId,
  noise,
  push,
  rejects,
  type StoreCase,
  text,
  waitRow,
} from "./support.ts";

const mark = { space: "marks", name: "daily" };

function write(store: Store, ...cells: readonly CellChange[]): Promise<{ readonly version: string }> {
  return store.cells.write({ writeId: freshId("write"), cells });
}

async function cellAt(store: Store, name: string = mark.name): Promise<Cell | null> {
  return (await store.cells.read([{ ...mark, name }]))[0]!;
}

async function valueAt(store: Store, name?: string): Promise<string | undefined> {
  const cell = await cellAt(store, name);
  return cell === null ? undefined : text(cell.value);
}

/** Cells: small named values beside the runs, that an append may demand and change in its own step. */
export const cellCases: readonly StoreCase[] = [
  {
    title: "a cell is set while it has the version that is demanded, and only then (STORE-10)",
    run: async ({ store, reopen }) => {
      const made = await write(store, { ...mark, version: null, value: bytes("1") });
      assert.deepEqual(await cellAt(store), { ...mark, version: made.version, value: bytes("1") });
      const set = await write(store, { ...mark, version: made.version, value: bytes("2") });
      assert.notEqual(set.version, made.version);
      for (const version of [null, made.version]) {
        await rejects(write(store, { ...mark, version, value: bytes("x") }), "CELL_CONFLICT", {
          space: "marks",
          cell: "daily",
        });
      }
      await write(store, { ...mark, value: bytes("3") });
      const again = await reopen();
      assert.equal(await valueAt(again), "3", "without a version it is set whatever it is");
      await write(again, { ...mark, value: null });
      assert.equal(await cellAt(again), null);
    },
  },
  {
    title: "a cell that was removed and made again has another version (STORE-10)",
    run: async ({ store }) => {
      const { version } = await write(store, { ...mark, value: bytes("1") });
      await write(store, { ...mark, version, value: null });
      await write(store, { ...mark, version: null, value: bytes("1") });
      await rejects(write(store, { ...mark, version, value: null }), "CELL_CONFLICT");
      assert.equal(await valueAt(store), "1");
    },
  },
  {
    title: "an append sets cells with its record, or does nothing at all (STORE-1, STORE-10)",
    run: async ({ store }) => {
      const index = { catalog: { to: catalogRow("run") }, opened: [waitRow("run", "w")] };
      const place = { space: "queue", name: "a" };
      const cells = [{ ...mark, version: null, value: bytes("1") }, { ...place, value: bytes("run") }];
      const { position, cells: version } = await store.append("run", 0, entryAt(null, { index, cells }));
      assert.deepEqual(
        (await store.cells.read([mark, place])).map((cell) => cell?.version),
        [version, version],
        "the append answers the version that it gave to its cells",
      );
      const fields = { runId: "other", space: "marks", cell: "daily" };
      await rejects(
        store.append("other", 0, entryAt(null, { index: { catalog: { to: catalogRow("other") } }, cells })),
        "CELL_CONFLICT",
        fields,
      );
      assert.equal(await store.tail("other"), undefined);
      assert.equal((await store.list({})).rows.length, 1);
      const next = { ...mark, version: version!, value: bytes("2") };
      const moved = await push(store, "run", position, { cells: [next, { ...place, value: null }] });
      assert.equal(await valueAt(store), "2");
      assert.deepEqual(await store.cells.read([place]), [null]);
      await rejects(push(store, "run", moved, { cells: [next] }), "CELL_CONFLICT");
      assert.deepEqual((await store.tail("run"))!.position, moved);
    },
  },
  {
    title: "a post sets cells with the mailbox, or does nothing at all (STORE-3, STORE-10)",
    run: async ({ store }) => {
      const { epoch } = await push(store, "run", null);
      const wake = { runId: "run", graphId: "graph", graphVersion: "v1", due: 1 };
      const post = (mailbox: string | null, cells: readonly CellChange[]) =>
        store.post("run", {
          postId: freshId("post"),
          epoch,
          mailbox: { version: mailbox, value: bytes("mail") },
          wake: { to: wake },
          cells,
        });
      const { version } = await write(store, { ...mark, value: bytes("1") });
      await rejects(post(null, [{ ...mark, version: null, value: bytes("x") }]), "CELL_CONFLICT", {
        runId: "run",
      });
      assert.equal((await store.tail("run"))!.mailbox, null);
      assert.deepEqual(await store.wakes(10, 10), []);
      const posted = await post(null, [{ ...mark, version, value: bytes("2") }]);
      assert.equal((await cellAt(store))!.version, posted.cells);
      assert.deepEqual(await store.wakes(10, 10), [wake]);
      await rejects(post(null, [{ ...mark, value: bytes("3") }]), "MAILBOX_CONFLICT");
      assert.equal(await valueAt(store), "2");
    },
  },
  {
    title: "a cell may be demanded without being changed (STORE-10)",
    run: async ({ store }) => {
      const free = { ...mark, version: null };
      const at = await push(store, "run", null, { cells: [free] });
      assert.equal(await cellAt(store), null);
      const { version } = await write(store, { ...mark, value: bytes("1") });
      await rejects(push(store, "run", at, { cells: [free] }), "CELL_CONFLICT");
      await push(store, "run", at, { cells: [{ ...mark, version }] });
      assert.equal((await cellAt(store))!.version, version);
    },
  },
  {
    title: "what sets cells, repeated under its id, succeeds again and changes nothing (STORE-2, STORE-10)",
    run: async ({ store }) => {
      const cells = [{ ...mark, version: null, value: bytes("1") }];
      const entry = entryAt(null, { cells });
      const appended = await store.append("run", 0, entry);
      assert.deepEqual(await store.append("run", 0, entry), appended);
      const { version } = await write(store, { ...mark, version: appended.cells!, value: bytes("2") });
      await store.append("run", 0, entry);
      assert.equal(await valueAt(store), "2");

      const { epoch } = appended.position;
      const mailbox = { version: null, value: bytes("mail") };
      const post = {
        postId: freshId("post"),
        epoch,
        mailbox,
        cells: [{ ...mark, version, value: bytes("3") }],
      };
      const posted = await store.post("run", post);
      assert.deepEqual(await store.post("run", post), posted);
      assert.equal((await cellAt(store))!.version, posted.cells);

      const written = {
        writeId: freshId("write"),
        cells: [{ ...mark, version: posted.cells!, value: bytes("4") }],
      };
      assert.deepEqual(await store.cells.write(written), await store.cells.write(written));
      const removed = { writeId: freshId("write"), cells: [{ ...mark, value: null }] };
      await store.cells.write(removed);
      await store.cells.write(removed);
      await rejects(store.cells.write(written), "CELL_CONFLICT");
      assert.equal(await cellAt(store), null);
    },
  },
  {
    title: "of two appends at one version of a cell exactly one wins, 30 times (STORE-10)",
    run: async ({ store, second }) => {
      const other = await second();
      let version: string | null = null;
      for (let round = 0; round < 30; round++) {
        const cells: readonly CellChange[] = [{ ...mark, version, value: bytes(String(round)) }];
        const results: readonly PromiseSettledResult<Appended>[] = await Promise.allSettled([
          store.append(`a${round}`, 0, entryAt(null, { cells })),
          other.append(`b${round}`, 0, entryAt(null, { cells })),
        ]);
        const won = results.flatMap((result) => result.status === "fulfilled" ? [result.value] : []);
        assert.equal(won.length, 1, `round ${round}: ${won.length} appends won`);
        for (const result of results) {
          if (result.status === "rejected") assert.equal(result.reason.code, "CELL_CONFLICT");
        }
        version = won[0]!.cells!;
        assert.equal((await cellAt(other))!.version, version);
      }
    },
  },
  {
    title: "cells are listed by the bytes of their names, those of a space and a prefix alone (STORE-10)",
    run: async ({ store }) => {
      // U+FF5E comes before U+1F600 in UTF-8, and behind it in code units.
      const names = ["a", "a/1", "a/10", "a/2", "a/\uff5e", "a/\u{1f600}", "b"];
      await write(store, ...[...names].reverse().map((name) => ({ ...mark, name, value: bytes(name) })));
      await write(store, { space: "mark", name: "a/1", value: bytes("x") });
      const list = async (query: Parameters<Store["cells"]["list"]>[1]) =>
        (await store.cells.list("marks", query)).map(({ name, value }) => {
          assert.equal(text(value), name);
          return name;
        });
      assert.deepEqual(await list({ limit: 100 }), names);
      assert.deepEqual(await list({ limit: 100, prefix: "a/" }), names.slice(1, 6));
      assert.deepEqual(await list({ limit: 2, prefix: "a/" }), names.slice(1, 3));
      assert.deepEqual(await list({ limit: 2, prefix: "a/", after: "a/10" }), names.slice(3, 5));
      assert.deepEqual(await list({ limit: 9, after: "a/1a" }), names.slice(3));
      assert.deepEqual(await list({ limit: 9, prefix: "c" }), []);
      assert.deepEqual(await store.cells.list("other", { limit: 9 }), []);
    },
  },
  {
    title: "cells outlive the runs that set them (STORE-10, H4)",
    run: async ({ store }) => {
      await push(store, "run", null, { cells: [{ ...mark, value: bytes("1") }] });
      await store.purge("run");
      assert.equal(await valueAt(store), "1");
      await push(store, "run", null);
      assert.equal(await valueAt(store), "1");
    },
  },
  {
    title: "cells are set with records of any size and any number of rows (STORE-1, STORE-10, S3)",
    run: async ({ store }) => {
      const full = noise(16_384, 1);
      const cells = Array.from({ length: 16 }, (_, i) => ({ ...mark, name: `n${i}`, value: full }));
      const opened = Array.from({ length: 1200 }, (_, i) => waitRow("run", `w${i}`));
      const patch = { cells, record: noise(1_000_000, 2), index: { opened } };
      const { position } = await store.append("run", 0, entryAt(null, patch));
      const found = await store.cells.list("marks", { limit: 20 });
      assert.deepEqual(found.map(({ value }) => value), cells.map(({ value }) => value));
      const stale = { ...patch, cells: [{ ...mark, name: "n1", version: null, value: null }] };
      await rejects(store.append("run", 1, entryAt(position, stale)), "CELL_CONFLICT");
      assert.equal((await store.cells.list("marks", { limit: 20 })).length, 16);
    },
  },
  {
    title:
      "what no store could keep in cells is refused, by append, post and write alike (STORE-7, STORE-10)",
    run: async ({ store }) => {
      const at = await push(store, "run", null);
      const value = bytes("x");
      const many = (count: number, patch: Partial<CellChange>) =>
        Array.from({ length: count }, (_, i) => ({ ...mark, name: `n${i}`, value, ...patch }));
      const refused: readonly (readonly [RegExp, readonly CellChange[]])[] = [
        [/space "" is empty/, [{ ...mark, space: "", value }]],
        [/name of a cell .* holds a NUL/, [{ ...mark, name: "a\0b", value }]],
        [/takes more than 512 bytes/, [{ ...mark, name: "ä".repeat(257), value }]],
        [/marks daily is named twice/, [{ ...mark, value }, { ...mark, version: null }]],
        [/neither a value nor a version/, [mark]],
        [/takes 16385 bytes, at most 16384/, [{ ...mark, value: new Uint8Array(16_385) }]],
        [/17 changes, at most 16/, many(17, {})],
        [/5 cells with a version, at most 4/, many(5, { version: null })],
      ];
      for (const [reason, cells] of refused) {
        const mailbox = { version: null, value };
        const calls = [
          () => write(store, ...cells),
          () => push(store, "run", at, { cells }),
          () => store.post("run", { postId: freshId("post"), epoch: at.epoch, mailbox, cells }),
        ];
        for (const call of calls) assert.match((await rejects(call(), "STORE")).message, reason);
      }
      await write(store, ...many(4, { version: null }), ...many(16, {}).slice(4));
      await rejects(write(store, { ...mark, version: null }), "STORE");
      await rejects(store.cells.list("marks", { limit: 0 }), "STORE");
      await rejects(store.cells.list("marks", { limit: 1, prefix: "b", after: "a" }), "STORE");
      await rejects(store.cells.read(many(11, {})), "STORE");
      assert.deepEqual((await store.tail("run"))!.position, at);
    },
  },
];
