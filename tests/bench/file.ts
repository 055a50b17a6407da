import { statSync } from "node:fs";
import { denoKv, type DenoKvStore, type KvAtomic, type KvDriver } from "superstep/store/deno-kv";
import { openDriver } from "../../src/store/deno_kv/driver.ts";
import type { Sample } from "./types.ts";

/** One commit that was made: whose it is, and the kinds of keys it wrote. */
export interface Commit {
  readonly kind: string;
  readonly keys: readonly (readonly unknown[])[];
  readonly deletes: readonly (readonly unknown[])[];
}

/** A store on a Deno KV file, and what it did to the file. */
export interface BenchFile {
  readonly path: string;
  readonly store: DenoKvStore;
  /** What was done since the last call, for each of so many operations. */
  costs(operations: number): Pick<Sample, "commits" | "mutations" | "reads">;
  /** From now on every commit is noted, until the function returned is called. */
  watch(): () => readonly Commit[];
}

/** Opens a file whose commits and reads are counted. */
export async function openFile(path: string): Promise<BenchFile> {
  const { kv, maxChecks } = await openDriver(path);
  let count = { commits: 0, mutations: 0, reads: 0 };
  let noted: Commit[] | undefined;
  let kind = "";
  const counted: KvDriver = {
    getMany: (keys, options) => (count.reads++, kv.getMany(keys, options)),
    list: (selector, options) => (count.reads++, kv.list(selector, options)),
    close: () => kv.close(),
    atomic: () => {
      const inner = kv.atomic();
      const keys: (readonly unknown[])[] = [];
      const deletes: (readonly unknown[])[] = [];
      const commitKind = kind;
      const outer: KvAtomic = {
        check: (check) => (inner.check(check), outer),
        set: (key, value) => (count.mutations++, keys.push(key), inner.set(key, value), outer),
        delete: (key) => (count.mutations++, deletes.push(key), inner.delete(key), outer),
        commit: () => (noted?.push({ kind: commitKind, keys, deletes }), inner.commit()),
      };
      return outer;
    },
  };
  const store = await denoKv(path, {
    kv: counted,
    maxChecks,
    onCommit: (event) => {
      if (event.phase === "after") return;
      count.commits++;
      kind = event.kind;
    },
  });
  return {
    path,
    store,
    costs(operations) {
      const { commits, mutations, reads } = count;
      count = { commits: 0, mutations: 0, reads: 0 };
      return {
        commits: commits / operations,
        mutations: mutations / operations,
        reads: reads / operations,
      };
    },
    watch() {
      const commits: Commit[] = noted = [];
      return () => (noted = undefined, commits);
    },
  };
}

/** What a file takes on disk. */
export function sizeOf(path: string): number {
  return ["", "-wal"].reduce(
    (sum, end) => sum + (statSync(path + end, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

const VALUE = new Uint8Array(1024).fill(7);

/** A bare append: demands a head and sets it, and a record of 1 KB. This is the least that a durable step costs. */
async function bareAppends(kv: KvDriver, run: string, n: number): Promise<void> {
  let versionstamp: string | null = null;
  for (let i = 0; i < n; i++) {
    const done = await kv.atomic()
      .check({ key: ["head", run], versionstamp })
      .set(["head", run], VALUE)
      .set(["record", run, i], VALUE)
      .commit();
    if (!done.ok) throw new Error("a bare commit was refused");
    versionstamp = done.versionstamp;
  }
}

/** The milliseconds of a bare commit, of `runs` that commit one after another beside each other. */
export async function bareCommit(path: string, n: number, runs = 1): Promise<number> {
  const { kv } = await openDriver(path);
  const began = performance.now();
  await Promise.all(Array.from({ length: runs }, (_, run) => bareAppends(kv, `run-${run}`, n)));
  const ms = (performance.now() - began) / (n * runs);
  kv.close();
  return ms;
}
