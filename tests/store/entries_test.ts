// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, entryAt, freshId, mail, noise, rejects } from "../../src/testing/store_suite/support.ts";
import { allEntries, keyKind, withFaults } from "../support/kv_faults.ts";

const KIB = 1024;

test("a post whose mailbox version is known reads nothing, and of entries that were taken nothing is left (S3, I2, STORE-11)", async () => {
  await withFaults(async ({ store, kv, faults }) => {
    const first = await store.append("run", 0, entryAt(null, { mailbox: mail(null, "1") }));
    const { epoch } = first.position;
    const reads: string[] = [];
    faults.read = (kind) => void reads.push(kind);
    const post = async (version: string, posted: readonly Uint8Array[]) => {
      const postId = freshId("post");
      return (await store.post("run", { postId, epoch, mailbox: { ...mail(version, "2"), posted } })).mailbox;
    };
    let version = await post(first.mailbox!, [bytes("a"), noise(70 * KIB, 1)]);
    assert.deepEqual(reads, []);
    version = await post(version, [noise(900 * KIB, 2)]);
    assert.equal(reads.length, 0, "not for one that is staged either");
    await rejects(post(first.mailbox!, [bytes("late")]), "MAILBOX_CONFLICT");
    assert.notEqual(reads.length, 0);

    const { entries } = (await store.tail("run"))!.mailbox!;
    assert.equal(entries.length, 3);
    const taken = entries.map(({ id }) => id);
    await store.append("run", 1, entryAt(first.position, { mailbox: { ...mail(version, "3"), taken } }));
    const left = (await allEntries(kv)).map(({ key }) => key).filter((key) =>
      ["b", "m"].includes(keyKind(key))
    );
    assert.deepEqual(left, [["ss1", "h", "run", "m"]]);
  });
});
