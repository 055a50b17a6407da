import { messageOf, StoreError } from "../../errors.ts";
import { host, nativeOpenKv } from "../../runtime/host.ts";
import { reasonInWords } from "./reasons.ts";

/** A part of a key. Numbers sort after texts and `true` after both, which ends a range. */
export type KeyPart = string | number | boolean;
/** A key: its parts in order. */
export type Key = readonly KeyPart[];

/** The few calls of a Deno KV handle that the adapter makes. `Deno.Kv` and the `Kv` of `@deno/kv` have them. */
export interface KvDriver {
  /** Reads entries in one go, in the order of the keys. */
  getMany(keys: readonly Key[], options?: { readonly consistency?: "strong" }): Promise<readonly KvEntry[]>;
  /** Reads the entries of a range of keys. */
  list(
    selector: { readonly start: Key; readonly end: Key },
    options: {
      readonly limit: number;
      readonly batchSize: number;
      readonly reverse: boolean;
      readonly consistency: "strong";
    },
  ): AsyncIterable<KvEntry>;
  /** Begins an atomic operation. */
  atomic(): KvAtomic;
  /** Closes the handle. */
  close(): void;
}

/** An entry as the driver reads it; an absent key has no versionstamp. */
export interface KvEntry {
  /** The key, as the driver has it. */
  readonly key: readonly unknown[];
  /** The value; bytes, where superstep wrote it. */
  readonly value: unknown;
  /** Changes with every write; `null` for an absent key. */
  readonly versionstamp: string | null;
}

/** One atomic operation. */
export interface KvAtomic {
  /** The operation succeeds only while the key has this versionstamp. */
  check(check: { readonly key: Key; readonly versionstamp: string | null }): this;
  /** Sets a key. */
  set(key: Key, value: Uint8Array): this;
  /** Deletes a key. */
  delete(key: Key): this;
  /** Makes all of it or nothing. */
  commit(): Promise<{ readonly ok: true; readonly versionstamp: string } | { readonly ok: false }>;
}

/** A handle and how many checks it takes in one operation. */
export interface OpenedDriver {
  readonly kv: KvDriver;
  readonly maxChecks: number;
}

/** The checks that each implementation takes in one operation. */
const NATIVE_CHECKS = 100;
export const PACKAGE_CHECKS = 10;

/** Opens the file with what the host has: its own KV on Deno, the package `@deno/kv` on Bun and Node. */
export async function openDriver(path: string): Promise<OpenedDriver> {
  if (host === "deno") {
    const open = nativeOpenKv();
    if (open === undefined) {
      throw new StoreError(
        "open",
        `this Deno has no KV; add "unstable": ["kv"] to deno.json or run with --unstable-kv`,
      );
    }
    return { kv: await opening(path, open(path)) as KvDriver, maxChecks: NATIVE_CHECKS };
  }
  return { kv: await openPackage(path), maxChecks: PACKAGE_CHECKS };
}

async function openPackage(path: string): Promise<KvDriver> {
  let load: typeof import("@deno/kv");
  try {
    load = await import("@deno/kv");
  } catch (cause) {
    throw new StoreError("open", "the package @deno/kv cannot be loaded; install it, or use memoryStore()", {
      cause,
    });
  }
  // Values are bytes only, so the codec of other values is never needed; without one the package refuses to open on Bun.
  const options = { implementation: "sqlite", encodeV8: refuseCodec, decodeV8: refuseCodec } as const;
  return await opening(path, load.openKv(path, options)) as unknown as KvDriver;
}

function refuseCodec(): never {
  throw new StoreError("open", "the store holds a value that is not bytes; it was not written by superstep");
}

async function opening<T>(path: string, kv: Promise<T>): Promise<T> {
  try {
    return await kv;
  } catch (cause) {
    throw openFault(path, cause);
  }
}

/** The error of a file that could not be opened. */
export function openFault(path: string, cause: unknown): StoreError {
  const reasons = messageOf(cause) + (cause instanceof Error ? messageOf(cause.cause) : "");
  const problem = /napi|native binding|unsupported (os|architecture)/i.test(reasons)
    ? "@deno/kv has no native build for this system (musl and some arm64 systems lack one); " +
      "run on Deno, on a glibc image, or use memoryStore() or another store"
    : `the file ${JSON.stringify(path)} cannot be opened: ${reasonInWords(cause) ?? "see the cause"}`;
  return new StoreError("open", problem, { cause });
}
