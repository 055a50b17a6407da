// Runs on deno by default: what is read and refused is decided by code that is the same everywhere; the store suite has the drivers.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoreError } from "../../src/errors.ts";

import { type Evidence, judgeAppend, PASSED } from "../../src/store/doubt.ts";
import {
  bytes,
  catalogRow,
  entryAt,
  freshId,
  historyOf,
  noise,
  push,
  rejects,
  sameBytes,
  text,
  waitRow,
} from "../../src/testing/store_suite/support.ts";
import { allEntries, type CommitCall, loseAck, withFaults } from "../support/kv_faults.ts";

const BIG = 1_500_000;
const CELL = { space: "marks", name: "daily" };

test("whatever acknowledgement is lost, every write of the store succeeds once (S2, FC-31, STORE-2)", async () => {
  await withFaults(async ({ store, faults }) => {
    faults.commit = loseAck;
    await store.owners.register("me");
    const first = await store.append(
      "run",
      0,
      entryAt(null, {
        writer: "me",
        owner: "me",
        mailbox: { version: null, value: bytes("1") },
        index: { catalog: { to: catalogRow("run") }, opened: [waitRow("run", "w")], owned: { to: "me" } },
        cells: [{ ...CELL, version: null, value: bytes("1") }],
      }),
    );
    const next = await push(store, "run", first.position, {
      writer: "me",
      owner: "me",
      record: noise(BIG, 1),
    });
    const opened = Array.from({ length: 1200 }, (_, i) => waitRow("run", `w${i}`));
    const last = await push(store, "run", next, { writer: "me", owner: "me", index: { opened } });
    const posted = await store.post("run", {
      postId: freshId("post"),
      epoch: last.epoch,
      mailbox: { version: first.mailbox!, value: noise(BIG, 2) },
      poke: "me",
      cells: [{ ...CELL, version: first.cells!, value: bytes("2") }],
    });
    const written = await store.cells.write({
      writeId: "write",
      cells: [{ ...CELL, version: posted.cells!, value: bytes("3") }],
    });
    assert.deepEqual(await store.cells.read([CELL]), [{
      ...CELL,
      version: written.version,
      value: bytes("3"),
    }]);
    await store.cells.write({
      writeId: "remove",
      cells: [{ ...CELL, version: written.version, value: null }],
    });
    assert.equal(await store.owners.beat("me"), true);
    const tail = await store.tail("run");
    assert.deepEqual(tail!.position, last);
    assert.equal(tail!.records.length, 3);
    assert.equal(tail!.mailbox!.version, posted.mailbox);
    assert.ok(sameBytes(tail!.records[1]!.bytes, noise(BIG, 1)));
    assert.equal((await store.waits({ limit: 1000 })).rows.length, 1000);
    assert.deepEqual(await store.owners.takePokes("me"), ["run"]);
    const [row] = await store.owners.list();
    assert.equal(await store.owners.bury("me", row!.beatVersion), true);
  });
});

test("a commit that fails for good is a StoreError that wraps the driver's, not a conflict (S2, STR-20)", async () => {
  await withFaults(async ({ store, faults }) => {
    const at = await push(store, "run", null);
    let tries = 0;
    faults.commit = () => {
      tries++;
      return Promise.reject(new Error("disk I/O error\nStack backtrace: 0: <unknown>"));
    };
    const error = await rejects(store.append("run", 1, entryAt(at)), "STORE", { op: "append", runId: "run" });
    assert.match(String((error.cause as Error).message), /disk I\/O error/);
    assert.ok(tries > 1 && tries <= 32, `${tries} tries`);
    const fault = await rejects(store.owners.register("me"), "STORE", { op: "register" });
    assert.ok(fault.cause instanceof Error);
    delete faults.commit;
    assert.deepEqual((await store.tail("run"))?.position, at);
  });
});

test("a failure that wrote nothing is tried again under the same id, and the record is there once (S2, FC-31)", async () => {
  await withFaults(async ({ store, faults }) => {
    const at = await push(store, "run", null);
    faults.commit = (call) => call.n % 3 === 0 ? call.commit() : Promise.reject(new Error("timeout"));
    await push(store, "run", at);
    assert.deepEqual(await historyOf(store, "run"), ["record 0", "record 1"]);
  });
});

test("a no without a reason, because of an unrelated key, does not stop the run, but not for ever (FC-31)", async () => {
  await withFaults(async ({ store, faults }) => {
    await store.owners.register("me");
    let at = await push(store, "run", null, { writer: "me", owner: "me" });
    let refusals = 0;
    faults.commit = (call) => refusals++ < 3 ? Promise.resolve({ ok: false }) : call.commit();
    at = await push(store, "run", at, { writer: "me", owner: "me" });
    assert.equal(refusals, 4);
    let tries = 0;
    faults.commit = () => {
      tries++;
      return Promise.resolve({ ok: false });
    };
    await rejects(store.append("run", 2, entryAt(at, { writer: "me", owner: "me" })), "STORE", {
      op: "append",
    });
    assert.ok(tries > 1 && tries <= 32, `${tries} tries`);
    delete faults.commit;
    assert.equal((await push(store, "run", at, { writer: "me", owner: "me" })).revision, 2);
  });
});

test("5, 11, 50 and 150 vertices use at most 10 checks, and a conflict is told from lost ownership (FC-31, S3)", async () => {
  await withFaults(async ({ store, faults }) => {
    let most = 0;
    faults.commit = (call) => {
      most = Math.max(most, call.checks.length);
      return call.commit();
    };
    for (const vertices of [5, 11, 50, 150]) {
      const [run, me] = [`run${vertices}`, `me${vertices}`];
      await store.owners.register(me);
      const own = { writer: me, owner: me };
      const start = await store.append(
        run,
        0,
        entryAt(null, {
          ...own,
          mailbox: { version: null, value: bytes("1") },
          index: { owned: { to: me } },
        }),
      );
      const step = () =>
        entryAt(start.position, {
          ...own,
          absent: "long-dead",
          parts: Array.from({ length: vertices }, (_, i) => noise(6000, i)),
          mailbox: { version: start.mailbox!, value: bytes("2") },
          index: {
            catalog: { to: catalogRow(run) },
            opened: Array.from({ length: vertices }, (_, i) => waitRow(run, `w${i}`)),
          },
        });
      const results = await Promise.allSettled([store.append(run, 1, step()), store.append(run, 1, step())]);
      const lost = results.flatMap((result) => result.status === "rejected" ? [result.reason.code] : []);
      assert.deepEqual(lost, ["REVISION_CONFLICT"], `${vertices} vertices`);
      assert.equal((await store.waits({ runId: run, limit: 1000 })).rows.length, vertices);
      const { position } = (await store.tail(run))!;
      const refs = Array.from({ length: vertices }, (_, index) => ({ revision: 1, index }));
      const parts = await store.parts(run, position.epoch, refs);
      parts.forEach((part, i) => assert.ok(sameBytes(part, noise(6000, i))));
      const row = (await store.owners.list()).find(({ ownerId }) => ownerId === me);
      await store.owners.bury(me, row!.beatVersion);
      await rejects(store.append(run, 2, entryAt(position, own)), "OWNERSHIP_LOST");
    }
    assert.ok(most > 0 && most <= 10, `${most} checks`);
  });
});

test("a locked file is waited for, in reads and in writes, and the caller sees nothing of it (S4)", async () => {
  await withFaults(async ({ store, faults }) => {
    let calls = 0;
    let locked = 0;
    const chance = noise(10_000, 1);
    const lock = () => {
      if (chance[calls++]! < 150) {
        locked++;
        throw new Error("database is locked");
      }
    };
    faults.read = lock;
    faults.commit = async (call) => {
      lock();
      return await call.commit();
    };
    await store.owners.register("me");
    let at = null;
    for (let i = 0; i < 5; i++) at = await push(store, "run", at, { writer: "me", owner: "me" });
    assert.equal((await store.tail("run"))?.records.length, 5);
    assert.ok(locked > 5, `locked ${locked} times`);
  });
});

test("a file that stays locked past the deadline is a StoreError that says so (S4)", async () => {
  await withFaults(async ({ store, faults }) => {
    const at = await push(store, "run", null);
    let tries = 0;
    faults.commit = () => {
      tries++;
      return Promise.reject(new Error("database is locked"));
    };
    const error = await rejects(store.append("run", 1, entryAt(at)), "STORE", { op: "append" });
    assert.match(error.message, /kept the file busy for 60 ms/);
    assert.ok(tries > 1);
    faults.read = () => {
      throw new Error("database is locked");
    };
    await rejects(store.tail("run"), "STORE", { op: "tail" });
  }, { lockDeadline: 60 });
});

test("an abort ends the wait for a locked file (STORE-8)", async () => {
  await withFaults(async ({ store, faults }) => {
    const at = await push(store, "run", null);
    const abort = new AbortController();
    faults.commit = (call) => {
      if (call.n > 4) abort.abort(new Error("enough"));
      return Promise.reject(new Error("database is locked"));
    };
    const call = store.append("run", 1, entryAt(at), { signal: abort.signal });
    const error = await rejects(call, "STORE", { op: "append" });
    assert.equal((error.cause as Error).message, "enough");
  }, { lockDeadline: 3_600_000 });
});

test("a step is one commit of two checks and two writes, and the tail of a run is two reads (S3)", async () => {
  await withFaults(async ({ store, faults }) => {
    await store.owners.register("me");
    let at = await push(store, "run", null, { writer: "me", owner: "me" });
    const ops: CommitCall[] = [];
    let reads = 0;
    faults.commit = (call) => {
      ops.push(call);
      return call.commit();
    };
    faults.read = () => void reads++;
    at = await push(store, "run", at, { writer: "me", owner: "me" });
    assert.deepEqual(ops.map(({ checks, sets, deletes }) => [checks.length, sets.length, deletes.length]), [[
      2,
      2,
      0,
    ]]);
    assert.equal(reads, 0);
    for (let i = 0; i < 300; i++) {
      at = await push(store, "run", at, { writer: "me", owner: "me", snapshot: 46 });
    }
    assert.equal(reads, 0);
    assert.equal((await store.tail("run"))?.records.length, 256);
    assert.equal(reads, 2);
  });
});

test("what a long mailbox leaves behind is deleted with the write that replaces it (S3)", async () => {
  await withFaults(async ({ store, kv }) => {
    let { mailbox, position } = await store.append(
      "run",
      0,
      entryAt(null, { mailbox: { version: null, value: noise(BIG, 0) } }),
    );
    const chunks = async () => (await allEntries(kv)).filter(({ key }) => key[1] === "b").length;
    const long = await chunks();
    assert.ok(long > 20);
    ({ mailbox } = await store.post("run", {
      postId: freshId("p"),
      epoch: position.epoch,
      mailbox: { version: mailbox!, value: noise(BIG, 1) },
    }));
    assert.equal(await chunks(), long);
    ({ mailbox, position } = await store.append(
      "run",
      1,
      entryAt(position, { mailbox: { version: mailbox, value: bytes("x") } }),
    ));
    assert.equal(await chunks(), 0);
    assert.equal(text((await store.tail("run"))!.mailbox!.value), "x");
  });
});

test("an append is judged by its own id first, then owner, head, previous owner and mailbox (S2)", () => {
  const at = { revision: 4, epoch: "e", token: "t" };
  const claim = {
    runId: "run",
    revision: 5,
    appendId: "mine",
    at,
    writer: "me",
    absent: "old",
    mailbox: "m1",
  };
  const found: Evidence = {
    head: { position: at },
    appendId: null,
    mailbox: { version: "m1" },
    writer: true,
  };
  const code = (evidence: Partial<Evidence>, absentPresent = false, changedCell?: typeof CELL) => {
    const verdict = judgeAppend(claim, { ...found, ...evidence }, absentPresent, changedCell);
    return verdict.kind === "refused" ? (verdict.error as StoreError).code : verdict.kind;
  };
  const own = { head: { position: { ...at, revision: 5, token: "u" } }, appendId: "mine" };
  assert.equal(code({}), "open");
  assert.equal(code({ ...own, writer: false }, true, CELL), "done");
  assert.equal(code({ writer: false, head: null }, true), "OWNERSHIP_LOST");
  assert.equal(code({ head: null }, true), "REVISION_CONFLICT");
  assert.equal(code({ head: { position: { ...at, epoch: "f" } } }), "REVISION_CONFLICT");
  assert.equal(code({ head: { position: { ...at, token: "u" } } }), "REVISION_CONFLICT");
  assert.equal(code({ ...own, appendId: "theirs" }), "REVISION_CONFLICT");
  const elsewhere = { head: { position: { revision: 5, epoch: "f", token: "u" } }, appendId: "mine" };
  assert.equal(code(elsewhere), "REVISION_CONFLICT");
  assert.equal(code({ mailbox: { version: "m2" } }, true), "RUN_BUSY");
  assert.equal(code({ mailbox: { version: "m2" } }, false, CELL), "MAILBOX_CONFLICT");
  assert.equal(code({}, false, CELL), "CELL_CONFLICT");
  const passed = judgeAppend(claim, {
    ...found,
    head: { position: { ...at, revision: 9 } },
    appendId: "mine",
  }, false);
  assert.deepEqual(passed, { kind: "done", position: { revision: 5, epoch: "e", token: PASSED } });
});
