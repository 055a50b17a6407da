import { access, constants, open, stat } from "node:fs/promises";
import process from "node:process";
import { denoKv } from "../store/deno_kv/mod.ts";
import { encrypted, type EncryptedOptions } from "../store/encrypted.ts";
import type { Store } from "../store/store.ts";
import { type ControlPlane, dispatching } from "../worker/mod.ts";
import { fileFault } from "./input.ts";
import { UsageError } from "./faults.ts";
import { quoted } from "./format.ts";
import { isServer, openServer, shownDatabase } from "./remote.ts";

/** Where runs are kept unless `--db` says otherwise. */
export const DEFAULT_DB = "./superstep.db";

/** Calls of another process keep the file busy for moments only; after this long something is wrong. */
const LOCK_DEADLINE_MS = 10_000;
const SQLITE_MAGIC = "SQLite format 3\0";
/** The first table that a Deno KV file gets. */
const KV_TABLE = "migration_state";
const HEAD_BYTES = 64 * 1024;

/**
 * Opens the file or the database that runs are kept in and closes it again. A file of another kind is refused before the
 * driver, which would write its tables into it, gets to see it.
 *
 * @param options `create`: whether a missing file is made, and missing tables of a database, or a fault;
 *   `plane`: the URL of a control plane @default SUPERSTEP_PLANE
 */
export async function withDatabase<T>(
  path: string,
  options: { readonly create: boolean; readonly plane?: string | undefined },
  use: (store: Store, plane: ControlPlane | undefined) => Promise<T>,
): Promise<T> {
  const keys = keysOf(process.env["SUPERSTEP_KEYS"]);
  const plain = await (isServer(path) ? openServer(path, options.create) : openFile(path, options.create));
  const kept = keys === undefined ? plain : encrypted(plain, keys);
  const plane = await planeAt(options.plane ?? process.env["SUPERSTEP_PLANE"]);
  const store = plane === undefined ? kept : dispatching(kept, plane);
  try {
    return await use(store, plane);
  } finally {
    await plane?.close();
    await store.close();
  }
}

/** The control plane that is fed with what becomes due, if one is named. */
async function planeAt(url: string | undefined): Promise<ControlPlane | undefined> {
  if (url === undefined || url === "") return undefined;
  if (!/^nats:\/\//.test(url)) {
    throw new UsageError("the plane is no URL of NATS; give one such as nats://host:4222");
  }
  const { natsPlane } = await import("../worker/nats/mod.ts");
  return natsPlane(url);
}

async function openFile(path: string, create: boolean): Promise<Store> {
  await checkFile(path, create);
  return await denoKv(path, { lockDeadline: LOCK_DEADLINE_MS });
}

/** The keys of an encrypted file, such as `2026-12=…,2026-06=…` with the base64 of each; the first one is current. */
function keysOf(given: string | undefined): EncryptedOptions | undefined {
  if (given === undefined || given === "") return undefined;
  const keys = given.split(",").map((one): [string, string] => {
    const at = one.indexOf("=");
    if (at < 1) throw new UsageError("SUPERSTEP_KEYS is not of the form id=base64,id=base64");
    return [one.slice(0, at).trim(), one.slice(at + 1).trim()];
  });
  return { keys: Object.fromEntries(keys), current: keys[0]![0] };
}

/** `--db …` for a command to be typed, unless it is the default. */
export function dbArgument(path: string): string {
  return path === DEFAULT_DB ? "" : ` --db ${quoted(shownDatabase(path))}`;
}

async function checkFile(path: string, create: boolean): Promise<void> {
  if (path === "") throw new UsageError("--db is empty; give the path of a file");
  const found = await stat(path).catch((error: unknown) => {
    if (!isMissing(error)) throw new UsageError(`the database ${fileFault(path, error)}`);
    return undefined;
  });
  if (found === undefined) {
    if (create) return;
    throw new UsageError(`there is no database ${path}; start a run first, or name another with --db`);
  }
  if (found.isDirectory()) throw new UsageError(`the database ${path} is a folder; name a file with --db`);
  const mode = create ? constants.R_OK | constants.W_OK : constants.R_OK;
  await access(path, mode).catch((error: unknown) => {
    throw new UsageError(`the database ${fileFault(path, error)}`);
  });
  if (found.size === 0) return;
  const head = await headOf(path);
  const isKv = head.startsWith(SQLITE_MAGIC) &&
    // What was written last may still be in the log beside the file.
    (head.includes(KV_TABLE) || (await headOf(`${path}-wal`).catch(() => "")).includes(KV_TABLE));
  if (!isKv) throw new UsageError(`${path} is no superstep database; name another file with --db`);
}

async function headOf(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const buffer = new Uint8Array(HEAD_BYTES);
    const { bytesRead } = await file.read(buffer, 0, HEAD_BYTES, 0);
    return new TextDecoder("latin1").decode(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

function isMissing(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === "ENOENT";
}
