/**
 * How values become bytes. The first byte is the version of the format, ours; what follows is MessagePack as msgpackr
 * writes it. msgpackr loses a few values, so those are wrapped: an array that begins with the byte 0xC1, which
 * MessagePack never uses and no user value can hold, then says what it stands for.
 *
 * msgpackr is used without its records (they mistake user keys for their own, and compile code), its registry of
 * extensions (it is shared with every other user of msgpackr in the process) and its native addon.
 */

import { Packr, RESERVE_START_SPACE, REUSE_BUFFER_MODE } from "msgpackr/pack";
import { messageOf } from "../errors.ts";
import { Slab } from "../runtime/slab.ts";
import { CodecError } from "./codec_error.ts";
import { describe, kindOf } from "./kinds.ts";
import { flagsOf, isMarkedText, WRAPPED } from "./canonical_tag.ts";
import { scan } from "./msgpack_scan.ts";

export { CodecError } from "./codec_error.ts";

/** Turns stored values into bytes and back. */
export interface Codec {
  /** A short name for messages. */
  readonly name: string;
  /**
   * The bytes of a value that consists of what the serialization table names. Nobody else uses the bytes.
   *
   * @param format The version that they carry. @default {@link FORMAT}
   */
  encode(value: unknown, format?: number): Uint8Array;
  /**
   * The value of bytes that may have been damaged or forged: an equal value with memory of its own, or a
   * {@link CodecError}, in bounded time and memory.
   *
   * @param newest The newest version that the caller knows. @default {@link FORMAT}
   */
  decode(bytes: Uint8Array, newest?: number): unknown;
}

/** The version of the format of values. Records have later ones. */
export const FORMAT = 1;
/** The first byte of what an encrypted store keeps. */
const ENCRYPTED = 0xe1;

const packr = new Packr({
  useRecords: false,
  mapsAsObjects: true,
  variableMapSize: true,
  moreTypes: true,
  useToJSON: false,
  copyBuffers: true,
});

/** msgpackr's only instance of what it reads for the byte 0xC1. */
const WRAP: unknown = packr.decode(Uint8Array.of(0xc1));

const slab = new Slab();

/** The buffer that msgpackr writes into, and where in it the last value is. */
type Packed = Uint8Array & { readonly start: number; readonly end: number };

const NEGATIVE_ZERO = 0;
const MAP = 1;
const MARKED_TEXT = 2;
const RECORD = 3;

/** The default codec. */
export const defaultCodec: Codec = {
  name: "msgpack",
  encode(value, format = FORMAT) {
    let packed: Packed;
    try {
      packed = packr.encode(wrap(value), REUSE_BUFFER_MODE | RESERVE_START_SPACE | 1) as unknown as Packed;
    } catch (error) {
      if (error instanceof CodecError) throw error;
      throw new CodecError("unsupported", `a value could not be encoded: ${messageOf(error)}`, {
        cause: error,
      });
    }
    // A plain copy: msgpackr writes into a buffer that it goes on to use.
    const { start, end } = packed;
    const bytes = slab.take(end - start);
    bytes.set(new Uint8Array(packed.buffer, packed.byteOffset + start, end - start));
    bytes[0] = format;
    return bytes;
  },
  decode(bytes, newest = FORMAT) {
    const format = bytes[0];
    if (format === undefined) throw new CodecError("malformed", "there are no bytes");
    if (format === ENCRYPTED) {
      throw new CodecError(
        "newer",
        "it is encrypted and cannot be decrypted here; give encrypted() the key of it",
      );
    }
    if (format > newest) {
      throw new CodecError(
        "newer",
        `the format is version ${format}, this code reads up to ${newest}; upgrade superstep to read it`,
      );
    }
    if (format < FORMAT) throw new CodecError("malformed", `there is no format version ${format}`);
    const wrapped = scan(bytes, 1);
    try {
      // A plain view, whatever the store handed over: a Buffer would answer with Buffers.
      const value: unknown = packr.decode(
        new Uint8Array(bytes.buffer, bytes.byteOffset + 1, bytes.byteLength - 1),
      );
      return wrapped ? unwrap(value) : value;
    } catch (error) {
      if (error instanceof CodecError) throw error;
      throw new CodecError("malformed", `the bytes cannot be decoded: ${messageOf(error)}`, { cause: error });
    }
  },
};

/** `value` with wrappings in place of what msgpackr would lose; what needs none is passed through uncopied. */
function wrap(value: unknown): unknown {
  switch (typeof value) {
    case "number":
      return value === 0 && Object.is(value, -0) ? [WRAP, NEGATIVE_ZERO] : value;
    case "string":
      return isMarkedText(value) ? [WRAP, MARKED_TEXT, wrap(value.slice(1))] : value;
    case "object":
      return value === null ? null : wrapObject(value);
    case "function":
    case "symbol":
      throw new CodecError("unsupported", `${describe(value)} cannot be encoded`);
    default:
      return value;
  }
}

/** Whether a value is one of those, by far the most, that are written as they are. */
function isBare(value: unknown): boolean {
  switch (typeof value) {
    case "number":
      return value !== 0 || !Object.is(value, -0);
    case "string":
      return !isMarkedText(value);
    case "boolean":
    case "undefined":
      return true;
    default:
      return value === null;
  }
}

function wrapObject(value: object): unknown {
  const flags = flagsOf(value);
  if (flags !== undefined && (flags & WRAPPED) === 0) return value;
  switch (kindOf(value)) {
    case "object":
      return wrapRecord(value as Record<string, unknown>);
    case "array":
      return wrapElements(value as unknown[]);
    case "map": {
      const wrapping: unknown[] = [WRAP, MAP];
      for (const [k, v] of value as Map<unknown, unknown>) wrapping.push(wrap(k), wrap(v));
      return wrapping;
    }
    case "set": {
      const elements = [...value as Set<unknown>];
      const wrapped = wrapElements(elements);
      return wrapped === elements ? value : new Set(wrapped);
    }
    case "date":
    case "bytes":
      return value;
    case undefined:
      throw new CodecError("unsupported", `${describe(value)} cannot be encoded`);
  }
}

function wrapElements(elements: readonly unknown[]): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let i = 0; i < elements.length; i++) {
    const element = elements[i];
    const wrapped = isBare(element) ? element : wrap(element);
    if (copy === undefined && wrapped !== element) copy = elements.slice(0, i);
    copy?.push(wrapped);
  }
  return copy ?? elements;
}

function wrapRecord(record: Record<string, unknown>): unknown {
  const keys = Object.keys(record);
  let copy: Record<string, unknown> | undefined;
  for (const key of keys) {
    if (isMarkedText(key) || key === "__proto__") return wrapEntries(keys, record);
    const field = record[key];
    if (isBare(field)) continue;
    const wrapped = wrap(field);
    if (wrapped === field) continue;
    copy ??= { ...record };
    copy[key] = wrapped;
  }
  return copy ?? record;
}

function wrapEntries(keys: readonly string[], record: Record<string, unknown>): unknown {
  const wrapping: unknown[] = [WRAP, RECORD];
  for (const key of keys) wrapping.push(wrap(key), wrap(record[key]));
  return wrapping;
}

/** Puts back what the wrappings in a freshly decoded value stand for. */
function unwrap(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    if (value[0] === WRAP) return unwrapArray(value);
    for (let i = 0; i < value.length; i++) value[i] = unwrap(value[i]);
    return value;
  }
  if (value instanceof Set) return new Set([...value].map(unwrap));
  if (value === WRAP) throw new CodecError("malformed", "a wrapping stands outside an array");
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const record = value as Record<string, unknown>;
  for (const key of Object.keys(record)) record[key] = unwrap(record[key]);
  return record;
}

function unwrapArray(wrapping: readonly unknown[]): unknown {
  const pairs = wrapping.length % 2 === 0;
  switch (wrapping[1]) {
    case NEGATIVE_ZERO:
      if (wrapping.length === 2) return -0;
      break;
    case MARKED_TEXT: {
      const rest = wrapping.length === 3 ? unwrap(wrapping[2]) : undefined;
      if (typeof rest === "string") return "\ufeff" + rest;
      break;
    }
    case MAP:
      if (pairs) {
        const map = new Map<unknown, unknown>();
        for (let i = 2; i < wrapping.length; i += 2) map.set(unwrap(wrapping[i]), unwrap(wrapping[i + 1]));
        return map;
      }
      break;
    case RECORD:
      if (pairs) return unwrapRecord(wrapping);
      break;
  }
  throw new CodecError("malformed", "a wrapping is not one of those this format knows");
}

function unwrapRecord(wrapping: readonly unknown[]): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (let i = 2; i < wrapping.length; i += 2) {
    const key = unwrap(wrapping[i]);
    if (typeof key !== "string") throw new CodecError("malformed", "the key of an object is not a text");
    const value = unwrap(wrapping[i + 1]);
    Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
  }
  return record;
}
