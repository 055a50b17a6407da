import assert from "node:assert/strict";
import type { Position } from "../../store/store.ts";
import type { ClosedWait, PartRef } from "../../store/store.ts";
import {
  bytes,
  entryAt,
  mail,
  noise,
  post,
  push,
  sameBytes,
  type StoreCase,
  text,
  waitRow,
} from "./support.ts";
import { casesOf } from "../suite.ts";

const KIB = 1024;

/** Whatever the size, one append is one step and comes back byte for byte. */
export const sizeCases: readonly StoreCase[] = casesOf({
  "records of every size around the limits of a value come back as they were (S3)": async (
    { store, second },
  ) => {
    const sizes = [0, 1, 900, 65_000, 65_472, 65_504, 65_536, 65_537, 131_008, 131_072, 1024 * KIB];
    let at: Position | null = null;
    for (const [seed, size] of sizes.entries()) {
      at = await push(store, "run", at, { record: noise(size, seed) });
    }
    for (const handle of [store, await second()]) {
      const records = await handle.range("run", 0, 100);
      assert.equal(records.length, sizes.length);
      sizes.forEach((size, seed) =>
        assert.ok(sameBytes(records[seed]!.bytes, noise(size, seed)), `the record of ${size} bytes`)
      );
    }
  },
  "parts of every size come back in the order asked for, staged or not (S3)": async ({ store }) => {
    const small = [noise(10, 1), noise(0, 2), noise(70_000, 3)];
    const large = [noise(5 * 1024 * KIB, 4), noise(10, 5), noise(0, 6), noise(700 * KIB, 7)];
    const first = await push(store, "run", null, { parts: small });
    const { epoch } = await push(store, "run", first, { parts: large, record: bytes("large") });
    const refs: readonly [PartRef, Uint8Array][] = [
      [{ revision: 1, index: 3 }, large[3]!],
      [{ revision: 0, index: 2 }, small[2]!],
      [{ revision: 1, index: 0 }, large[0]!],
      [{ revision: 0, index: 0 }, small[0]!],
      [{ revision: 1, index: 1 }, large[1]!],
      [{ revision: 1, index: 2 }, large[2]!],
      [{ revision: 0, index: 1 }, small[1]!],
      [{ revision: 1, index: 3 }, large[3]!],
    ];
    const parts = await store.parts("run", epoch, refs.map(([ref]) => ref));
    refs.forEach(([ref, expected], i) =>
      assert.ok(sameBytes(parts[i], expected), `part ${ref.index} of revision ${ref.revision}`)
    );
    assert.deepEqual(await store.parts("run", epoch, []), []);
    assert.equal(text((await store.range("run", 1, 1))[0]!.bytes), "large");
  },
  "150 parts of 50 KB and 1100 parts of 10 bytes, each in one append, come back (S3)": async ({ store }) => {
    const wide = Array.from({ length: 150 }, (_, i) => noise(50 * KIB, i));
    const many = Array.from({ length: 1100 }, (_, i) => noise(10, i));
    const first = await push(store, "run", null, { parts: wide });
    const { epoch } = await push(store, "run", first, { parts: many });
    for (const [revision, expected] of [wide, many].entries()) {
      const parts = await store.parts("run", epoch, expected.map((_, index) => ({ revision, index })));
      expected.forEach((part, i) =>
        assert.ok(sameBytes(parts[i], part), `part ${i} of revision ${revision}`)
      );
    }
  },
  "a large append repeated under its id succeeds again, one at an old head is refused (S3, STORE-2)": async (
    { store },
  ) => {
    const at = await push(store, "run", null);
    const entry = entryAt(at, { record: noise(2 * 1024 * KIB, 1), parts: [noise(1024 * KIB, 2)] });
    const appended = await store.append("run", 1, entry);
    assert.deepEqual(await store.append("run", 1, entry), appended);
    const stale = store.append("run", 1, entryAt(at, { record: noise(2 * 1024 * KIB, 3) }));
    await assert.rejects(stale, { code: "REVISION_CONFLICT" });
    assert.ok(sameBytes((await store.range("run", 1, 1))[0]!.bytes, entry.record));
  },
  "mailboxes of 100 KB and 2 MB are set, replaced and read whole (S3, STORE-3)": async (
    { store, second },
  ) => {
    const other = await second();
    let { position, mailbox } = await store.append(
      "run",
      0,
      entryAt(null, { mailbox: { version: null, value: noise(100 * KIB, 0) } }),
    );
    for (const [i, size] of [2048 * KIB, 10, 100 * KIB, 2048 * KIB].entries()) {
      const value = noise(size, i + 1);
      ({ mailbox } = await post(other, "run", position.epoch, { version: mailbox!, value }));
      const tail = await store.tail("run");
      assert.equal(tail!.mailbox!.version, mailbox);
      assert.ok(sameBytes(tail!.mailbox!.value, value), `the mailbox of ${size} bytes`);
      const next = noise(70 * KIB, i + 100);
      const appended = await store.append(
        "run",
        position.revision + 1,
        entryAt(position, { mailbox: { version: mailbox, value: next } }),
      );
      ({ position } = appended);
      mailbox = appended.mailbox!;
      assert.ok(sameBytes((await other.wait("run", "w")).mailbox!.value, next));
    }
  },
  "a step that opens 1500 waits opens them all at once, and one that closes them closes them all (S3, I1)":
    async ({ store }) => {
      const opened = Array.from(
        { length: 1500 },
        (_, i) => waitRow("run", `w${i}`, { openedAt: i, item: i, body: bytes(`info ${i}`) }),
      );
      const at = await push(store, "run", null, { index: { opened } });
      const { rows, cursor } = await store.waits({ limit: 1000 });
      assert.equal(rows.length, 1000);
      const rest = await store.waits({ limit: 1000, cursor: cursor! });
      assert.deepEqual(
        [...rows, ...rest.rows].map(({ body }) => text(body)),
        opened.map(({ body }) => text(body)),
      );
      assert.equal((await store.wait("run", "w1499")).open?.item, 1499);
      const closed = opened.map(({ waitId, openedAt }): ClosedWait => ({
        runId: "run",
        waitId,
        openedAt,
        reason: "settled",
        revision: 1,
      }));
      const mailbox = mail(null, "m");
      await store.append("run", at.revision + 1, entryAt(at, { mailbox, index: { closed } }));
      assert.deepEqual((await store.waits({})).rows, []);
      assert.deepEqual((await store.wait("run", "w777")).closed, closed[777]);
    },
  "a wait whose info takes 300 KB is listed and looked up whole (S3, I1)": async ({ store }) => {
    const body = noise(300 * KIB, 1);
    await push(store, "run", null, {
      index: { opened: [waitRow("run", "w", { body }), waitRow("run", "x")] },
    });
    const { rows } = await store.waits({});
    assert.ok(sameBytes(rows.find(({ waitId }) => waitId === "w")?.body, body));
    assert.ok(sameBytes((await store.wait("run", "w")).open?.body, body));
  },
});
