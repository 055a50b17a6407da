import assert from "node:assert/strict";
import { rename, rm } from "node:fs/promises";
import { test } from "node:test";
import { compile } from "../../mod.ts";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import { push } from "../../src/testing/store_suite/support.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { serve } from "../../src/worker/mod.ts";
import { graphOf } from "../support/graphs.ts";
import { temporaryFolder } from "../support/stores.ts";

/** What may happen to a file under a handle; the files of its log go with it. */
const ACCIDENTS: Readonly<Record<string, (path: string) => Promise<void>>> = {
  deleted: async (path) => {
    for (const end of ["", "-wal", "-shm"]) await rm(path + end, { force: true });
  },
  replaced: async (path) => {
    const other = await denoKv(`${path}.other`);
    await push(other, "another", null);
    await other.close();
    await rename(`${path}.other`, path);
  },
};

for (const [what, happen] of Object.entries(ACCIDENTS)) {
  test(`a process at work on a file that is ${what} finds out with its next beat, and writes no more (FT-F6)`, async () => {
    const folder = await temporaryFolder();
    const path = `${folder.path}/store.db`;
    const store = await denoKv(path);
    try {
      await store.owners.register("me");
      const at = await push(store, "run", null, { writer: "me", owner: "me" });
      assert.ok(await store.owners.beat("me"));
      await happen(path);
      const gone = {
        code: "STORE",
        message: new RegExp(`the file ".*store\\.db" was ${what} while it was open`),
      };
      await assert.rejects(store.owners.beat("me"), gone);
      await assert.rejects(push(store, "run", at, { writer: "me", owner: "me" }), gone);
      await assert.rejects(store.tail("run"), gone);
    } finally {
      await store.close();
      await folder.remove();
    }
  });
}

test("a worker whose file is deleted stops and says why (FT-F6)", async () => {
  const folder = await temporaryFolder();
  const path = `${folder.path}/store.db`;
  const store = await denoKv(path);
  const clock = new VirtualClock();
  const warnings: string[] = [];
  const logger = { info: () => {}, warn: (message: string) => void warnings.push(message) };
  const runners = [compile(graphOf({ vertices: { a: {} } }), { store, runtime: clock })];
  const worker = await serve({ runners, runtime: clock, logger });
  try {
    await ACCIDENTS["deleted"]!(path);
    await clock.drive(worker.stopped);
    assert.match(warnings.join("\n"), /superstep: the worker stops: .*was deleted while it was open/);
  } finally {
    await store.close();
    await folder.remove();
  }
});
