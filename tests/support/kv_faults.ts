import { openDriver } from "../../src/store/deno_kv/driver.ts";
import {
  denoKv,
  type DenoKvOptions,
  type DenoKvStore,
  type KvAtomic,
  type KvDriver,
  type KvEntry,
} from "../../src/store/deno_kv/mod.ts";
import { temporaryFolder } from "./stores.ts";

type Committed = Awaited<ReturnType<KvAtomic["commit"]>>;

/** One commit on its way to the driver. */
export interface CommitCall {
  readonly n: number;
  readonly checks: readonly (readonly unknown[])[];
  readonly sets: readonly (readonly unknown[])[];
  readonly deletes: readonly (readonly unknown[])[];
  commit(): Promise<Committed>;
}

/** What a test does to the driver. */
export interface DriverFaults {
  commit?(call: CommitCall): Promise<Committed>;
  /** Called before each read, which fails when it throws. */
  read?(kind: "getMany" | "list", n: number): void;
}

/** A handle whose commits and reads pass through the faults, which may be changed at any time. */
export function faultyKv(kv: KvDriver, faults: DriverFaults): KvDriver {
  let commits = 0;
  let reads = 0;
  return {
    getMany: async (keys, options) => {
      faults.read?.("getMany", ++reads);
      return await kv.getMany(keys, options);
    },
    list: async function* (selector, options): AsyncIterable<KvEntry> {
      faults.read?.("list", ++reads);
      yield* kv.list(selector, options);
    },
    close: () => kv.close(),
    atomic: () => {
      const inner = kv.atomic();
      const seen = {
        checks: [] as (readonly unknown[])[],
        sets: [] as (readonly unknown[])[],
        deletes: [] as (readonly unknown[])[],
      };
      const outer: KvAtomic = {
        check(check) {
          seen.checks.push(check.key);
          inner.check(check);
          return outer as typeof this;
        },
        set(key, value) {
          seen.sets.push(key);
          inner.set(key, value);
          return outer as typeof this;
        },
        delete(key) {
          seen.deletes.push(key);
          inner.delete(key);
          return outer as typeof this;
        },
        commit: async () => {
          const call = { n: ++commits, ...seen, commit: () => inner.commit() };
          return await (faults.commit?.(call) ?? inner.commit());
        },
      };
      return outer;
    },
  };
}

/** What a key is of: what stands behind the head of a run, and what changes while runs are at work, has kinds of its own. */
export function keyKind(key: readonly unknown[]): string {
  if (key[1] === "h" && key.length > 3) return String(key[3]);
  return String(key[1] === "l" ? key[2] : key[1]);
}

/** Every entry of a handle, apart from the mark of its layout. */
export async function allEntries(kv: KvDriver): Promise<KvEntry[]> {
  const entries: KvEntry[] = [];
  const options = { limit: 1_000_000, batchSize: 500, reverse: false, consistency: "strong" } as const;
  for await (const entry of kv.list({ start: [""], end: [true] }, options)) {
    if (entry.key[1] !== "layout") entries.push(entry);
  }
  return entries;
}

/** A store on a file whose driver a test can disturb. */
export interface Faulty {
  readonly store: DenoKvStore;
  readonly kv: KvDriver;
  readonly faults: DriverFaults;
}

/** Runs a test on a file whose driver it can disturb. */
export async function withFaults(
  work: (opened: Faulty) => Promise<void>,
  options: DenoKvOptions = {},
): Promise<void> {
  const folder = await temporaryFolder();
  const { kv } = await openDriver(`${folder.path}/store.db`);
  const faults: DriverFaults = {};
  const store = await denoKv("", { ...options, kv: faultyKv(kv, faults) });
  try {
    await work({ store, kv, faults });
  } finally {
    await store.close();
    await folder.remove();
  }
}

/** The commit happens and its acknowledgement is lost. */
export async function loseAck({ commit }: CommitCall): Promise<never> {
  await commit();
  throw new Error("connection reset\nStack backtrace: 0: <unknown>");
}
