/**
 * What a value is, found out without running any code of its owner: only prototypes, own descriptors and internal
 * slots are looked at, never a property of the value itself.
 */

import { isBuffer, sameBytes } from "../runtime/bytes.ts";

/** The objects that can be stored. */
export type Kind = "object" | "array" | "map" | "set" | "date" | "bytes";

/** The typed arrays that can be stored. */
export type TypedArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/** How deep a stored value may nest. */
export const MAX_DEPTH = 256;

const TYPED_ARRAYS = new Map(
  [
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
    BigInt64Array,
    BigUint64Array,
  ].map((type) => [type.prototype as object, type as unknown as TypedArrayType]),
);

/** What is used of the class of a typed array. */
interface TypedArrayType {
  readonly name: string;
  new (from: TypedArray): TypedArray;
}

const tagOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)!
  .get as (this: unknown) => string | undefined;

/** The kind of an object, or `undefined` when it cannot be stored. Throws only when a proxy does. */
export function kindOf(value: object): Kind | undefined {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === Object.prototype || prototype === null) return "object";
  if (prototype === Array.prototype) return Array.isArray(value) ? "array" : undefined;
  if (prototype === Map.prototype) return "map";
  if (prototype === Set.prototype) return "set";
  if (prototype === Date.prototype) return "date";
  const typed = TYPED_ARRAYS.get(prototype);
  if (typed !== undefined) return tagOf.call(value) === typed.name ? "bytes" : undefined;
  return isBuffer(value) && tagOf.call(value) === "Uint8Array" ? "bytes" : undefined;
}

/** Whether a value is an object of that kind. */
export function isKind(value: unknown, kind: Kind): boolean {
  return typeof value === "object" && value !== null && kindOf(value) === kind;
}

/** Whether two Dates, or two arrays of bytes, hold the same. */
export function isSameLeaf(kind: "date" | "bytes", a: object, b: object): boolean {
  if (kind === "date") return Object.is(timeOf(a), timeOf(b));
  return Object.getPrototypeOf(a) === Object.getPrototypeOf(b) && sameBytes(a as TypedArray, b as TypedArray);
}

/** A copy of a typed array with memory of its own; a Buffer becomes a `Uint8Array`. */
export function copyBytes(value: object): TypedArray {
  const typed = TYPED_ARRAYS.get(Object.getPrototypeOf(value) as object);
  return typed === undefined ? new Uint8Array(value as Uint8Array) : new typed(value as TypedArray);
}

/** The milliseconds of a Date, read from its internal slot. Throws when `value` only imitates a Date. */
export function timeOf(value: object): number {
  return Date.prototype.getTime.call(value);
}

/** What a refused value is, in words for a message. */
export function describe(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value !== "object" || value === null) return typeof value;
  try {
    if (value instanceof Promise) return "a promise";
    const prototype = Object.getPrototypeOf(value) as object | null;
    const constructor = prototype === null
      ? undefined
      : Object.getOwnPropertyDescriptor(prototype, "constructor")?.value as unknown;
    const name = typeof constructor === "function"
      ? Object.getOwnPropertyDescriptor(constructor, "name")?.value as unknown
      : undefined;
    return typeof name === "string" && name !== ""
      ? `an instance of ${name}`
      : "an instance of an unnamed class";
  } catch {
    return "a proxy that throws";
  }
}
