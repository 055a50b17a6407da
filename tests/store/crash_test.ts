// Runs on deno by default: the stops find faults of the engine, which no runtime decides.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Position } from "../../src/store/store.ts";
import {
  bytes,
  catalogRow,
  entryAt,
  freshId,
  noise,
  push,
  rejects,
  sameBytes,
  text,
  waitRow,
} from "../../src/testing/store_suite/support.ts";
import { allEntries } from "../support/kv_faults.ts";
import { atEveryCommit, inLab, keysUnder, stopped } from "./crash_lab.ts";

const LARGE = 1_700_000;

test("a record above one operation, stopped between any two commits, is there whole or not at all (STORE-5, S3)", async () => {
  await inLab(async ({ dying, open, raw }) => {
    const reader = await open();
    const entry = (at: Position | null) =>
      entryAt(at, {
        record: noise(LARGE, 1),
        parts: [noise(10, 2), noise(LARGE, 3)],
        mailbox: { version: null, value: noise(100_000, 4) },
      });
    let outcomes = "";
    const commits = await atEveryCommit(async (n, phase) => {
      const runId = `run-${n}-${phase}`;
      const at = await push(reader, runId, null, { record: bytes("old") });
      const store = await dying(n, phase);
      const crashed = await stopped(store.append(runId, 1, entry(at)));
      const tail = await reader.tail(runId);
      if (tail!.position.revision === 0) {
        outcomes += "o";
        assert.deepEqual(tail!.records.map(({ bytes }) => text(bytes)), ["old"]);
        assert.equal(tail!.mailbox, null);
        await rejects(reader.parts(runId, at.epoch, [{ revision: 1, index: 0 }]), "STORE", { op: "parts" });
        await reader.append(runId, 1, entry(at));
      } else {
        outcomes += "n";
      }
      const now = (await reader.tail(runId))!;
      assert.equal(now.records.length, 2);
      assert.ok(sameBytes(now.records[1]!.bytes, noise(LARGE, 1)));
      assert.ok(sameBytes(now.mailbox!.value, noise(100_000, 4)));
      const parts = await reader.parts(runId, at.epoch, [{ revision: 1, index: 1 }, {
        revision: 1,
        index: 0,
      }]);
      assert.ok(sameBytes(parts[0], noise(LARGE, 3)) && sameBytes(parts[1], noise(10, 2)));
      await reader.sweep({ olderThan: -1000 });
      await reader.purge(runId);
      assert.deepEqual(
        await keysUnder(raw, "b", "s", "d", "r", "p", "h", "m"),
        [],
        `left behind at ${n} ${phase}`,
      );
      return crashed;
    });
    assert.ok(commits >= 6, `${commits} commits`);
    assert.match(outcomes, /^o+nn?n$/);
  });
});

test("the sweeper leaves young staging alone, removes old staging, and survives its own end (S3)", async () => {
  await inLab(async ({ dying, open, raw }) => {
    const other = await open();
    const at = await push(other, "run", null);
    const writer = await dying(3, "before");
    assert.ok(await stopped(writer.append("run", 1, entryAt(at, { record: noise(LARGE, 1) }))));
    assert.equal(await other.sweep(), 0);
    assert.ok((await keysUnder(raw, "b")).length > 10);
    assert.ok(await stopped((await dying(1, "after")).sweep({ olderThan: -1000 })));
    assert.deepEqual(await keysUnder(raw, "s"), [], "the manifest goes first");
    assert.ok((await keysUnder(raw, "b")).length > 10);
    await other.sweep({ olderThan: -1000 });
    assert.deepEqual(await keysUnder(raw, "b", "s", "d"), []);
  });
});

test("a slow writer whose staging was swept stages again and finishes, whenever the sweeper comes (S3)", async () => {
  await inLab(async ({ open, raw }) => {
    const sweeper = await open();
    let swept = 0;
    const commits = await atEveryCommit(async (n, phase) => {
      const runId = `run-${n}-${phase}`;
      const at = await push(sweeper, runId, null);
      let last = 0;
      const writer = await open(async (event) => {
        last = event.n;
        if (event.n === n && event.phase === phase) swept += await sweeper.sweep({ olderThan: -1000 });
      });
      await writer.append(runId, 1, entryAt(at, { record: noise(LARGE, n) }));
      const [record] = await sweeper.range(runId, 1, 1);
      assert.ok(sameBytes(record!.bytes, noise(LARGE, n)), `swept at ${n} ${phase}`);
      await sweeper.purge(runId);
      assert.deepEqual(await keysUnder(raw, "b", "s", "d"), []);
      return n <= last;
    });
    assert.ok(commits >= 4 && swept >= 4, `${commits} commits, ${swept} swept`);
  });
});

test("rows that do not fit beside their record are there for every reader as soon as the record is (S1, S3)", async () => {
  await inLab(async ({ dying, open }) => {
    const reader = await open();
    const opened = (runId: string) =>
      Array.from({ length: 700 }, (_, i) => waitRow(runId, `w${i}`, { body: noise(90, i) }));
    let seen = 0;
    const commits = await atEveryCommit(async (n, phase) => {
      const runId = `run-${n}-${phase}`;
      const at = await push(reader, runId, null);
      const store = await dying(n, phase);
      const crashed = await stopped(
        store.append(runId, 1, entryAt(at, { index: { opened: opened(runId) } })),
      );
      // Three ways to meet the rows, a different one each time: the inbox, one wait, the run.
      if (n % 3 === 1) await reader.wait(runId, "w699");
      if (n % 3 === 2) await reader.tail(runId);
      const there = (await reader.waits({ runId, limit: 1000 })).rows.length;
      const revision = (await reader.tail(runId))!.position.revision;
      assert.equal(there, revision === 0 ? 0 : 700, `stopped at ${n} ${phase}`);
      if (revision === 1) {
        seen++;
        assert.ok(sameBytes((await reader.wait(runId, "w699")).open?.body, noise(90, 699)));
      }
      await reader.purge(runId);
      assert.deepEqual((await reader.waits({})).rows, []);
      await reader.sweep({ olderThan: -1000 });
      return crashed;
    });
    assert.ok(commits >= 5 && seen >= 4, `${commits} commits, seen ${seen} times`);
  });
});

test("a purge stopped between any two commits is finished by the next purge or the next beginning (STORE-6, H4)", async () => {
  await inLab(async ({ dying, open, raw }) => {
    const other = await open();
    const begin = async (runId: string) => {
      const first = await push(other, runId, null, {
        owner: "me",
        record: noise(200_000, 1),
        parts: [bytes("p")],
        index: {
          catalog: { to: catalogRow(runId, { tags: ["t"] }) },
          opened: Array.from({ length: 250 }, (_, i) => waitRow(runId, `w${i}`)),
          wake: { to: { runId, graphId: "g", graphVersion: "v", due: 1 } },
          owned: { to: "me" },
        },
      });
      await other.post(runId, {
        postId: freshId("p"),
        epoch: first.epoch,
        mailbox: { version: null, value: noise(100_000, 2) },
      });
      const catalog = {
        from: catalogRow(runId, { tags: ["t"] }),
        to: catalogRow(runId, { status: "interrupted", reason: "awaiting", tags: ["u"] }),
      };
      return await push(other, runId, first, { owner: "me", index: { catalog } });
    };
    const commits = await atEveryCommit(async (n, phase) => {
      const again = `again-${n}-${phase}`;
      const anew = `anew-${n}-${phase}`;
      await begin(again);
      await stopped((await dying(n, phase)).purge(again));
      await other.purge(again);
      assert.deepEqual((await allEntries(raw)).map(({ key }) => key.join("/")), []);

      const old = await begin(anew);
      const crashed = await stopped((await dying(n, phase)).purge(anew));
      if (await other.tail(anew) === undefined) {
        const at = await push(other, anew, null, { record: bytes("anew") });
        assert.notEqual(at.epoch, old.epoch);
        assert.deepEqual((await other.waits({})).rows, []);
        assert.equal((await other.wait(anew, "w3")).open, null);
        assert.equal(await keysUnder(raw, "r").then((keys) => keys.length), 1);
        await rejects(other.append(anew, 2, entryAt(old)), "REVISION_CONFLICT");
      }
      await other.purge(anew);
      assert.deepEqual((await allEntries(raw)).map(({ key }) => key.join("/")), []);
      return crashed;
    });
    assert.ok(commits >= 5, `${commits} commits`);
  });
});

test("two purges of one run at once, and a beginning between them, lose nothing of the new run (STORE-6)", async () => {
  await inLab(async ({ open, raw }) => {
    const other = await open();
    const opened = Array.from({ length: 250 }, (_, i) => waitRow("run", `w${i}`));
    await push(other, "run", null, { index: { opened } });
    const slow = await open(async ({ n, phase }) => {
      if (n !== 2 || phase !== "before") return;
      await other.purge("run");
      await push(other, "run", null, { record: bytes("anew"), index: { opened } });
    });
    await slow.purge("run");
    assert.equal((await other.waits({ limit: 1000 })).rows.length, 250);
    assert.equal(text((await other.tail("run"))!.records[0]!.bytes), "anew");
    assert.deepEqual(await keysUnder(raw, "g"), []);
  });
});

test("a post that makes the first mailbox never reaches a later run of the same id (STORE-3, STORE-6)", async () => {
  await inLab(async ({ open }) => {
    const other = await open();
    const { epoch } = await push(other, "run", null);
    const slow = await open(async ({ n, phase }) => {
      if (n !== 1 || phase !== "before") return;
      await other.purge("run");
      await push(other, "run", null);
    });
    const mailbox = { version: null, value: bytes("for the old run") };
    await rejects(slow.post("run", { postId: freshId("p"), epoch, mailbox }), "CHECKPOINT_NOT_FOUND", {
      runId: "run",
    });
    assert.equal((await other.tail("run"))!.mailbox, null);
  });
});

test("an owner that beats while it is being buried lives (O1)", async () => {
  await inLab(async ({ open }) => {
    const owner = await open();
    await owner.owners.register("me");
    const [seen] = await owner.owners.list();
    const digger = await open(async ({ phase }) => {
      if (phase === "before") await owner.owners.beat("me");
    });
    assert.equal(await digger.owners.bury("me", seen!.beatVersion), false);
    await push(owner, "run", null, { writer: "me", owner: "me" });
  });
});
