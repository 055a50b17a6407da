/**
 * Storable values as JSON that loses nothing, for everything that leaves or enters the process as text.
 *
 * | value | JSON |
 * | --- | --- |
 * | `null`, booleans, strings, ordinary numbers, arrays, plain objects | themselves |
 * | `undefined` | `{"$undefined": true}` |
 * | NaN, Infinity, -Infinity, -0 | `{"$number": "NaN"}`, `"Infinity"`, `"-Infinity"`, `"-0"` |
 * | bigint | `{"$bigint": "12345678901234567890"}` |
 * | Date | `{"$date": "2026-11-29T12:00:00.000Z"}`; an invalid one has `null` |
 * | Map | `{"$map": [[key, value], …]}` |
 * | Set | `{"$set": [value, …]}` |
 * | `Uint8Array` | `{"$bytes": "<base64>"}` |
 * | another typed array | `{"$typed": ["Float32Array", "<base64>"]}` |
 * | a plain object whose only key begins with `$` | `{"$plain": {"$key": value}}` |
 *
 * Reading is lenient where nothing can be meant otherwise: an object with one unknown `$` key is that object.
 */
import { ArgumentError } from "../errors.ts";
import { fromBase64, toBase64 } from "../runtime/base64.ts";

/** What JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A storable value as JSON. Whatever cannot be stored comes out as JSON would have it. */
export function toJson(value: unknown): Json {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : { $number: Object.is(value, -0) ? "-0" : String(value) };
    case "bigint":
      return { $bigint: String(value) };
    case "object":
      return value === null ? null : objectToJson(value);
    case "undefined":
      return { $undefined: true };
    default:
      return String(value);
  }
}

/**
 * The value that JSON stands for: the reverse of {@link toJson}.
 *
 * @param what Names the value in errors, such as `the input`.
 * @throws {ArgumentError} when a tag holds what it cannot mean, or the value nests deeper than any that can be stored
 */
export function fromJson(json: unknown, what: string): unknown {
  return decoded(json, { what, step: "", depth: 0 });
}

/** More levels than a storable value may have. */
const MAX_DEPTH = 600;

/** Where a value is; the text of it is made for errors only. */
interface Place {
  readonly what: string;
  readonly step: string | number;
  readonly depth: number;
  readonly parent?: Place;
}

const TYPED = new Map(
  [
    Int8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
    BigInt64Array,
    BigUint64Array,
  ].map((type) => [type.name, type] as const),
);

function objectToJson(value: object): Json {
  if (Array.isArray(value)) return value.map(toJson);
  if (value instanceof Map) return { $map: [...value].map(([k, v]) => [toJson(k), toJson(v)]) };
  if (value instanceof Set) return { $set: [...value].map(toJson) };
  if (value instanceof Date) return { $date: Number.isNaN(value.getTime()) ? null : value.toISOString() };
  if (ArrayBuffer.isView(value)) {
    const name = Object.prototype.toString.call(value).slice(8, -1);
    return name === "Uint8Array" ? { $bytes: toBase64(value) } : { $typed: [name, toBase64(value)] };
  }
  // Entries are defined, never assigned: a key such as `__proto__` stays a key.
  const plain = Object.fromEntries(Object.entries(value).map(([k, v]) => [k, toJson(v)]));
  return tagOf(plain) === undefined ? plain : { $plain: plain };
}

/** The only key of an object, when it begins with `$`. */
function tagOf(object: object): string | undefined {
  const [key, more] = Object.keys(object);
  return more === undefined && key?.startsWith("$") ? key : undefined;
}

function decoded(json: unknown, at: Place): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (at.depth > MAX_DEPTH) throw new ArgumentError(at.what, `it nests deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(json)) return json.map((item, i) => decoded(item, below(at, i)));
  const tag = tagOf(json);
  if (tag !== undefined) {
    const read = READERS[tag];
    if (read !== undefined) return read((json as Readonly<Record<string, unknown>>)[tag], below(at, tag));
  }
  return plainFrom(json, at);
}

function plainFrom(json: object, at: Place): unknown {
  return Object.fromEntries(Object.entries(json).map(([k, v]) => [k, decoded(v, below(at, k))]));
}

function below(parent: Place, step: string | number): Place {
  return { what: parent.what, step, depth: parent.depth + 1, parent };
}

function pathOf({ step, parent }: Place): string {
  const before = parent === undefined ? "" : pathOf(parent);
  return typeof step === "number" ? `${before}[${step}]` : before === "" ? step : `${before}.${step}`;
}

function refused(content: unknown, at: Place, wanted: string): ArgumentError {
  const shown = JSON.stringify(content)?.slice(0, 80);
  return new ArgumentError(at.what, `${pathOf(at).slice(0, 200)} is ${shown}; it must be ${wanted}`);
}

type Reader = (content: unknown, at: Place) => unknown;

/** One reader per tag; without a prototype, so that no other name is one. */
const READERS: Readonly<Record<string, Reader | undefined>> = Object.assign(
  Object.create(null),
  {
    $undefined(content, at) {
      if (content === true) return undefined;
      throw refused(content, at, "true");
    },
    $number(content, at) {
      if (typeof content === "string" && ["NaN", "Infinity", "-Infinity", "-0"].includes(content)) {
        return Number(content);
      }
      throw refused(content, at, '"NaN", "Infinity", "-Infinity" or "-0"');
    },
    $bigint(content, at) {
      if (typeof content === "string" && /^-?\d+$/.test(content)) return BigInt(content);
      throw refused(content, at, "a text of digits");
    },
    $date(content, at) {
      if (content === null) return new Date(NaN);
      const date = new Date(typeof content === "string" ? content : NaN);
      if (!Number.isNaN(date.getTime())) return date;
      throw refused(content, at, "an ISO 8601 time");
    },
    $map(content, at) {
      if (!Array.isArray(content) || !content.every((entry) => Array.isArray(entry) && entry.length === 2)) {
        throw refused(content, at, "an array of [key, value] pairs");
      }
      return new Map(
        content.map(([k, v], i) => [decoded(k, below(below(at, i), 0)), decoded(v, below(below(at, i), 1))]),
      );
    },
    $set(content, at) {
      if (!Array.isArray(content)) throw refused(content, at, "an array");
      return new Set(content.map((item, i) => decoded(item, below(at, i))));
    },
    $bytes: bytesFrom,
    $typed(content, at) {
      const [name, text] = Array.isArray(content) ? content : [];
      const type = TYPED.get(name);
      const bytes = type === undefined ? undefined : bytesFrom(text, below(at, 1));
      if (type === undefined || bytes === undefined || bytes.byteLength % type.BYTES_PER_ELEMENT !== 0) {
        throw refused(content, at, "the name of a typed array and its bytes");
      }
      return new type(bytes.slice().buffer);
    },
    $plain(content, at) {
      if (typeof content === "object" && content !== null && !Array.isArray(content)) {
        return plainFrom(content, at);
      }
      throw refused(content, at, "an object");
    },
  } satisfies Record<string, Reader>,
);

function bytesFrom(content: unknown, at: Place): Uint8Array {
  const bytes = typeof content === "string" ? fromBase64(content) : undefined;
  if (bytes !== undefined) return bytes;
  throw refused(content, at, "base64 text");
}
