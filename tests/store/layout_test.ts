import assert from "node:assert/strict";
import { test } from "node:test";
import { compile, GraphBuilder } from "../../mod.ts";
import { isStoreOver } from "../../src/errors.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { openDriver } from "../../src/store/deno_kv/driver.ts";
import { frame } from "../../src/store/deno_kv/frame.ts";
import { layoutKey } from "../../src/store/deno_kv/keys.ts";
import { denoKv, type KvDriver } from "../../src/store/deno_kv/mod.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { entryAt, push, rejects } from "../../src/testing/store_suite/support.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { serve } from "../../src/worker/mod.ts";
import { faultyKv } from "../support/kv_faults.ts";
import { temporaryFolder } from "../support/stores.ts";

async function withFile(work: (path: string, raw: KvDriver) => Promise<void>): Promise<void> {
  const folder = await temporaryFolder();
  const path = `${folder.path}/store.db`;
  const { kv } = await openDriver(path);
  try {
    await work(path, kv);
  } finally {
    kv.close();
    await folder.remove();
  }
}

/** What a newer version of the code does first. */
async function raise(raw: KvDriver): Promise<void> {
  assert.ok((await raw.atomic().set(layoutKey, frame([3])).commit()).ok);
}

test("a file without a mark gets that of this layout when it is opened, from one of many processes (S3)", async () => {
  await withFile(async (path, raw) => {
    let commits = 0;
    const opened = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const kv = faultyKv((await openDriver(path)).kv, {
          commit: async (call) => {
            const result = await call.commit();
            if (result.ok) commits++;
            return result;
          },
        });
        return await denoKv("", { kv });
      }),
    );
    const [mark] = await raw.getMany([layoutKey]);
    assert.deepEqual([...mark!.value as Uint8Array], [...frame([2, 2])]); // The npm package gives a Buffer.
    assert.equal(commits, 1);
    for (const store of opened) await store.close();
    const store = await denoKv(path);
    assert.equal((await raw.getMany([layoutKey]))[0]!.versionstamp, mark!.versionstamp, "it is written once");
    await store.close();
  });
});

test("a file of an earlier layout gets the mark of this one, which its older processes meet at their next beat (S3)", async () => {
  await withFile(async (path, raw) => {
    await raw.atomic().set(layoutKey, frame([1])).commit();
    const [old] = await raw.getMany([layoutKey]);
    const opened = await Promise.all([denoKv(path), denoKv(path)]);
    const [mark] = await raw.getMany([layoutKey]);
    assert.deepEqual([...mark!.value as Uint8Array], [...frame([2, 1])]);
    assert.ok(mark!.versionstamp! > old!.versionstamp!, "a beat of an older process demands the old one");
    for (const [i, store] of opened.entries()) {
      await store.owners.register(`owner ${i}`);
      assert.ok(await store.owners.beat(`owner ${i}`));
      await store.close();
    }
  });
});

test("a file of a newer layout is not opened, in words that say what to do (S3)", async () => {
  await withFile(async (path, raw) => {
    await raise(raw);
    const fault = await rejects(denoKv(path), "STORE", { op: "open", layout: 3 });
    assert.match(fault.message, /layout 3, this version .* layout 2; stop this process, and start it with/);
    assert.ok(isStoreOver(fault));
  });
});

test("an owner whose beat or registration finds a newer layout does nothing more with the file (S3, O1)", async () => {
  await withFile(async (path, raw) => {
    const store = await denoKv(path);
    const other = await denoKv(path);
    await store.owners.register("me");
    const at = await push(store, "run", null, { writer: "me", owner: "me" });
    await raise(raw);
    await rejects(store.owners.beat("me"), "STORE", { op: "beat", layout: 3 });
    await rejects(store.append("run", 1, entryAt(at, { writer: "me", owner: "me" })), "STORE", { layout: 3 });
    await rejects(store.tail("run"), "STORE", { op: "tail", layout: 3 });
    await rejects(other.owners.register("you"), "STORE", { op: "register", layout: 3 });
    await rejects(other.list({}), "STORE", { op: "list", layout: 3 });
    await store.close();
    await other.close();
  });
});

test("a worker whose beat finds a newer layout loses its runs, says why and stops (S3, E11)", async () => {
  await withFile(async (path, raw) => {
    const clock = new VirtualClock();
    const file = await denoKv(path, { runtime: { ...systemRuntime, now: () => clock.now() } });
    const store = aroundStore(file, (call) => clock.hold(call.apply()));
    const told: string[] = [];
    const logger = { info: () => {}, warn: (message: string) => void told.push(message) };
    let reason: unknown;
    const graph = new GraphBuilder<object>({ id: "g" }).addVertex({
      id: "a",
      task: {
        execute: (_: null, ctx) =>
          new Promise<void>((resolve) =>
            ctx.signal.addEventListener("abort", () => {
              reason = ctx.signal.reason;
              resolve();
            })
          ),
      },
      select: () => null,
      reduce: () => {},
    }).build({ entry: "a", finish: "a" });
    const runner = compile(graph, { store, runtime: clock, logger });
    const worker = await serve({ runners: [runner], runtime: clock, logger });
    await runner.submit({}, { runId: "run" });
    await clock.advance("20s");
    assert.equal(worker.active, 1);
    await raise(raw);
    await clock.advance("6s");
    assert.equal((reason as { readonly code?: string }).code, "OWNERSHIP_LOST");
    assert.ok(isStoreOver((reason as Error).cause));
    await clock.drive(worker.stopped);
    assert.equal(
      told.filter((message) => /the worker stops: .*layout 3/.test(message)).length,
      1,
      told.join("\n"),
    );
    await file.close();
  });
});

test("a file without a path is refused, wherever the driver would make one that is lost (FT-F8, S6)", async () => {
  for (const path of ["", undefined as unknown as string]) {
    const fault = await rejects(denoKv(path), "STORE", { op: "open" });
    assert.match(fault.message, /give that of a file/);
  }
});
