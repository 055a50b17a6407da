// Runs on deno by default: what is read and refused is decided by code that is the same everywhere; the store suite has the drivers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../src/errors.ts";
import { host } from "../../src/runtime/host.ts";
import { type Key, openDriver, openFault } from "../../src/store/deno_kv/driver.ts";
import type { Position } from "../../src/store/store.ts";
import { denoKv, type DenoKvStore, type KvDriver } from "../../src/store/deno_kv/mod.ts";
import {
  bytes,
  catalogRow,
  entryAt,
  freshId,
  noise,
  push,
  rejects,
  waitRow,
} from "../../src/testing/store_suite/support.ts";
import { allEntries, keyKind } from "../support/kv_faults.ts";
import { withFaults } from "../support/kv_faults.ts";
import { temporaryFolder } from "../support/stores.ts";

/** A run of each kind of row, on a file that is then tampered with. */
async function withRun(
  work: (store: DenoKvStore, raw: KvDriver, epoch: string) => Promise<void>,
): Promise<void> {
  const folder = await temporaryFolder();
  const { kv: raw } = await openDriver(`${folder.path}/store.db`);
  const store = await denoKv(`${folder.path}/store.db`);
  try {
    await store.owners.register("me");
    const at = await push(store, "run", null, {
      parts: [bytes("part")],
      mailbox: { version: null, value: bytes("mail"), posted: [bytes("entry")] },
      index: {
        catalog: { to: catalogRow("run") },
        opened: [waitRow("run", "w")],
        wake: { to: { runId: "run", graphId: "g", graphVersion: "v", due: 1 } },
      },
    });
    await push(store, "run", at, { record: noise(200_000, 1) });
    await work(store, raw, at.epoch);
  } finally {
    await store.close();
    raw.close();
    await folder.remove();
  }
}

/** Values that no version of the adapter wrote, or a newer one did. */
const values: Readonly<Record<string, Uint8Array>> = {
  "empty": new Uint8Array(0),
  "too short": new Uint8Array([1, 2]),
  "of a newer format": new Uint8Array([2, 2, 0, 91, 93]),
  "cut off": new Uint8Array([1, 200, 0, 91, 93]),
  "not JSON": new Uint8Array([1, 2, 0, 91, 91]),
  "not UTF-8": new Uint8Array([1, 4, 0, 91, 34, 255, 93]),
  "not an array": new Uint8Array([1, 2, 0, 123, 125]),
  "an empty array": new Uint8Array([1, 2, 0, 91, 93]),
  "deeply nested": new Uint8Array([1, 0x60, 0xea, ...new Uint8Array(60_000).fill(91)]),
  "of the wrong types": bytes("\x01\x13\x00[true,1,{},null,[]]"),
  "random": noise(100, 7),
};

interface Place {
  readonly prefix: string;
  /** The last key of that prefix, not the first. */
  readonly isLast?: true;
  readonly op: string;
  read(store: DenoKvStore, epoch: string): Promise<unknown>;
}

const places: Readonly<Record<string, Place>> = {
  head: { prefix: "h", op: "tail", read: (store) => store.tail("run") },
  record: { prefix: "r", op: "range", read: (store) => store.range("run", 0, 10) },
  chunk: { prefix: "b", op: "range", read: (store) => store.range("run", 0, 10) },
  entry: { prefix: "m", isLast: true, op: "tail", read: (store) => store.tail("run") },
  mailbox: { prefix: "m", op: "tail", read: (store) => store.tail("run") },
  part: {
    prefix: "p",
    op: "parts",
    read: (store, epoch) => store.parts("run", epoch, [{ revision: 0, index: 0 }]),
  },
  wait: { prefix: "w", op: "wait", read: (store) => store.wait("run", "w") },
  inbox: { prefix: "w", op: "waits", read: (store) => store.waits({}) },
  catalog: { prefix: "c", op: "list", read: (store) => store.list({}) },
  wake: { prefix: "wakes", op: "wakes", read: (store) => store.wakes(10, 10) },
  beat: { prefix: "beat", op: "owners", read: (store) => store.owners.list() },
  rest: { prefix: "t", op: "tail", read: (store) => store.tail("run") },
};

for (const [place, { prefix, isLast, op, read }] of Object.entries(places)) {
  test(`a ${place} that was tampered with is a StoreError of ${op}, whatever is there (STR-14, STR-16, STR-21, STR-22)`, async () => {
    await withRun(async (store, raw, epoch) => {
      const found = (await allEntries(raw)).filter(({ key }) => keyKind(key) === prefix);
      const entry = found.at(isLast ? -1 : 0);
      const key = (entry?.key ?? ["ss1", "t", "run"]) as Key;
      assert.ok(entry !== undefined || place === "rest", `the file has a ${place}`);
      for (const [what, value] of Object.entries(values)) {
        await raw.atomic().set(key, value).commit();
        const error = await rejects(read(store, epoch), "STORE", { op });
        assert.match(error.message, /is not what this version wrote|chunks of a payload/, what);
      }
    });
  });
}

test("a record is read as it was written, whatever its length, and one of which a slice is missing is a StoreError (STR-14, S3)", async () => {
  const folder = await temporaryFolder();
  const path = `${folder.path}/store.db`;
  const { kv: raw } = await openDriver(path);
  const store = await denoKv(path);
  try {
    const records = [0, 1, 859, 860, 861, 1_720, 1_721, 2_580, 2_581, 5_000].map((size) => noise(size, size));
    let at: Position | null = null;
    for (const record of records) at = await push(store, "run", at, { record });
    for (const [from, limit] of [[0, 100], [0, 1], [4, 1], [4, 3], [7, 2], [9, 5]] as const) {
      const found = (await store.range("run", from, limit)).map(({ bytes }) => [...bytes]);
      assert.deepEqual(found, records.slice(from, from + limit).map((record) => [...record]));
    }
    const keys = (await allEntries(raw)).map(({ key }) => key as Key).filter((key) => keyKind(key) === "r");
    assert.equal(keys.length, records.length + 1 + 1 + 2 + 2);
    await raw.atomic().delete(keys.findLast((key) => key.at(-2) === 7)!).commit();
    await rejects(store.range("run", 6, 4), "STORE", { op: "range", runId: "run" });
    assert.equal((await store.range("run", 8, 4)).length, 2);
    await store.purge("run");
    assert.deepEqual((await allEntries(raw)).filter(({ key }) => keyKind(key) === "r"), []);
  } finally {
    await store.close();
    raw.close();
    await folder.remove();
  }
});

test("a record or a chunk that is missing is a StoreError, not a shorter history (STR-14, STR-21)", async () => {
  for (const [prefix, op] of [["r", "range"], ["b", "range"]] as const) {
    await withRun(async (store, raw) => {
      const found = (await allEntries(raw)).find(({ key }) => keyKind(key) === prefix);
      await raw.atomic().delete(found!.key as Key).commit();
      await rejects(store.range("run", 0, 10), "STORE", { op, runId: "run" });
      await rejects(store.tail("run"), "STORE", { op: "tail", runId: "run" });
    });
  }
});

test("a file that cannot be opened yields no store but a StoreError of open (STR-26, STORE-7)", async () => {
  const folder = await temporaryFolder();
  try {
    const error = await rejects(denoKv(`${folder.path}/no/such/folder/store.db`), "STORE", { op: "open" });
    assert.match(error.message, /cannot be opened: the folder of the file does not exist/);
    assert.ok(error.cause !== undefined);
  } finally {
    await folder.remove();
  }
});

test("a system without a native build of @deno/kv is told what else there is (S3)", () => {
  const causes = [
    new Error("No default napi interface, provide one via the 'napi' option.", {
      cause: new Error("Cannot find module"),
    }),
    new Error("Unsupported architecture on Linux: ppc64"),
    new Error("Failed to load native binding"),
  ];
  for (const cause of causes) {
    const error = openFault("x.db", cause);
    assert.ok(error instanceof StoreError);
    assert.match(error.message, /no native build.*run on Deno.*memoryStore/);
    assert.equal(error.cause, cause);
  }
});

test("a locked file and one of another kind are told apart, without the driver's words (S3)", () => {
  const locked = openFault("x.db", new Error("database is locked\n\nCaused by:\n Error code 5"));
  assert.match(locked.message, /"x\.db" cannot be opened: it is locked by another program; close/);
  const foreign = openFault("x.db", new Error("file is not a database\n\nStack backtrace:\n 0: <unknown>"));
  assert.match(foreign.message, /"x\.db" cannot be opened: it is no Deno KV file/);
  for (const { message } of [locked, foreign]) assert.doesNotMatch(message, /Error code|backtrace/);
});

test("a driver's reasons are told in words, with what to do, when a file is opened and in a call (FT-F7)", async () => {
  const said: Readonly<Record<string, RegExp>> = {
    "database or disk is full: Error code 13: Insertion failed": /the disk is full; make room/,
    "ENOSPC: no space left on device, write": /the disk is full; make room/,
    "attempt to write a readonly database: Error code 8": /read-only; let this process write/,
    "Permission denied (os error 13)": /may not read and write/,
    "disk I/O error: Error code 10": /the disk fails, or is gone/,
    "database disk image is malformed": /a damaged one; give another path, or restore it/,
    "something new": /see the cause/,
  };
  for (const [words, reason] of Object.entries(said)) {
    const cause = new Error(words);
    const { message } = openFault("x.db", cause);
    assert.match(message, reason);
    assert.ok(!message.includes(words));
  }
  await withFaults(async ({ store, faults }) => {
    faults.commit = () => Promise.reject(new Error("database or disk is full"));
    const error = await rejects(store.owners.register("me"), "STORE");
    assert.match(error.message, /the driver failed 16 times: the disk is full; make room on it/);
    delete faults.commit;
    faults.read = () => {
      throw new Error("disk I/O error");
    };
    assert.match(
      (await rejects(store.tail("run"), "STORE")).message,
      /could not read: the disk fails, or is gone/,
    );
  });
});

test("fewer checks than an append needs are refused when the store is opened (S3)", async () => {
  for (const maxChecks of [0, 9, NaN]) await rejects(denoKv("x.db", { maxChecks }), "STORE", { op: "open" });
});

test("nothing that an append needs is above the driver's limits, for it was measured before (S3)", async () => {
  await withRun(async (store, raw) => {
    const at = (await store.tail("run"))!.position;
    const long = "n".repeat(500);
    const opened = Array.from(
      { length: 400 },
      (_, i) =>
        waitRow("run", `${i}-${long}`, { name: long, graphId: long, vertexId: long, body: noise(60_000, i) }),
    );
    const tags = Array.from({ length: 64 }, (_, i) => `${i}-${long}`);
    await store.append(
      "run",
      at.revision + 1,
      entryAt(at, {
        appendId: freshId("a"),
        parts: [noise(65_000, 1), noise(65_536, 2), noise(900, 3)],
        index: {
          opened,
          catalog: { from: catalogRow("run"), to: catalogRow("run", { tags, graphId: long }) },
        },
      }),
    );
    assert.equal((await store.waits({ limit: 1000, name: long })).rows.length, 400);
    assert.equal((await store.list({ tag: tags[63]! })).rows.length, 1);
    const keys = Array.from({ length: 300 }, (_, i) => waitRow("keys", `${i}-${"k".repeat(200)}`));
    await push(store, "keys", null, { index: { opened: keys } });
    assert.equal((await store.waits({ runId: "keys", limit: 1000 })).rows.length, 300);
    const largest = Math.max(...(await allEntries(raw)).map(({ value }) => (value as Uint8Array).length));
    assert.ok(largest <= 65_536);
  });
});

test("the file is opened with what the host has (S3)", async () => {
  const folder = await temporaryFolder();
  try {
    const { kv, maxChecks } = await openDriver(`${folder.path}/store.db`);
    kv.close();
    assert.equal(maxChecks, host === "deno" ? 100 : 10);
  } finally {
    await folder.remove();
  }
});
