import assert from "node:assert/strict";
import type { PartRef, Position, Store } from "../../store/store.ts";
import {
  bytes,
  catalogRow,
  entryAt,
  historyOf,
  mail,
  noise,
  post,
  push,
  rejects,
  sameBytes,
  type StoreCase,
  text,
  waitRow,
} from "./support.ts";
import { casesOf } from "../suite.ts";

/** A run of `count` records, each a snapshot with two parts. */
async function growSnapshots(store: Store, runId: string, count: number): Promise<Position> {
  let at: Position | null = null;
  for (let i = 0; i < count; i++) {
    at = await push(store, runId, at, { snapshot: i, parts: [bytes(`p${i}.0`), bytes(`p${i}.1`)] });
  }
  return at!;
}

const ref = (revision: number, index: number): PartRef => ({ revision, index });

/** The beginning of a history cut off. */
export const trimCases: readonly StoreCase[] = casesOf({
  "a trim removes the records before the cut; head, mailbox and all from the cut on stay as they were (STORE-9, H4)":
    async ({ store, second }) => {
      const first = await store.append("run", 0, entryAt(null, { mailbox: mail(null, "mail") }));
      let at = first.position;
      for (let i = 1; i < 8; i++) at = await push(store, "run", at, { snapshot: i < 5 ? i : 5 });
      const before = await store.tail("run");
      const writer = await second();
      await store.trim("run", { epoch: at.epoch, before: 4, keep: [] });
      for (const handle of [store, writer]) {
        assert.deepEqual(await handle.tail("run"), before);
        assert.deepEqual(await historyOf(handle, "run"), [4, 5, 6, 7].map((i) => `record ${i}`));
        const revisions = async (from: number, limit: number) =>
          (await handle.range("run", from, limit)).map(({ revision }) => revision);
        assert.deepEqual(await revisions(0, 2), [4, 5]);
        assert.deepEqual(await revisions(3, 2), [4, 5]);
        assert.deepEqual(await revisions(6, 10), [6, 7]);
        assert.deepEqual(await revisions(8, 10), []);
      }
      const mailbox = mail(first.mailbox!, "newer");
      const posted = await post(writer, "run", at.epoch, mailbox);
      const next = await writer.append(
        "run",
        8,
        entryAt(at, { snapshot: 5, mailbox: mail(posted.mailbox, "newest") }),
      );
      assert.equal(next.position.revision, 8);
      assert.equal((await store.inspect("run", 7, undefined)).appendId, before?.records.at(-1)?.appendId);
    },
  "parts that are to be kept are read as before, the others are gone; the next trim keeps its own (STORE-9)":
    async ({ store, second }) => {
      const { epoch } = await growSnapshots(store, "run", 6);
      await store.trim("run", { epoch, before: 3, keep: [ref(0, 1), ref(2, 0), ref(4, 0)] });
      const other = await second();
      const read = async (...refs: readonly PartRef[]) => (await other.parts("run", epoch, refs)).map(text);
      assert.deepEqual(await read(ref(2, 0), ref(0, 1), ref(3, 1), ref(5, 0)), [
        "p2.0",
        "p0.1",
        "p3.1",
        "p5.0",
      ]);
      for (const gone of [ref(0, 0), ref(1, 0), ref(1, 1), ref(2, 1)]) {
        await rejects(other.parts("run", epoch, [gone]), "STORE", { op: "parts" });
      }
      await store.trim("run", { epoch, before: 5, keep: [ref(2, 0), ref(4, 1)] });
      assert.deepEqual(await read(ref(4, 1), ref(2, 0), ref(5, 1)), ["p4.1", "p2.0", "p5.1"]);
      for (const gone of [ref(0, 1), ref(3, 0), ref(4, 0)]) {
        await rejects(other.parts("run", epoch, [gone]), "STORE", { op: "parts" });
      }
    },
  "a trim again, or further back, changes nothing; one past the newest snapshot is refused (STORE-9)": async (
    { store },
  ) => {
    let at = await growSnapshots(store, "run", 5);
    at = await push(store, "run", at, { snapshot: 4 });
    const { epoch } = at;
    await store.trim("run", { epoch, before: 3, keep: [] });
    await store.trim("run", { epoch, before: 3, keep: [] });
    await store.trim("run", { epoch, before: 1, keep: [] });
    await rejects(store.trim("run", { epoch, before: 5, keep: [] }), "STORE", { op: "trim" });
    for (const before of [-1, 0.5, NaN]) {
      await rejects(store.trim("run", { epoch, before, keep: [] }), "STORE", { op: "trim" });
    }
    assert.deepEqual(await historyOf(store, "run"), [3, 4, 5].map((i) => `record ${i}`));
    await store.trim("run", { epoch, before: 4, keep: [] });
    assert.equal((await store.tail("run"))?.records.length, 2);
  },
  "a trim touches the run of its epoch only; a run begun anew has its whole history (STORE-6, STORE-9)":
    async ({ store }) => {
      const old = await growSnapshots(store, "run", 4);
      await rejects(store.trim("none", { epoch: old.epoch, before: 1, keep: [] }), "CHECKPOINT_NOT_FOUND");
      await store.trim("run", { epoch: old.epoch, before: 2, keep: [ref(0, 0)] });
      await store.purge("run");
      const fresh = await growSnapshots(store, "run", 4);
      await rejects(store.trim("run", { epoch: old.epoch, before: 3, keep: [] }), "CHECKPOINT_NOT_FOUND");
      assert.deepEqual(await historyOf(store, "run"), [0, 1, 2, 3].map((i) => `record ${i}`));
      assert.deepEqual((await store.parts("run", fresh.epoch, [ref(0, 0)])).map(text), ["p0.0"]);
    },
  "a purge that names an epoch removes no other run of the id (STORE-6)": async ({ store }) => {
    const old = await push(store, "run", null);
    await store.purge("run", { epoch: "none" });
    assert.deepEqual((await store.tail("run"))?.position, old);
    await store.purge("run", { epoch: old.epoch });
    assert.equal(await store.tail("run"), undefined);
    const fresh = await push(store, "run", null);
    await store.purge("run", { epoch: old.epoch });
    assert.deepEqual((await store.tail("run"))?.position, fresh);
  },
  "records and parts of any size are cut; a long mailbox and the rows of waits written beside them stay (STORE-9)":
    async ({ store, second }) => {
      const big = noise(1_700_000, 1);
      const long = noise(100_000, 2);
      const first = await store.append(
        "run",
        0,
        entryAt(null, {
          record: big,
          parts: [noise(90_000, 3), noise(900_000, 4), noise(10, 5)],
          mailbox: { version: null, value: long },
          index: {
            catalog: { to: catalogRow("run") },
            opened: [waitRow("run", "w", { body: noise(70_000, 6) })],
          },
        }),
      );
      let at = await push(store, "run", first.position, {
        record: noise(80_000, 7),
        parts: [noise(90_000, 8), noise(20, 9)],
        snapshot: 1,
      });
      at = await push(store, "run", at, { snapshot: 2 });
      const { epoch } = at;
      const reader = await second();
      await store.trim("run", { epoch, before: 2, keep: [ref(0, 1), ref(1, 0)] });
      const stands = async () => {
        const tail = await reader.tail("run");
        assert.ok(sameBytes(tail?.mailbox?.value, long));
        assert.ok(sameBytes((await reader.wait("run", "w")).open?.body, noise(70_000, 6)));
        assert.ok(sameBytes((await reader.waits({ runId: "run" })).rows[0]?.body, noise(70_000, 6)));
      };
      await stands();
      const [kept, also] = await reader.parts("run", epoch, [ref(0, 1), ref(1, 0)]);
      assert.ok(sameBytes(kept, noise(900_000, 4)) && sameBytes(also, noise(90_000, 8)));
      for (const gone of [ref(0, 0), ref(0, 2), ref(1, 1)]) {
        await rejects(reader.parts("run", epoch, [gone]), "STORE", { op: "parts" });
      }
      at = await push(store, "run", at, { snapshot: 3 });
      await store.trim("run", { epoch, before: 3, keep: [] });
      await stands();
      await rejects(reader.parts("run", epoch, [ref(0, 1)]), "STORE", { op: "parts" });
      assert.deepEqual(await historyOf(reader, "run"), ["record 3"]);
    },
  "whoever appends and reads while a history is trimmed again and again is never disturbed (STORE-9)": async (
    { store, second },
  ) => {
    const [trimmer, reader] = [await second(), await second()];
    let at = await push(store, "run", null, { parts: [bytes("p0")] });
    for (let i = 1; i < 30; i++) {
      const { epoch } = at;
      const previous = ref(i - 1, 0);
      const [next, , tail] = await Promise.all([
        push(store, "run", at, { snapshot: i, parts: [bytes(`p${i}`)] }),
        trimmer.trim("run", { epoch, before: i - 1, keep: [] }),
        reader.tail("run"),
      ]);
      assert.equal(tail!.records[0]?.revision, tail!.records.at(-1)!.revision);
      assert.deepEqual((await reader.parts("run", epoch, [previous])).map(text), [`p${i - 1}`]);
      at = next;
    }
    assert.deepEqual(await historyOf(store, "run"), ["record 28", "record 29"]);
  },
});
