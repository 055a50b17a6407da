/** How copies become canonical: marked, and closed to everyone. What they hold is canonical already. */

import { copyBytes } from "./kinds.ts";
import {
  arrayHeader,
  entriesHeader,
  isMarkedText,
  mark,
  markCollection,
  markLeaf,
  setHeader,
  textSize,
  Weight,
  WRAPPED,
} from "./canonical_tag.ts";

/** Freezes an object of canonical values; `weight` where it is known already. */
export function sealRecord<T extends Record<string, unknown>>(record: T, weight = weightOf(record)): T {
  mark(record, weight.size, weight.flags);
  return Object.freeze(record);
}

function weightOf(record: Record<string, unknown>): Weight {
  const keys = Object.keys(record);
  const wrapped = keys.some(isMarkedText);
  const weight = new Weight(entriesHeader(keys.length, wrapped));
  for (const key of keys) {
    weight.size += textSize(key);
    weight.add(record[key]);
  }
  if (wrapped) weight.flags |= WRAPPED;
  return weight;
}

/** Freezes an array of canonical values; `weight` where it is known already. */
export function sealArray(array: unknown[], weight?: Weight): readonly unknown[] {
  if (weight === undefined) {
    weight = new Weight(arrayHeader(array.length));
    for (const value of array) weight.add(value);
  }
  mark(array, weight.size, weight.flags);
  return Object.freeze(array);
}

/** Makes a Map of canonical keys and values read-only. */
export function sealMap(map: Map<unknown, unknown>): ReadonlyMap<unknown, unknown> {
  const weight = new Weight(entriesHeader(map.size, true));
  const content: unknown[] = [];
  for (const [key, value] of map) {
    weight.add(key);
    weight.add(value);
    content.push(key, value);
  }
  weight.flags |= WRAPPED;
  markCollection(map, content, weight);
  Object.defineProperties(map, MAP_MUTATORS);
  return Object.freeze(map);
}

/** Makes a Set of canonical elements read-only. */
export function sealSet(set: Set<unknown>): ReadonlySet<unknown> {
  const weight = new Weight(setHeader(set.size));
  for (const value of set) weight.add(value);
  markCollection(set, [...set], weight);
  Object.defineProperties(set, SET_MUTATORS);
  return Object.freeze(set);
}

/** A canonical Date. */
export function sealDate(time: number): Date {
  const date = new Date(time);
  markLeaf(date, time);
  return date;
}

/** Canonical bytes: a copy of a typed array with memory of its own. */
export function sealBytes(value: object): object {
  const bytes = copyBytes(value);
  markLeaf(bytes, copyBytes(bytes));
  return bytes;
}

function readOnly(): never {
  throw new TypeError("superstep: this collection is read-only: change it in a reducer, or copy it first");
}

// Own properties, not a subclass: the prototype stays Map's, so the copy a draft makes is an ordinary Map.
const MAP_MUTATORS = { set: { value: readOnly }, delete: { value: readOnly }, clear: { value: readOnly } };
const SET_MUTATORS = { add: { value: readOnly }, delete: { value: readOnly }, clear: { value: readOnly } };
