import assert from "node:assert/strict";
import type { Position } from "../../store/store.ts";
import { entryAt, mail, post, push, rejects, type StoreCase } from "./support.ts";
import { casesOf } from "../suite.ts";

/** Owners: who may append, and how the dead are told from the living. */
export const ownerCases: readonly StoreCase[] = casesOf({
  "an append needs the owner key of its writer, and without one nothing is written (STORE-4, O1)": async (
    { store },
  ) => {
    const fields = { runId: "run", owner: "me" };
    await rejects(
      store.append("run", 0, entryAt(null, { writer: "me", owner: "me" })),
      "OWNERSHIP_LOST",
      fields,
    );
    assert.equal(await store.tail("run"), undefined);
    await store.owners.register("me");
    const at = await push(store, "run", null, { writer: "me", owner: "me" });
    assert.equal((await store.tail("run"))?.owner, "me");
    await push(store, "run", at, { writer: "me", owner: null });
    assert.equal((await store.tail("run"))?.owner, null);
  },
  "burial is final: a buried owner can append nothing, beat no more and register no more (O1)": async (
    { store, second },
  ) => {
    const other = await second();
    await store.owners.register("me");
    let at = await push(store, "run", null, { writer: "me", owner: "me" });
    at = await push(store, "run", at, { writer: "me", owner: "me" });
    const [row] = await other.owners.list();
    assert.equal(await other.owners.bury("me", row!.beatVersion), true);
    await rejects(
      store.append("run", 2, entryAt(at, { writer: "me", owner: "me" })),
      "OWNERSHIP_LOST",
      { runId: "run", owner: "me" },
    );
    assert.equal(await store.owners.beat("me"), false);
    await rejects(store.owners.register("me"), "STORE", { op: "register" });
    assert.equal((await store.range("run", 0, 10)).length, 2);
    const [buried] = await store.owners.list();
    assert.deepEqual([buried!.ownerId, buried!.buried, buried!.beatVersion], ["me", true, row!.beatVersion]);
    assert.equal(await other.owners.bury("me", row!.beatVersion), true, "burying the buried changes nothing");
  },
  "an append that succeeded before the burial is still told as a success (O1, STORE-2)": async (
    { store },
  ) => {
    await store.owners.register("me");
    const entry = entryAt(null, { writer: "me", owner: "me" });
    const appended = await store.append("run", 0, entry);
    const [row] = await store.owners.list();
    await store.owners.bury("me", row!.beatVersion);
    assert.deepEqual(await store.append("run", 0, entry), appended);
  },
  "an owner that has beaten since it was seen cannot be buried (O1)": async ({ store }) => {
    await store.owners.register("me");
    const [seen] = await store.owners.list();
    assert.equal(await store.owners.beat("me"), true);
    assert.equal(await store.owners.bury("me", seen!.beatVersion), false);
    const [now] = await store.owners.list();
    assert.equal(now!.buried, false);
    assert.notEqual(now!.beatVersion, seen!.beatVersion);
    assert.equal(await store.owners.bury("nobody", now!.beatVersion), false);
    await push(store, "run", null, { writer: "me", owner: "me" });
  },
  "a claim from a living owner is RunBusyError, from a buried or unknown one it succeeds (STORE-4, O1)":
    async ({ store }) => {
      await store.owners.register("old");
      await store.owners.register("new");
      const at = await push(store, "run", null, { writer: "old", owner: "old" });
      const claim = { writer: "new", owner: "new", absent: "old" };
      await rejects(store.append("run", 1, entryAt(at, claim)), "RUN_BUSY", { runId: "run", owner: "old" });
      assert.equal((await store.tail("run"))?.owner, "old");
      const row = (await store.owners.list()).find(({ ownerId }) => ownerId === "old");
      await store.owners.bury("old", row!.beatVersion);
      const next = await push(store, "run", at, claim);
      assert.equal((await store.tail("run"))?.owner, "new");
      await push(store, "run", next, { writer: "new", owner: "new", absent: "never-was" });
    },
  "a replaced owner learns that it lost the run before it learns of the newer head (O1)": async (
    { store },
  ) => {
    await store.owners.register("old");
    const at = await push(store, "run", null, { writer: "old", owner: "old" });
    const [row] = await store.owners.list();
    await store.owners.bury("old", row!.beatVersion);
    await push(store, "run", at, { owner: null, absent: "old" });
    await rejects(store.append("run", 1, entryAt(at, { writer: "old", owner: "old" })), "OWNERSHIP_LOST");
  },
  "an owner id registers once, and every registered owner is listed with its beat (O1)": async (
    { store, second },
  ) => {
    await store.owners.register("a");
    await store.owners.register("b");
    await rejects((await second()).owners.register("a"), "STORE", { op: "register" });
    const rows = (await store.owners.list()).map(({ ownerId, buried }) => [ownerId, buried]);
    assert.deepEqual(rows.sort(), [["a", false], ["b", false]]);
    await rejects(store.owners.register(""), "STORE", { op: "register" });
  },
  "owned-by rows change with the record that changes the owner, and outlive a burial (O1)": async (
    { store },
  ) => {
    await store.owners.register("me");
    const own = { writer: "me", owner: "me", index: { owned: { to: "me" } } };
    const a = await push(store, "a", null, own);
    await push(store, "b", null, own);
    await push(store, "c", null, own);
    assert.deepEqual(await store.owners.ownedBy("me", 10), ["a", "b", "c"]);
    assert.deepEqual(await store.owners.ownedBy("me", 2), ["a", "b"]);
    assert.deepEqual(await store.owners.ownedBy("me", 2, { after: "b" }), ["c"]);
    assert.deepEqual(
      await store.owners.ownedBy("me", 2, { after: "aa" }),
      ["b", "c"],
      "a run that is not there",
    );
    assert.deepEqual(await store.owners.ownedBy("me", 2, { after: "c" }), []);
    await push(store, "a", a, { writer: "me", owner: null, index: { owned: { from: "me" } } });
    const [row] = await store.owners.list();
    await store.owners.bury("me", row!.beatVersion);
    assert.deepEqual(await store.owners.ownedBy("me", 10), ["b", "c"]);
    const tail = await store.tail("b");
    await push(store, "b", tail!.position, { owner: "you", index: { owned: { from: "me", to: "you" } } });
    assert.deepEqual(await store.owners.ownedBy("me", 10), ["c"]);
    assert.deepEqual(await store.owners.ownedBy("you", 10), ["b"]);
  },
  "a forgotten owner leaves no trace (O1)": async ({ store }) => {
    await store.owners.register("me");
    await store.owners.register("other");
    const at = await push(store, "run", null, { writer: "me", owner: "me", index: { owned: { to: "me" } } });
    const mailbox = mail(null, "x");
    await post(store, "run", at.epoch, mailbox, { poke: "me" });
    const row = (await store.owners.list()).find(({ ownerId }) => ownerId === "me");
    await store.owners.bury("me", row!.beatVersion);
    await store.owners.forget("me");
    assert.deepEqual((await store.owners.list()).map(({ ownerId }) => ownerId), ["other"]);
    assert.deepEqual(await store.owners.ownedBy("me", 10), []);
    assert.deepEqual(await store.owners.takePokes("me"), []);
    await rejects(store.append("run", 1, entryAt(at, { writer: "me", owner: "me" })), "OWNERSHIP_LOST");
  },
  "a poke reaches its owner once, from any handle (I2)": async ({ store, second }) => {
    const other = await second();
    await store.owners.register("me");
    await store.owners.register("you");
    for (const runId of ["b", "a"]) {
      const at = await push(store, runId, null, { writer: "me", owner: "me" });
      const mailbox = mail(null, "x");
      await post(other, runId, at.epoch, mailbox, { poke: "me" });
    }
    assert.deepEqual(await store.owners.takePokes("you"), []);
    assert.deepEqual(await store.owners.takePokes("me"), ["a", "b"]);
    assert.deepEqual(await store.owners.takePokes("me"), []);
  },
  "of two that bury one owner and claim its run, exactly one gets the run (O1)": async (
    { store, second },
  ) => {
    const other = await second();
    for (const id of ["dead", "x", "y"]) await store.owners.register(id);
    const at = await push(store, "run", null, { writer: "dead", owner: "dead" });
    const claim = async (handle: typeof store, id: string) => {
      const row = (await handle.owners.list()).find(({ ownerId }) => ownerId === "dead");
      assert.equal(await handle.owners.bury("dead", row!.beatVersion), true);
      return await push(handle, "run", at, { writer: id, owner: id, absent: "dead" });
    };
    const results = await Promise.allSettled([claim(store, "x"), claim(other, "y")]);
    const lost = results.filter((result) => result.status === "rejected");
    assert.equal(lost.length, 1);
    assert.equal(lost[0]!.reason.code, "REVISION_CONFLICT");
  },
  "an append that meets a burial is there before the burial is answered, or never (O1, STORE-4, DT8)": async (
    { store, second },
  ) => {
    const other = await second();
    for (let round = 0; round < BURIALS; round++) {
      const me = `me-${round}`;
      await store.owners.register(me);
      const row = (await other.owners.list()).find(({ ownerId }) => ownerId === me);
      const runs = ["a", "b", "c"].map((name) => `${name}-${round}`);
      const growing = runs.map(async (runId) => {
        for (let at: Position | null = null;;) at = await push(store, runId, at, { writer: me, owner: me });
      });
      const ended = Promise.allSettled(growing);
      assert.equal(await other.owners.bury(me, row!.beatVersion), true);
      const heads = () =>
        Promise.all(runs.map(async (runId) => (await other.tail(runId))?.position.revision));
      const then = await heads();
      for (const end of await ended) {
        assert.equal(end.status === "rejected" && end.reason.code, "OWNERSHIP_LOST");
      }
      assert.deepEqual(await heads(), then, "a run has grown after its owner was buried");
      await other.owners.forget(me);
    }
  },
});

/** Rounds of a race that a fence which only looks loses in one of five. */
const BURIALS = 20;
