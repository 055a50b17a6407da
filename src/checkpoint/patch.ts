import { storedWalk, type Walk } from "./canonical.ts";
import { CodecError } from "./codec_error.ts";
import { isKind } from "./kinds.ts";
import { sealArray, sealMap, sealRecord, sealSet } from "./seal.ts";

export const SET = 0;
export const RECORD = 1;
export const ARRAY = 2;
export const MAP = 3;
export const COLLECTION = 4;
export const TEXT = 5;

/**
 * What changed, shaped like the value it changes:
 *
 * - `[0, value]` another value
 * - `[1, removed keys, [key, patch, …], [key, value, …]]` an object: fields removed, changed inside, set
 * - `[2, dropped, [index, patch, …], at, removed, values]` an array: elements dropped at the front, then elements
 *   changed inside, then one splice
 * - `[3, removed, [position, patch, …], [key, value, …]]` a Map, by positions among the old entries
 * - `[4, removed, values]` a Set, by positions among the old elements
 * - `[5, tail]` a text that became longer
 */
export type Patch =
  | readonly [typeof SET, unknown]
  | readonly [typeof RECORD, readonly string[], readonly unknown[], readonly unknown[]]
  | readonly [typeof ARRAY, number, readonly unknown[], number, number, readonly unknown[]]
  | readonly [typeof MAP, readonly number[], readonly unknown[], readonly unknown[]]
  | readonly [typeof COLLECTION, readonly number[], readonly unknown[]]
  | readonly [typeof TEXT, string];

/**
 * The canonical value that `patch` makes of the canonical value `prev`; parts that it does not touch are the same
 * objects as before.
 *
 * @param patch Comes from the store and is not trusted.
 * @throws {CodecError | SerializationError} When it does not fit the value.
 */
export function applyPatch<S>(prev: S, patch: Patch): S {
  const walk = storedWalk("a stored patch");
  return walk.guard(patch, () => apply(walk, prev, patch)) as S;
}

function apply(walk: Walk, prev: unknown, untrusted: unknown): unknown {
  const patch = list(untrusted);
  switch (patch[0]) {
    case SET:
      return walk.copy(patch[1]);
    case RECORD:
      if (isKind(prev, "object")) return applyRecord(walk, prev as Record<string, unknown>, patch);
      break;
    case ARRAY:
      if (isKind(prev, "array")) return applyArray(walk, prev as readonly unknown[], patch);
      break;
    case MAP:
      if (isKind(prev, "map")) return applyMap(walk, prev as ReadonlyMap<unknown, unknown>, patch);
      break;
    case COLLECTION:
      if (isKind(prev, "set")) return applySet(walk, prev as ReadonlySet<unknown>, patch);
      break;
    case TEXT:
      if (typeof prev === "string" && typeof patch[1] === "string") {
        return prev + (walk.copy(patch[1]) as string);
      }
      break;
  }
  throw misfit();
}

function applyRecord(walk: Walk, prev: Record<string, unknown>, patch: readonly unknown[]): unknown {
  const value: Record<string, unknown> = { ...prev };
  for (const key of list(patch[1])) {
    if (typeof key !== "string" || !Object.hasOwn(value, key)) throw misfit();
    delete value[key];
  }
  for (const [key, inner] of pairs(patch[2])) {
    if (typeof key !== "string" || !Object.hasOwn(value, key)) throw misfit();
    value[key] = apply(walk, value[key], inner);
  }
  for (const [key, field] of pairs(patch[3])) {
    if (typeof key !== "string" || key === "__proto__" || !key.isWellFormed()) throw misfit();
    value[key] = walk.copy(field);
  }
  return sealRecord(value);
}

function applyArray(walk: Walk, prev: readonly unknown[], patch: readonly unknown[]): unknown {
  const value = prev.slice(position(patch[1], prev.length + 1));
  for (const [index, inner] of pairs(patch[2])) {
    const at = position(index, value.length);
    value[at] = apply(walk, value[at], inner);
  }
  const at = position(patch[3], value.length + 1);
  const removed = position(patch[4], value.length - at + 1);
  const inserted = list(patch[5]).map((element) => walk.copy(element));
  return sealArray([...value.slice(0, at), ...inserted, ...value.slice(at + removed)]);
}

function applyMap(walk: Walk, prev: ReadonlyMap<unknown, unknown>, patch: readonly unknown[]): unknown {
  const entries = [...prev];
  for (const [index, inner] of pairs(patch[2])) {
    const at = position(index, entries.length);
    const [key, entry] = entries[at]!;
    entries[at] = [key, apply(walk, entry, inner)];
  }
  const removed = positions(patch[1], entries.length);
  const value = new Map(entries.filter((_, i) => !removed.has(i)));
  for (const [key, entry] of pairs(patch[3])) value.set(walk.copy(key), walk.copy(entry));
  return sealMap(value);
}

function applySet(walk: Walk, prev: ReadonlySet<unknown>, patch: readonly unknown[]): unknown {
  const removed = positions(patch[1], prev.size);
  const value = new Set([...prev].filter((_, i) => !removed.has(i)));
  for (const element of list(patch[2])) value.add(walk.copy(element));
  return sealSet(value);
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw misfit();
  return value;
}

function* pairs(value: unknown): Generator<readonly [unknown, unknown]> {
  const flat = list(value);
  if (flat.length % 2 !== 0) throw misfit();
  for (let i = 0; i < flat.length; i += 2) yield [flat[i], flat[i + 1]];
}

function position(value: unknown, below: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value >= below) throw misfit();
  return value;
}

function positions(value: unknown, below: number): ReadonlySet<number> {
  return new Set(list(value).map((index) => position(index, below)));
}

function misfit(): CodecError {
  return new CodecError("malformed", "a stored change does not fit the value it changes");
}
