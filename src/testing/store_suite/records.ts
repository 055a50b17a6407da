import assert from "node:assert/strict";
import type { Position, Store } from "../../store/store.ts";
import {
  bytes,
  entryAt,
  freshId,
  grow,
  historyOf,
  mail,
  post,
  push,
  rejects,
  type StoreCase,
  text,
} from "./support.ts";
import { casesOf } from "../suite.ts";

/** Appending, reading back, and who wins. */
export const recordCases: readonly StoreCase[] = casesOf({
  "records appended in turn are the history, and the highest revision is the tail (STR-01, STR-15, STORE-1)":
    async ({ store }) => {
      const last = await grow(store, "run", 3);
      assert.equal(last.revision, 2);
      assert.deepEqual(await historyOf(store, "run"), ["record 0", "record 1", "record 2"]);
      const tail = await store.tail("run");
      assert.deepEqual(tail?.position, last);
      assert.equal(tail?.owner, null);
      assert.equal(tail?.mailbox, null);
      assert.deepEqual(tail?.records.map(({ revision }) => revision), [0, 1, 2]);
    },
  "the tail begins at the newest snapshot, which the head names (STR-15, STORE-5)": async ({ store }) => {
    let at = await grow(store, "run", 4);
    at = await push(store, "run", at, { snapshot: 4 });
    at = await push(store, "run", at, { snapshot: 4, owner: "someone" });
    const tail = await store.tail("run");
    assert.deepEqual(tail?.records.map(({ revision }) => revision), [4, 5]);
    assert.equal(tail?.owner, "someone");
    assert.equal((await store.range("run", 0, 100)).length, 6);
  },
  "revision 1 of an unknown run is a conflict that names 0 as the next, and nothing is stored (STR-02)":
    async ({ store }) => {
      const fields = { expected: 0, actual: 1, runId: "run" };
      await rejects(store.append("run", 1, entryAt(null)), "REVISION_CONFLICT", fields);
      const at = { revision: 0, epoch: "none", token: "00000000000000010000" };
      await rejects(store.append("run", 1, entryAt(at)), "REVISION_CONFLICT", fields);
      assert.equal(await store.tail("run"), undefined);
      assert.deepEqual(await store.range("run", 0, 10), []);
    },
  "a revision taken or too far ahead is a conflict, and the history does not grow (STR-03, STR-19, IDS-25)":
    async ({ store }) => {
      const at = await push(store, "run", null);
      await rejects(store.append("run", 0, entryAt(null)), "REVISION_CONFLICT", { expected: 1, actual: 0 });
      await rejects(store.append("run", 2, entryAt(at)), "REVISION_CONFLICT", { expected: 1, actual: 2 });
      assert.deepEqual(await historyOf(store, "run"), ["record 0"]);
      assert.deepEqual((await store.tail("run"))?.position, at);
    },
  "a writer at an older head is refused (STR-04, STR-19)": async ({ store }) => {
    const first = await push(store, "run", null);
    await push(store, "run", first);
    await rejects(store.append("run", 1, entryAt(first)), "REVISION_CONFLICT", { expected: 2, actual: 1 });
    assert.equal((await store.range("run", 0, 10)).length, 2);
  },
  "a position with another token or epoch is not the head, whatever its revision (STORE-1)": async (
    { store },
  ) => {
    const at = await push(store, "run", null);
    for (
      const other of [{ ...at, token: "0000000000000000ffff" }, { ...at, token: "" }, {
        ...at,
        epoch: "other",
      }]
    ) {
      await rejects(store.append("run", 1, entryAt(other)), "REVISION_CONFLICT", { expected: 1, actual: 1 });
    }
    assert.equal((await push(store, "run", at)).revision, 1);
  },
  "of two writers at one head exactly one wins, 200 times (STR-05, STORE-1)": async ({ store, second }) => {
    const writers: [Store, Store] = [store, await second()];
    let at: Position | null = null;
    for (let round = 0; round < 200; round++) {
      const head: Position | null = at;
      const results: PromiseSettledResult<Position>[] = await Promise.allSettled(
        writers.map((writer, i) => push(writer, "run", head, { record: bytes(`${round} by ${i}`) })),
      );
      const won = results.filter((result) => result.status === "fulfilled");
      const lost = results.filter((result) => result.status === "rejected");
      assert.equal(won.length, 1, `round ${round}: ${won.length} writers won`);
      assert.equal(lost[0]?.reason.code, "REVISION_CONFLICT");
      at = won[0]!.value;
    }
    const history = await store.range("run", 0, 1000);
    assert.deepEqual(history.map(({ revision }) => revision), Array.from({ length: 200 }, (_, i) => i));
    history.forEach(({ bytes }, i) => assert.match(text(bytes), new RegExp(`^${i} by [01]$`)));
  },
  "what the caller does to its bytes after an append changes nothing stored (STR-07, STORE-5)": async (
    { store },
  ) => {
    const record = bytes("record");
    const part = bytes("part");
    const value = bytes("mail");
    const appended = store.append(
      "run",
      0,
      entryAt(null, { record, parts: [part], mailbox: { version: null, value } }),
    );
    const { position } = await appended;
    for (const array of [record, part, value]) array.fill(0);
    const tail = await store.tail("run");
    assert.equal(text(tail!.records[0]!.bytes), "record");
    assert.equal(text(tail!.mailbox!.value), "mail");
    const [stored] = await store.parts("run", position.epoch, [{ revision: 0, index: 0 }]);
    assert.equal(text(stored!), "part");
  },
  "what the caller does to bytes it was given changes nothing stored (STR-08, STORE-5)": async (
    { store },
  ) => {
    const at = await push(store, "run", null, { parts: [bytes("part")], mailbox: mail(null, "mail") });
    const read = async () => {
      const tail = await store.tail("run");
      const parts = await store.parts("run", at.epoch, [{ revision: 0, index: 0 }]);
      const range = await store.range("run", 0, 1);
      return [tail!.records[0]!.bytes, tail!.mailbox!.value, range[0]!.bytes, parts[0]!];
    };
    for (const array of await read()) array.fill(0);
    assert.deepEqual((await read()).map(text), ["record 0", "mail", "record 0", "part"]);
  },
  "an unknown run has no tail and no records, and its parts and mailbox are not found (STR-09, STORE-7)":
    async ({ store }) => {
      assert.equal(await store.tail("run"), undefined);
      assert.deepEqual(await store.range("run", 0, 10), []);
      const found = await store.inspect("run", 0, undefined);
      assert.deepEqual(found, { head: null, appendId: null, mailbox: null, writer: true });
      assert.deepEqual(await store.wait("run", "w"), { head: null, mailbox: null, open: null, closed: null });
      const fields = { runId: "run" };
      await rejects(store.parts("run", "none", [{ revision: 0, index: 0 }]), "CHECKPOINT_NOT_FOUND", fields);
      const mailbox = mail(null, "x");
      await rejects(post(store, "run", "none", mailbox), "CHECKPOINT_NOT_FOUND", fields);
      await store.purge("run");
    },
  "two runs do not touch one another (STR-11)": async ({ store }) => {
    const a = await push(store, "a", null, { record: bytes("a0"), parts: [bytes("pa")] });
    const b = await push(store, "a:b", null, { record: bytes("b0"), parts: [bytes("pb")] });
    await push(store, "a", a, { record: bytes("a1") });
    assert.deepEqual(await historyOf(store, "a"), ["a0", "a1"]);
    assert.deepEqual(await historyOf(store, "a:b"), ["b0"]);
    assert.notEqual(a.epoch, b.epoch);
    assert.deepEqual((await store.parts("a:b", b.epoch, [{ revision: 0, index: 0 }])).map(text), ["pb"]);
  },
  "700 records are read in order, whole or in pages, each at its own revision (STR-17, STR-18)": async (
    { store },
  ) => {
    await grow(store, "run", 700);
    const all = await historyOf(store, "run");
    assert.deepEqual(all, Array.from({ length: 700 }, (_, i) => `record ${i}`));
    const paged: string[] = [];
    for (let from = 0; from < 700; from += 64) {
      paged.push(...(await store.range("run", from, 64)).map(({ bytes }) => text(bytes)));
    }
    assert.deepEqual(paged, all);
    assert.deepEqual((await store.range("run", 699, 10)).map(({ revision }) => revision), [699]);
    assert.deepEqual(await store.range("run", 700, 10), []);
    assert.equal((await store.tail("run"))?.records.length, 700);
  },
  "an append repeated under its id succeeds again and changes nothing, also once the head has moved (STORE-2)":
    async ({ store }) => {
      const first = await push(store, "run", null);
      const entry = entryAt(first, { mailbox: mail(null, "mail") });
      const appended = await store.append("run", 1, entry);
      assert.deepEqual(await store.append("run", 1, entry), appended);
      const other = await post(store, "run", appended.position.epoch, mail(appended.mailbox!, "newer"));
      const next = await push(store, "run", appended.position);
      const late = await store.append("run", 1, entry);
      assert.equal(late.position.revision, 1);
      assert.equal(late.mailbox, appended.mailbox, "the version that the append wrote, not the newest one");
      await rejects(store.append("run", 2, entryAt(late.position)), "REVISION_CONFLICT", { expected: 3 });
      assert.deepEqual(await historyOf(store, "run"), ["record 0", "record 1", "record 2"]);
      const tail = await store.tail("run");
      assert.deepEqual(tail?.position, next);
      assert.equal(tail?.mailbox?.version, other.mailbox);
    },
  "the first append of a run repeated under its id succeeds again in the same epoch (STORE-2)": async (
    { store, second },
  ) => {
    const entry = entryAt(null);
    const appended = await store.append("run", 0, entry);
    assert.deepEqual(await (await second()).append("run", 0, entry), appended);
  },
  "an inspection finds the head, the append id at a revision, the mailbox and the writer (STORE-2)": async (
    { store },
  ) => {
    await store.owners.register("me");
    const ids = [freshId("append"), freshId("append")];
    const first = await push(store, "run", null, { appendId: ids[0]!, owner: "me", writer: "me" });
    const { position, mailbox } = await store.append(
      "run",
      1,
      entryAt(first, { appendId: ids[1]!, owner: "me", mailbox: mail(null, "mail") }),
    );
    const found = await store.inspect("run", 1, "me");
    assert.deepEqual(found.head, { position, owner: "me" });
    assert.equal(found.appendId, ids[1]);
    assert.equal(found.mailbox?.version, mailbox);
    assert.equal(text(found.mailbox!.value), "mail");
    assert.equal(found.writer, true);
    assert.equal((await store.inspect("run", 0, undefined)).appendId, ids[0]);
    assert.equal((await store.inspect("run", 2, "stranger")).appendId, null);
    assert.equal((await store.inspect("run", 2, "stranger")).writer, false);
  },
  "a reader beside a writer sees records without a gap, always up to the head that it was told (STORE-5)":
    async ({ store, second }) => {
      const reader = await second();
      let at = await push(store, "run", null);
      for (let i = 0; i < 40; i++) {
        const [next, tail] = await Promise.all([push(store, "run", at, { snapshot: i }), reader.tail("run")]);
        assert.equal(tail!.records.at(-1)?.revision, tail!.position.revision);
        tail!.records.forEach(({ revision, bytes }, k) => {
          assert.equal(revision, tail!.records[0]!.revision + k);
          assert.equal(text(bytes), `record ${revision}`);
        });
        at = next;
      }
    },
  "closed and opened again, everything is back and a duplicate append conflicts (STR-25)": async (
    { store, reopen },
  ) => {
    const durable = store.info.durable;
    const at = await grow(store, "a", 2);
    await push(store, "b", null, { record: bytes("b0") });
    const again = await reopen();
    assert.equal(again.info.durable, durable);
    assert.deepEqual((await again.tail("a"))?.position, at);
    assert.deepEqual(await historyOf(again, "a"), ["record 0", "record 1"]);
    assert.deepEqual(await historyOf(again, "b"), ["b0"]);
    await rejects(again.append("a", 1, entryAt({ ...at, revision: 0 })), "REVISION_CONFLICT", {
      expected: 2,
    });
    assert.equal((await push(again, "a", at)).revision, 2);
  },
  "what no key can hold is refused as a StoreError of append, and nothing is stored (STR-13, STORE-7)":
    async ({ store }) => {
      for (const runId of ["", "a\0b", "x".repeat(3000), "\ud800"]) {
        await rejects(store.append(runId, 0, entryAt(null)), "STORE", { op: "append" });
        await rejects(store.tail(runId), "STORE", { op: "tail" });
      }
      for (const bad of [{ owner: "" }, { appendId: "" }, { writer: "\0" }] as const) {
        await rejects(store.append("run", 0, entryAt(null, bad)), "STORE", { op: "append" });
      }
      for (const revision of [-1, 0.5, NaN]) {
        await rejects(store.append("run", revision, entryAt(null)), "STORE", { op: "append" });
      }
      assert.equal(await store.tail("run"), undefined);
      assert.equal((await push(store, "r".repeat(400), null)).revision, 0);
    },
  "a closed store refuses every call, and closing twice is nothing (STORE-7)": async ({ store }) => {
    await push(store, "run", null);
    await store.close();
    await store.close();
    await rejects(store.tail("run"), "STORE", { op: "tail" });
    await rejects(store.append("run", 0, entryAt(null)), "STORE", { op: "append" });
    await rejects(store.owners.list(), "STORE");
    await rejects(store.list({}), "STORE", { op: "list" });
  },
});
