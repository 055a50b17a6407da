import type { Key } from "./driver.ts";
import { keyBytes } from "./keys.ts";

/** A key set to bytes, or deleted. */
export interface Write {
  readonly key: Key;
  readonly value: Uint8Array | null;
}

/** A key deleted. */
export function drop(key: Key): Write {
  return { key, value: null };
}

/** A versionstamp that a key must have; `null`: the key must not exist. */
export interface Check {
  readonly key: Key;
  readonly versionstamp: string | null;
}

/** One atomic operation as data, so that it can be measured, repeated and joined with others. */
export interface Op {
  readonly checks: readonly Check[];
  readonly writes: readonly Write[];
}

/** What the driver said to a commit; without a stamp it was refused, or its outcome is in doubt. */
export type Outcome =
  | { readonly stamp: string; readonly error?: undefined }
  | { readonly stamp?: undefined; readonly error?: unknown };

/** What one operation may hold; the value bytes leave room for what the driver adds. */
export const MAX_OP_BYTES = 780_000;
export const MAX_MUTATIONS = 1000;
export const MAX_KEY_BYTES = 80_000;
/** The longest key that the driver takes. */
const MAX_KEY = 2048;

/** Whether all the writes fit into one operation. */
export function fits(writes: readonly Write[]): boolean {
  if (writes.length > MAX_MUTATIONS) return false;
  let values = 0;
  for (const { value } of writes) values += value?.length ?? 0;
  // Nearly every operation is so small that its keys need not be measured.
  const longest = writes.length * MAX_KEY;
  if (longest <= MAX_KEY_BYTES && values + longest <= MAX_OP_BYTES) return true;
  let bytes = 0;
  let keys = 0;
  for (const { key, value } of writes) {
    const size = keyBytes(key);
    keys += size;
    bytes += size + (value?.length ?? 0);
  }
  return bytes <= MAX_OP_BYTES && keys <= MAX_KEY_BYTES;
}

/** Splits writes into as few operations as they need, in order; `reserve` writes are left free in each. */
export function slices(writes: readonly Write[], reserve = 2): Write[][] {
  const all: Write[][] = [];
  let slice: Write[] = [];
  let bytes = 0;
  let keys = 0;
  for (const write of writes) {
    const size = keyBytes(write.key);
    const total = size + (write.value?.length ?? 0);
    const full = slice.length + 1 + reserve > MAX_MUTATIONS || keys + size > MAX_KEY_BYTES - 4096 ||
      bytes + total > MAX_OP_BYTES;
    if (full && slice.length > 0) {
      all.push(slice);
      slice = [];
      bytes = 0;
      keys = 0;
    }
    slice.push(write);
    bytes += total;
    keys += size;
  }
  if (slice.length > 0) all.push(slice);
  return all;
}
