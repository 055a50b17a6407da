import { sha256Hex } from "../runtime/hash.ts";
import { canonical } from "./canonical.ts";
import { kindOf, timeOf, type TypedArray } from "./kinds.ts";
import { isMarked } from "./canonical_tag.ts";

/**
 * The sha256 of a value, as hex: the same for equal values whatever the order of their keys and entries, on every
 * runtime and in every version, and different where only a type differs (`1` and `1n`, `undefined` and absent).
 *
 * @throws {SerializationError} When the value cannot be stored.
 */
export function digest(value: unknown): string {
  return sha256Hex(
    spell(
      typeof value === "object" && value !== null && isMarked(value)
        ? value
        : canonical(value, "a value to be compared"),
    ),
  );
}

/** A canonical value as a text that no other value has. */
function spell(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      return Object.is(value, -0) ? "d-0" : `d${value}`;
    case "bigint":
      return `i${value}`;
    case "boolean":
      return value ? "t" : "f";
    case "object":
      return value === null ? "n" : spellObject(value);
    default:
      return "u";
  }
}

function spellObject(value: object): string {
  switch (kindOf(value)!) {
    case "array":
      return `[${(value as unknown[]).map(spell).join()}]`;
    case "map":
      return `M{${sorted([...value as Map<unknown, unknown>].map(([k, v]) => `${spell(k)}:${spell(v)}`))}}`;
    case "set":
      return `S{${sorted([...value as Set<unknown>].map(spell))}}`;
    case "object":
      return `{${sorted(Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}:${spell(v)}`))}}`;
    case "date":
      return `D${timeOf(value)}`;
    case "bytes": {
      const bytes = value as TypedArray;
      const content = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return `B${bytes[Symbol.toStringTag]}:${sha256Hex(content)}`;
    }
  }
}

function sorted(texts: string[]): string {
  return texts.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)).join();
}
