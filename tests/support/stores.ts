import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { denoKv, type DenoKvOptions, type DenoKvStore } from "../../src/store/deno_kv/mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { OpenedStore } from "../../src/testing/store_suite.ts";

/** A folder for one test, and how to remove it. */
export async function temporaryFolder(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "superstep-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** A memory store: every handle is the store itself. */
export function openMemory(): Promise<OpenedStore> {
  const store = memoryStore();
  const same = () => Promise.resolve(store);
  return Promise.resolve({ store, reopen: same, second: same, cleanup: () => store.close() });
}

/** A Deno KV store on a file of its own, with whatever implementation the host has. */
export async function openDenoKv(
  options: DenoKvOptions = {},
): Promise<OpenedStore & { readonly store: DenoKvStore; readonly path: string }> {
  const folder = await temporaryFolder();
  const path = join(folder.path, "store.db");
  const handles: DenoKvStore[] = [];
  const open = async () => {
    const handle = await denoKv(path, options);
    handles.push(handle);
    return handle;
  };
  const store = await open();
  return {
    store,
    path,
    reopen: async () => {
      await store.close();
      return await open();
    },
    second: open,
    cleanup: async () => {
      for (const handle of handles) await handle.close();
      await folder.remove();
    },
  };
}
