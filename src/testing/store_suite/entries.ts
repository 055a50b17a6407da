import assert from "node:assert/strict";
import type { Store } from "../../store/store.ts";
import {
  bytes,
  entryAt,
  freshId,
  mail,
  noise,
  post,
  push,
  rejects,
  sameBytes,
  type StoreCase,
  text,
} from "./support.ts";
import { casesOf } from "../suite.ts";

/** What stands beside the mailbox of a run, as text. */
async function entriesOf(store: Store, runId = "run"): Promise<string[]> {
  return (await store.tail(runId))!.mailbox!.entries.map(({ value }) => text(value));
}

const KIB = 1024;

/** Entries beside a mailbox: they cost what they bring, and are read with the version that they belong to. */
export const entryCases: readonly StoreCase[] = casesOf({
  "posts and appends add entries in order and take them away in one step with the mailbox (STORE-11, I2)":
    async (
      { store, second },
    ) => {
      const other = await second();
      const start = { ...mail(null, "1"), posted: [bytes("a")] };
      const { position, mailbox } = await store.append("run", 0, entryAt(null, { mailbox: start }));
      assert.deepEqual(await entriesOf(other), ["a"]);
      const more = await post(other, "run", position.epoch, {
        ...mail(mailbox!, "2"),
        posted: [bytes("b"), bytes(""), bytes("c")],
      });
      const found = (await store.inspect("run", 0, undefined)).mailbox!;
      assert.deepEqual([text(found.value), found.version], ["2", more.mailbox]);
      assert.deepEqual(found.entries.map(({ value }) => text(value)), ["a", "b", "", "c"]);
      assert.deepEqual((await store.wait("run", "w")).mailbox, { version: more.mailbox, value: bytes("2") });
      const [a, , empty] = found.entries;
      const taken = await store.append(
        "run",
        1,
        entryAt(position, {
          mailbox: { ...mail(more.mailbox, "3"), taken: [a!.id, empty!.id, a!.id], posted: [bytes("d")] },
        }),
      );
      assert.deepEqual(await entriesOf(store), ["b", "c", "d"]);
      const last = await post(store, "run", position.epoch, {
        ...mail(taken.mailbox!, "4"),
        taken: (await other.tail("run"))!.mailbox!.entries.map(({ id }) => id),
      });
      assert.deepEqual((await other.tail("run"))!.mailbox, { ...mail(last.mailbox, "4"), entries: [] });
    },
  "a post that is refused adds no entry and takes none, one repeated under its id adds none again (STORE-11, STORE-2)":
    async ({ store }) => {
      const start = { ...mail(null, "1"), posted: [bytes("a")] };
      const { position, mailbox } = await store.append("run", 0, entryAt(null, { mailbox: start }));
      const { id } = (await store.tail("run"))!.mailbox!.entries[0]!;
      const entry = {
        postId: freshId("post"),
        epoch: position.epoch,
        mailbox: { ...mail(mailbox!, "2"), posted: [bytes("b")] },
      };
      const posted = await store.post("run", entry);
      assert.deepEqual(await store.post("run", entry), posted);
      const late = { ...mail(mailbox!, "late"), posted: [bytes("late"), noise(200 * KIB, 1)], taken: [id] };
      await rejects(post(store, "run", position.epoch, late), "MAILBOX_CONFLICT");
      await rejects(store.append("run", 1, entryAt(position, { mailbox: late })), "MAILBOX_CONFLICT");
      assert.deepEqual(await entriesOf(store), ["a", "b"]);
      assert.equal((await store.tail("run"))!.mailbox!.version, posted.mailbox);
    },
  "whoever reads entries while others add and take them has those of the version read (STORE-11, STORE-5)":
    async (
      { store, second },
    ) => {
      const other = await second();
      let { position, mailbox } = await store.append("run", 0, entryAt(null, { mailbox: mail(null, "") }));
      let isOver = false;
      const read = async (from: Store) => {
        while (!isOver) {
          const found = (await from.tail("run"))!.mailbox!;
          assert.equal(found.entries.map(({ value }) => text(value)).join(), text(found.value));
          await new Promise((resolve) => setTimeout(resolve));
        }
      };
      const reading = Promise.all([read(store), read(other)]);
      try {
        for (let n = 1, there: string[] = []; n <= 40; n++) {
          const isTaking = n % 4 === 0;
          const { entries } = (await store.tail("run"))!.mailbox!;
          const taken = isTaking ? entries.slice(0, 3).map(({ id }) => id) : [];
          there = [...isTaking ? there.slice(3) : there, `${n}`];
          const write = { ...mail(mailbox!, there.join()), posted: [bytes(`${n}`)], taken };
          if (n % 3 === 0) {
            ({ position, mailbox } = await store.append(
              "run",
              position.revision + 1,
              entryAt(position, { mailbox: write }),
            ) as { position: typeof position; mailbox: string });
          } else mailbox = (await post(store, "run", position.epoch, write)).mailbox;
        }
      } finally {
        isOver = true;
      }
      await reading;
    },
  "a purge removes entries with their run (STORE-11, STORE-6)": async ({ store, second }) => {
    const posted = [bytes("a"), noise(200 * KIB, 1)];
    await push(store, "run", null, { mailbox: { ...mail(null, "1"), posted } });
    await push(store, "run2", null, { mailbox: { ...mail(null, "1"), posted: [bytes("b")] } });
    await store.purge("run");
    const fresh = await (await second()).append("run", 0, entryAt(null, { mailbox: mail(null, "2") }));
    assert.deepEqual((await store.tail("run"))!.mailbox, { ...mail(fresh.mailbox!, "2"), entries: [] });
    await post(store, "run", fresh.position.epoch, { ...mail(fresh.mailbox!, "3"), posted: [bytes("c")] });
    assert.deepEqual([await entriesOf(store), await entriesOf(store, "run2")], [["c"], ["b"]]);
  },
});

/** Entries of every size and number; apart from the others, since they take long where acknowledgements are late. */
export const entrySizeCases: readonly StoreCase[] = casesOf({
  "entries from nothing to 1 MB come back as they were, and go (S3, STORE-11)": async ({ store, second }) => {
    const sizes = [0, 10, 2_049, 65_000, 65_536, 70 * KIB, 1024 * KIB];
    const values = sizes.map(noise);
    const first = await store.append("run", 0, entryAt(null, { mailbox: mail(null, "1") }));
    let version = first.mailbox!;
    for (const some of [values.slice(0, 3), values.slice(3)]) {
      ({ mailbox: version } = await post(store, "run", first.position.epoch, {
        ...mail(version, "2"),
        posted: some,
      }));
    }
    const { entries } = (await (await second()).tail("run"))!.mailbox!;
    assert.equal(entries.length, sizes.length);
    entries.forEach(({ value }, i) =>
      assert.ok(sameBytes(value, values[i]!), `the entry of ${sizes[i]} bytes`)
    );
    const taken = entries.map(({ id }) => id);
    await push(store, "run", first.position, { mailbox: { ...mail(version, "3"), taken } });
    assert.deepEqual(await entriesOf(store), []);
  },
  "1200 entries are added at once, and taken at once (S3, STORE-11)": async ({ store, second }) => {
    const posted = Array.from({ length: 1200 }, (_, i) => bytes(`entry ${i}`));
    const first = await store.append("run", 0, entryAt(null, { mailbox: mail(null, "1") }));
    const { mailbox } = await post(store, "run", first.position.epoch, {
      ...mail(first.mailbox!, "2"),
      posted,
    });
    const { entries } = (await (await second()).tail("run"))!.mailbox!;
    assert.deepEqual(entries.map(({ value }) => text(value)), posted.map(text));
    const taken = entries.slice(1).map(({ id }) => id);
    await push(store, "run", first.position, { mailbox: { ...mail(mailbox, "3"), taken } });
    assert.deepEqual(await entriesOf(store), ["entry 0"]);
  },
});
