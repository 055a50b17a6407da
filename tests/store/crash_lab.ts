import assert from "node:assert/strict";
import { systemRuntime } from "../../src/runtime/system.ts";
import { openDriver } from "../../src/store/deno_kv/driver.ts";
import { type CommitEvent, denoKv, type DenoKvStore, type KvDriver } from "../../src/store/deno_kv/mod.ts";
import { allEntries, keyKind } from "../support/kv_faults.ts";
import { temporaryFolder } from "../support/stores.ts";

/** The process ends here. */
export class Crash extends Error {}

export interface Lab {
  /** A store that ends between two commits: before or after the `n`-th. */
  dying(n: number, phase: CommitEvent["phase"]): Promise<DenoKvStore>;
  /** A store on the same file, as the next process opens it; its clock may be ahead, in milliseconds. */
  open(onCommit?: (event: CommitEvent) => void | Promise<void>, ahead?: number): Promise<DenoKvStore>;
  readonly raw: KvDriver;
}

export async function inLab(work: (lab: Lab) => Promise<void>): Promise<void> {
  const folder = await temporaryFolder();
  const path = `${folder.path}/store.db`;
  const { kv: raw } = await openDriver(path);
  const handles: { close(): Promise<void> | void }[] = [raw];
  const open: Lab["open"] = async (onCommit, ahead = 0) => {
    const runtime = { ...systemRuntime, now: () => systemRuntime.now() + ahead };
    const store = await denoKv(path, { runtime, ...(onCommit === undefined ? {} : { onCommit }) });
    handles.push(store);
    return store;
  };
  const dying: Lab["dying"] = (n, phase) =>
    open((event) => {
      if (event.n === n && event.phase === phase) throw new Crash();
    });
  try {
    await work({ dying, open, raw });
  } finally {
    for (const handle of handles) await handle.close();
    await folder.remove();
  }
}

/** Every place to stop at: before and after each commit, until the work gets through. */
export async function atEveryCommit(
  round: (n: number, phase: CommitEvent["phase"]) => Promise<boolean>,
): Promise<number> {
  for (let n = 1;; n++) {
    assert.ok(n < 100, "the work never ends");
    for (const phase of ["before", "after"] as const) if (!await round(n, phase)) return n - 1;
  }
}

/** Whether the work was stopped. */
export async function stopped(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return false;
  } catch (error) {
    assert.ok(error instanceof Crash, String(error));
    return true;
  }
}

/** Keys of the file under one of the adapter's prefixes. */
export async function keysUnder(raw: KvDriver, ...prefixes: string[]): Promise<string[]> {
  return (await allEntries(raw)).filter(({ key }) => prefixes.includes(keyKind(key))).map(({ key }) =>
    key.join("/")
  );
}
