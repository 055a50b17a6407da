/**
 * States as what changed. `advance` walks the old and the new value side by side and skips whatever is the same
 * object at the same place, so its cost follows the change and not the state. The changed parts are checked and
 * copied on the way, as `canonical` does.
 */

import { Walk } from "./canonical.ts";
import { isSameLeaf, kindOf } from "./kinds.ts";
import { arrayHeader, flagsOf, sizeOf, Weight } from "./canonical_tag.ts";
import { ARRAY, COLLECTION, MAP, type Patch, RECORD, SET, TEXT } from "./patch.ts";
import { sealArray, sealMap, sealRecord, sealSet } from "./seal.ts";

export { applyPatch, type Patch } from "./patch.ts";

/** The next value and what led to it; no patch when nothing changed. */
export interface Advanced<S> {
  readonly value: S;
  readonly patch: Patch | undefined;
}

interface Change {
  readonly value: unknown;
  readonly patch: Patch | undefined;
}

/** A text shorter than this is written whole when it changes. */
const MIN_TEXT = 64;

/**
 * Arrays up to this length are read by descriptor when they are compared; longer ones only where they differ. A
 * descriptor costs a hundred times a plain read, and a getter that answers with the old element changes nothing.
 */
const STRICT_ARRAY = 64;

/** A record of more fields than this that has the keys that it had is weighed by what changed. */
const LONG_RECORD = 64;

/**
 * The canonical form of `next`, sharing with `prev` whatever is the same at the same place, and the patch from one to
 * the other.
 *
 * @param prev A canonical value.
 * @param what Names the value in errors, such as `the state after the reducer of vertex draft`.
 * @throws {SerializationError} When something that changed cannot be stored.
 */
export function advance<S>(prev: S, next: unknown, what: string): Advanced<S> {
  if (Object.is(prev, next)) return { value: prev, patch: undefined };
  const walk = new Walk(what);
  const { value, patch } = walk.guard(next, () => diff(walk, prev, next));
  return { value: value as S, patch };
}

/** As {@link advance}, between two canonical values: what stands in them is neither judged nor copied. */
export function between<S>(prev: S, next: S): Advanced<S> {
  const { value, patch } = diff(new Trust("", Infinity, Infinity), prev, next);
  return { value: value as S, patch };
}

/** A walk over a canonical value. */
class Trust extends Walk {
  override copy(value: unknown): unknown {
    return value;
  }

  override keysOf(value: object): string[] {
    return Object.keys(value);
  }

  override fieldOf(value: object, key: string | number): unknown {
    return (value as Record<string | number, unknown>)[key];
  }
}

function diff(walk: Walk, prev: unknown, next: unknown): Change {
  if (Object.is(prev, next)) return { value: prev, patch: undefined };
  if (typeof prev === "string" && typeof next === "string") return diffText(walk, prev, next);
  if (typeof prev !== "object" || prev === null || typeof next !== "object" || next === null) {
    return replaced(walk.copy(next));
  }
  const kind = walk.kind(next);
  if (kind !== kindOf(prev)) return replaced(walk.copy(next));
  if (kind === "date" || kind === "bytes") {
    return isSameLeaf(kind, prev, next) ? { value: prev, patch: undefined } : replaced(walk.copy(next));
  }
  walk.enter(next);
  const change = kind === "object"
    ? diffRecord(walk, prev as Record<string, unknown>, next)
    : kind === "array"
    ? diffArray(walk, prev as readonly unknown[], next as readonly unknown[])
    : kind === "map"
    ? diffMap(walk, prev as ReadonlyMap<unknown, unknown>, next)
    : diffSet(walk, prev as ReadonlySet<unknown>, next);
  walk.leave();
  return change;
}

function replaced(value: unknown): Change {
  return { value, patch: [SET, value] };
}

function diffText(walk: Walk, prev: string, next: string): Change {
  const value = walk.copy(next) as string;
  if (prev.length < MIN_TEXT || next.length <= prev.length || !next.startsWith(prev)) return replaced(value);
  return { value, patch: [TEXT, next.slice(prev.length)] };
}

function diffRecord(walk: Walk, prev: Record<string, unknown>, next: object): Change {
  const before = Object.keys(prev);
  if (before.length > LONG_RECORD && hasKeys(next, before)) return diffFields(walk, prev, next, before);
  const keys = walk.keysOf(next);
  const { from, removed } = align(before, keys, (key) => Object.hasOwn(prev, key));
  const value: Record<string, unknown> = {};
  const nested: unknown[] = [];
  const set: unknown[] = [];
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    walk.at("field", key);
    const field = walk.fieldOf(next, key);
    const change = from[i] === ADDED ? replaced(walk.copy(field)) : diff(walk, prev[key], field);
    value[key] = change.value;
    if (change.patch === undefined) continue;
    if (change.patch[0] === SET) set.push(key, change.value);
    else nested.push(key, change.patch);
  }
  if (removed.length + nested.length + set.length === 0) return { value: prev, patch: undefined };
  return { value: sealRecord(value), patch: [RECORD, removed.map((i) => before[i]!), nested, set] };
}

/** Whether these keys, which are canonical, are all that an object has, in this order. */
function hasKeys(value: object, keys: readonly string[]): boolean {
  const found = Object.keys(value);
  return found.length === keys.length && found.every((key, i) => key === keys[i]) &&
    Object.getOwnPropertyNames(value).length === keys.length &&
    Object.getOwnPropertySymbols(value).length === 0;
}

/** A long record that has the keys that it had. */
function diffFields(
  walk: Walk,
  prev: Record<string, unknown>,
  next: object,
  keys: readonly string[],
): Change {
  const value: Record<string, unknown> = {};
  const weight = new Weight(sizeOf(prev));
  weight.flags = flagsOf(prev) ?? 0;
  const nested: unknown[] = [];
  const set: unknown[] = [];
  for (const key of keys) {
    const was = prev[key];
    value[key] = was;
    walk.at("field", key);
    const field = walk.fieldOf(next, key);
    if (Object.is(was, field)) continue;
    const change = diff(walk, was, field);
    if (change.patch === undefined) continue;
    value[key] = change.value;
    if (change.patch[0] === SET) set.push(key, change.value);
    else nested.push(key, change.patch);
    weight.remove(was);
    weight.add(change.value);
  }
  if (nested.length + set.length === 0) return { value: prev, patch: undefined };
  return { value: sealRecord(value, weight), patch: [RECORD, [], nested, set] };
}

function diffArray(walk: Walk, prev: readonly unknown[], next: readonly unknown[]): Change {
  const elements = readElements(walk, next);
  const same = (i: number, j: number): boolean =>
    Object.is(prev[i], elements[j]) && (elements[j] !== undefined || Object.hasOwn(next, j));

  // What slides out at the front of a queue or a window, so that the rest stays aligned.
  const first = prev.length > 1 && elements.length > 0 && !same(0, 0) ? prev.indexOf(elements[0]) : 0;
  const head = Math.max(first, 0);
  const old = prev.length - head;
  const shorter = Math.min(old, elements.length);
  let start = 0;
  while (start < shorter && same(head + start, start)) start++;
  let end = 0;
  while (end < shorter - start && same(prev.length - 1 - end, elements.length - 1 - end)) end++;
  const aligned = shorter - end;

  const value: unknown[] = [];
  const weight = new Weight(sizeOf(prev) - arrayHeader(prev.length) + arrayHeader(elements.length));
  weight.flags = flagsOf(prev) ?? 0;
  const nested: unknown[] = [];
  const inserted: unknown[] = [];
  const at = aligned;
  const removed = old - end - at;
  for (let i = 0; i < head; i++) weight.remove(prev[i]);
  for (let i = 0; i < start; i++) value.push(prev[head + i]);
  for (let i = start; i < at; i++) {
    walk.at("index", i);
    const change = diff(walk, prev[head + i], walk.fieldOf(next, i));
    value.push(change.value);
    if (change.patch === undefined) continue;
    nested.push(i, change.patch);
    weight.remove(prev[head + i]);
    weight.add(change.value);
  }
  for (let i = 0; i < removed; i++) weight.remove(prev[head + at + i]);
  for (let i = at; i < elements.length - end; i++) {
    walk.at("index", i);
    const element = walk.copy(walk.fieldOf(next, i));
    value.push(element);
    inserted.push(element);
    weight.add(element);
  }
  for (let i = prev.length - end; i < prev.length; i++) value.push(prev[i]);
  if (head + nested.length + removed + inserted.length === 0) return { value: prev, patch: undefined };
  return { value: sealArray(value, weight), patch: [ARRAY, head, nested, at, removed, inserted] };
}

function readElements(walk: Walk, array: readonly unknown[]): readonly unknown[] {
  if (array.length > STRICT_ARRAY) return array;
  walk.checkArray(array);
  const elements: unknown[] = [];
  for (let i = 0; i < array.length; i++) {
    walk.at("index", i);
    elements.push(walk.fieldOf(array, i));
  }
  return elements;
}

function diffMap(walk: Walk, prev: ReadonlyMap<unknown, unknown>, next: object): Change {
  const entries = walk.entriesOf(next);
  const { from, removed } = align([...prev.keys()], entries.map(([key]) => key), (key) => prev.has(key));
  const value = new Map<unknown, unknown>();
  const nested: unknown[] = [];
  const added: unknown[] = [];
  for (let i = 0; i < entries.length; i++) {
    let [key, entry] = entries[i]!;
    const position = from[i]!;
    if (position === ADDED) {
      walk.at("key", i);
      key = walk.copy(key);
      walk.at("entry", key);
      entry = walk.copy(entry);
      added.push(key, entry);
    } else {
      walk.at("entry", key);
      const change = diff(walk, prev.get(key), entry);
      entry = change.value;
      if (change.patch !== undefined) nested.push(position, change.patch);
    }
    value.set(key, entry);
  }
  if (removed.length + nested.length + added.length === 0) return { value: prev, patch: undefined };
  return { value: sealMap(value), patch: [MAP, removed, nested, added] };
}

function diffSet(walk: Walk, prev: ReadonlySet<unknown>, next: object): Change {
  const elements = walk.elementsOf(next);
  const { from, removed } = align([...prev], elements, (element) => prev.has(element));
  const value = new Set<unknown>();
  const added: unknown[] = [];
  for (let i = 0; i < elements.length; i++) {
    walk.at("element", i);
    const element = from[i] === ADDED ? walk.copy(elements[i]) : elements[i];
    if (from[i] === ADDED) added.push(element);
    value.add(element);
  }
  if (removed.length + added.length === 0) return { value: prev, patch: undefined };
  return { value: sealSet(value), patch: [COLLECTION, removed, added] };
}

const ADDED = -1;

/**
 * Matches the keys of the next value with those of the previous one in order. What was passed over counts as removed,
 * and as added at the end when it comes later: so the order of the keys is part of what is written.
 */
function align<K>(
  before: readonly K[],
  after: readonly K[],
  has: (key: K) => boolean,
): { readonly from: readonly number[]; readonly removed: readonly number[] } {
  const from: number[] = [];
  const removed: number[] = [];
  const passed = new Set<K>();
  let at = 0;
  for (const key of after) {
    if (at < before.length && Object.is(before[at], key)) from.push(at++);
    else if (!has(key) || passed.has(key)) from.push(ADDED);
    else {
      for (; !Object.is(before[at], key); at++) {
        removed.push(at);
        passed.add(before[at]!);
      }
      from.push(at++);
    }
  }
  for (; at < before.length; at++) removed.push(at);
  return { from, removed };
}
