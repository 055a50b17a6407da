import assert from "node:assert/strict";
import type { ClosedWait } from "../../store/store.ts";
import {
  bytes,
  entryAt,
  freshId,
  mail,
  post,
  push,
  rejects,
  type StoreCase,
  text,
  waitRow,
} from "./support.ts";
import { casesOf } from "../suite.ts";

/** The mailbox: one versioned value per run that decides what is decided once. */
export const mailboxCases: readonly StoreCase[] = casesOf({
  "an append and a post set the mailbox only while it has the version that they name (STORE-3, I2)": async (
    { store },
  ) => {
    const { position, mailbox } = await store.append("run", 0, entryAt(null, { mailbox: mail(null, "1") }));
    const second = await post(store, "run", position.epoch, mail(mailbox!, "2"));
    assert.notEqual(second.mailbox, mailbox);
    const stale = mail(mailbox!, "stale");
    const fields = { runId: "run" };
    await rejects(post(store, "run", position.epoch, stale), "MAILBOX_CONFLICT", fields);
    await rejects(store.append("run", 1, entryAt(position, { mailbox: stale })), "MAILBOX_CONFLICT", fields);
    const fresh = mail(null, "fresh");
    await rejects(post(store, "run", position.epoch, fresh), "MAILBOX_CONFLICT", fields);
    const tail = await store.tail("run");
    assert.equal(text(tail!.mailbox!.value), "2");
    assert.equal(tail!.mailbox!.version, second.mailbox);
    assert.deepEqual(tail!.position, position, "a post moves no head");
    assert.equal(tail!.records.length, 1);
  },
  "an append that leaves the mailbox alone demands nothing of it (STORE-3)": async ({ store }) => {
    const { position, mailbox } = await store.append("run", 0, entryAt(null, { mailbox: mail(null, "1") }));
    await post(store, "run", position.epoch, mail(mailbox!, "2"));
    const appended = await store.append("run", 1, entryAt(position));
    assert.equal(appended.mailbox, undefined);
    assert.equal(text((await store.tail("run"))!.mailbox!.value), "2");
  },
  "a post may make the first mailbox of a run, whose head moves beside it (STORE-3)": async ({ store }) => {
    const at = await push(store, "run", null);
    const [posted] = await Promise.all([
      post(store, "run", at.epoch, mail(null, "first")),
      push(store, "run", at),
    ]);
    const tail = await store.tail("run");
    assert.deepEqual(tail!.mailbox, { ...mail(posted.mailbox, "first"), entries: [] });
    assert.equal(tail!.position.revision, 1);
  },
  "of a post and an append at one version exactly one wins, 100 times (STORE-3, I2)": async (
    { store, second },
  ) => {
    const other = await second();
    let { position, mailbox } = await store.append("run", 0, entryAt(null, { mailbox: mail(null, "start") }));
    for (let round = 0; round < 100; round++) {
      const version = mailbox!;
      const [appended, posted] = await Promise.allSettled([
        store.append(
          "run",
          position.revision + 1,
          entryAt(position, { mailbox: { version, value: bytes("a") } }),
        ),
        post(other, "run", position.epoch, { version, value: bytes("p") }),
      ]);
      const wins = [appended, posted].filter(({ status }) => status === "fulfilled").length;
      assert.equal(wins, 1, `round ${round}: ${wins} calls won`);
      const tail = await store.tail("run");
      assert.equal(text(tail!.mailbox!.value), appended.status === "fulfilled" ? "a" : "p");
      for (const result of [appended, posted]) {
        if (result.status === "rejected") assert.equal(result.reason.code, "MAILBOX_CONFLICT");
      }
      position = tail!.position;
      mailbox = tail!.mailbox!.version;
    }
  },
  "a post repeated under its id succeeds again and changes nothing (STORE-2, STORE-3)": async ({ store }) => {
    const { epoch } = await push(store, "run", null);
    const entry = { postId: freshId("post"), epoch, mailbox: mail(null, "1") };
    const posted = await store.post("run", entry);
    assert.deepEqual(await store.post("run", entry), posted);
    assert.equal((await store.tail("run"))!.mailbox!.version, posted.mailbox);
  },
  "a post closes waits and changes the wake in one step with the mailbox, or does nothing at all (I1, I2)":
    async ({ store }) => {
      const wake = { runId: "run", graphId: "graph", graphVersion: "v1", due: 5000 };
      const { position, mailbox } = await store.append(
        "run",
        0,
        entryAt(null, {
          mailbox: mail(null, "1"),
          index: { opened: [waitRow("run", "w1"), waitRow("run", "w2")], wake: { to: wake } },
        }),
      );
      const closed: ClosedWait = {
        runId: "run",
        waitId: "w1",
        openedAt: 1000,
        reason: "answered",
        revision: 0,
      };
      const due = { ...wake, due: 1 };
      const change = { closed: [closed], wake: { from: wake, to: due } };
      const stale = mail("other", "x");
      await rejects(post(store, "run", position.epoch, stale, change), "MAILBOX_CONFLICT");
      assert.equal((await store.waits({})).rows.length, 2);
      assert.deepEqual(await store.wakes(10_000, 10), [wake]);
      await post(store, "run", position.epoch, mail(mailbox!, "2"), change);
      assert.deepEqual((await store.waits({})).rows.map(({ waitId }) => waitId), ["w2"]);
      assert.deepEqual(await store.wakes(10_000, 10), [due]);
      const found = await store.wait("run", "w1");
      assert.equal(found.open, null);
      assert.deepEqual(found.closed, closed);
      assert.equal(text(found.mailbox!.value), "2");
    },
});
