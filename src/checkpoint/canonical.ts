/**
 * The serialization contract. A value that enters a run, as an input, an output, an answer or a state, is copied and
 * checked once, here; what comes back is canonical: a deep copy that nobody else holds, frozen, and certain to come
 * back equal from the store. So a value is the same live and reloaded.
 *
 * | value | stored as |
 * |---|---|
 * | `null`, `undefined`, booleans, strings, numbers with NaN, ±Infinity and −0, bigints of any size | itself |
 * | plain objects (keys in order, `undefined` fields too), arrays | an equal frozen copy |
 * | objects without a prototype | an ordinary object with the same entries |
 * | Map, Set (entries in order, any storable keys) | an equal copy; `set`, `add`, `delete`, `clear` throw outside reducers |
 * | Date, also invalid | an equal copy; replace it, never edit it |
 * | `Uint8Array` and the other typed arrays, also views of larger or shared memory | an equal copy with memory of its own |
 * | Node's Buffer | a `Uint8Array` with the same bytes |
 * | one object referenced twice | two equal copies, live too |
 * | a cycle, more than 256 levels, more than a million objects | refused |
 * | class instances: Error, RegExp, URL, Blob, streams, your own, subclasses of Map or Array | refused |
 * | functions, symbols, promises, objects with methods, getters or setters, symbol keys, hidden properties | refused |
 * | ArrayBuffer, DataView, `Float16Array`, boxed primitives | refused |
 * | arrays with holes or named properties | refused |
 * | strings and keys with a lone surrogate | refused: repair them with `toWellFormed()` |
 * | the key `__proto__` | refused |
 *
 * Refused means a `SerializationError` with what was to be stored, the path in it and the type found, when the value
 * is handed over. No getter, `toJSON`, `then`, iterator or constructor of the value is called on the way.
 *
 * @module
 */

import { messageOf, SerializationError } from "../errors.ts";
import { CodecError } from "./codec_error.ts";
import { describe, type Kind, kindOf, MAX_DEPTH, timeOf } from "./kinds.ts";
import { EDITABLE, flagsOf, isMarked } from "./canonical_tag.ts";
import { Path, type Segment } from "./path.ts";
import { ignorePromises } from "./promises.ts";
import { sealArray, sealBytes, sealDate, sealMap, sealRecord, sealSet } from "./seal.ts";

const MAX_VALUES = 1_000_000;

const mapForEach = Map.prototype.forEach;
const setForEach = Set.prototype.forEach;

/**
 * A deep, frozen copy of `value` that will come back equal from the store; a value that is canonical already and that
 * nobody can edit is returned as it is.
 *
 * @param what Names the value in errors, such as `the output of vertex draft`.
 * @throws {SerializationError} When something in it cannot be stored.
 */
export function canonical(value: unknown, what: string): unknown {
  if (typeof value === "object" && value !== null && ((flagsOf(value) ?? EDITABLE) & EDITABLE) === 0) {
    return value;
  }
  const walk = new Walk(what);
  return walk.guard(value, () => walk.copy(value));
}

/** As {@link canonical}, for what comes from the store: values that were judged one by one may stand in one another there. */
export function canonicalStored(value: unknown, what: string): unknown {
  const walk = storedWalk(what);
  return walk.guard(value, () => walk.copy(value));
}

/** A walk over what comes from the store. */
export function storedWalk(what: string): Walk {
  return new Walk(what, 2 * MAX_DEPTH, Infinity);
}

/** One validating walk over a value. Every object met is copied, canonical or not, so that nothing is shared. */
export class Walk {
  readonly #path = new Path();
  readonly #what: string;
  readonly #depth: number;
  readonly #most: number;
  readonly #ancestors: object[] = [];
  #values = 0;

  constructor(what: string, depth = MAX_DEPTH, most = MAX_VALUES) {
    this.#what = what;
    this.#depth = depth;
    this.#most = most;
  }

  /** Runs `work` on `value`, and turns whatever a hostile proxy throws into a refusal of the place that was looked at. */
  guard<T>(value: unknown, work: () => T): T {
    try {
      return work();
    } catch (error) {
      ignorePromises(value);
      if (error instanceof SerializationError || error instanceof CodecError) throw error;
      throw new SerializationError(
        this.#what,
        this.#path.text(this.#ancestors.length),
        "a value that cannot be read",
        `reading it failed with: ${messageOf(error)}`,
        { cause: error },
      );
    }
  }

  copy(value: unknown): unknown {
    switch (typeof value) {
      case "string":
        if (value.isWellFormed()) return value;
        throw this.refusal("a string with a lone surrogate", "repair it with toWellFormed()");
      case "function":
      case "symbol":
        throw this.refusal(describe(value), "only data can be stored");
      case "object":
        return value === null ? null : this.#copyObject(value);
      default:
        return value;
    }
  }

  /** The kind of an object that is about to be entered. */
  kind(value: object): Kind {
    const kind = kindOf(value);
    if (kind !== undefined) return kind;
    throw this.refusal(
      describe(value),
      "only plain data can be stored; turn it into an object, text or bytes",
    );
  }

  /** Steps into `value`, which must not be inside itself. */
  enter(value: object): void {
    if (++this.#values > this.#most) {
      throw this.refusal("one value too many", `a stored value has at most ${this.#most} objects`);
    }
    if (this.#ancestors.length >= this.#depth) {
      throw this.refusal("nested too deeply", `a stored value has at most ${this.#depth} levels`);
    }
    if (this.#ancestors.includes(value)) {
      throw this.refusal("a cycle", "an object cannot contain itself; store an id instead");
    }
    this.#ancestors.push(value);
  }

  leave(): void {
    this.#ancestors.pop();
  }

  /** Notes which part of the entered object is looked at. */
  at(kind: Segment["kind"], step: unknown): void {
    this.#path.set(this.#ancestors.length - 1, kind, step);
  }

  /** The keys of an entered object, when each is one that can be stored. */
  keysOf(value: object): string[] {
    const keys = Object.keys(value);
    // Reflect.ownKeys would tell the same in one call that takes ten times as long.
    const all = Object.getOwnPropertyNames(value).length + Object.getOwnPropertySymbols(value).length;
    if (all !== keys.length) this.#refuseHidden(value);
    for (const key of keys) if (key === "__proto__" || !key.isWellFormed()) this.#refuseKey(key);
    return keys;
  }

  /** The value of an own field, read without calling a getter. */
  fieldOf(value: object, key: string | number): unknown {
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    if (descriptor === undefined) {
      throw this.refusal("a hole in an array", "write undefined or null there, or make the array dense");
    }
    if (!("value" in descriptor)) throw this.refusal("a getter or setter", "only plain fields can be stored");
    return descriptor.value;
  }

  /** Refuses an array that has anything but its elements. */
  checkArray(value: readonly unknown[]): void {
    const own = Object.getOwnPropertyNames(value).length + Object.getOwnPropertySymbols(value).length;
    if (own <= value.length + 1) return;
    const key = Reflect.ownKeys(value).find((k) =>
      k !== "length" && (typeof k !== "string" || !/^\d+$/.test(k))
    );
    throw this.refusal(
      `an array with the property ${JSON.stringify(String(key))}`,
      "store an object with the array and the property instead",
    );
  }

  /** The entries of a Map, read without calling its own methods. */
  entriesOf(value: object): [unknown, unknown][] {
    this.#checkBare(value);
    const entries: [unknown, unknown][] = [];
    mapForEach.call(value as Map<unknown, unknown>, (v, k) => entries.push([k, v]));
    return entries;
  }

  /** The elements of a Set, read without calling its own methods. */
  elementsOf(value: object): unknown[] {
    this.#checkBare(value);
    const elements: unknown[] = [];
    setForEach.call(value as Set<unknown>, (v) => elements.push(v));
    return elements;
  }

  refusal(type: string, problem: string): SerializationError {
    return new SerializationError(this.#what, this.#path.text(this.#ancestors.length), type, problem);
  }

  #copyObject(value: object): unknown {
    const kind = this.kind(value);
    if (kind === "date") return sealDate(timeOf(value));
    if (kind === "bytes") return sealBytes(value);
    this.enter(value);
    const copy = kind === "object"
      ? this.#copyRecord(value)
      : kind === "array"
      ? this.#copyArray(value as unknown[])
      : kind === "map"
      ? this.#copyMap(value)
      : this.#copySet(value);
    this.leave();
    return copy;
  }

  #copyRecord(value: object): object {
    for (const key of this.keysOf(value)) {
      this.at("field", key);
      this.fieldOf(value, key);
    }
    // Now that nothing in it runs code, the whole is copied at once; what is checked is the copy.
    const copy: Record<string, unknown> = { ...value };
    for (const key of Object.keys(copy)) {
      const field = copy[key];
      this.at("field", key);
      const copied = this.copy(field);
      if (copied !== field) copy[key] = copied;
    }
    return sealRecord(copy);
  }

  #copyArray(value: readonly unknown[]): readonly unknown[] {
    this.checkArray(value);
    const copy: unknown[] = [];
    for (let i = 0; i < value.length; i++) {
      this.at("index", i);
      copy.push(this.copy(this.fieldOf(value, i)));
    }
    return sealArray(copy);
  }

  #copyMap(value: object): ReadonlyMap<unknown, unknown> {
    const copy = new Map<unknown, unknown>();
    for (const [k, v] of this.entriesOf(value)) {
      this.at("key", copy.size);
      const key = this.copy(k);
      this.at("entry", key);
      copy.set(key, this.copy(v));
    }
    return sealMap(copy);
  }

  #copySet(value: object): ReadonlySet<unknown> {
    const copy = new Set<unknown>();
    for (const element of this.elementsOf(value)) {
      this.at("element", copy.size);
      copy.add(this.copy(element));
    }
    return sealSet(copy);
  }

  #refuseHidden(value: object): never {
    const hidden = Reflect.ownKeys(value).find((key) =>
      typeof key === "symbol" || !Object.getOwnPropertyDescriptor(value, key)?.enumerable
    );
    this.at("field", hidden);
    if (typeof hidden === "symbol") throw this.refusal("under a symbol key", "keys must be strings");
    throw this.refusal("a hidden property", "only plain fields can be stored");
  }

  #refuseKey(key: string): never {
    this.at("field", key);
    if (key === "__proto__") throw this.refusal("under the key __proto__", "rename the key");
    throw this.refusal("under a key with a lone surrogate", "repair it with toWellFormed()");
  }

  #checkBare(value: object): void {
    // The mutators of a canonical Map or Set are own properties of it; on any other one nothing is expected.
    if (isMarked(value) || Reflect.ownKeys(value).length === 0) return;
    throw this.refusal("a collection with properties of its own", "only its entries can be stored");
  }
}
