import { Slab } from "../../runtime/slab.ts";

/**
 * Every value is a frame: a format byte, the length of a small JSON array, the array, and raw bytes. The array names
 * what the adapter needs; the bytes belong to the caller.
 */
const FORMAT = 1;
const PREFIX = 3;

/** What one value may hold. */
export const MAX_VALUE = 65_536;

const slab = new Slab();
const utf8 = new TextEncoder();
const text = new TextDecoder("utf-8", { fatal: true });
const NOTHING = new Uint8Array(0);

/** The array and the bytes of a frame. */
export interface Frame {
  readonly meta: readonly unknown[];
  readonly body: Uint8Array;
}

/** Builds a frame. */
export function frame(meta: readonly unknown[], body: Uint8Array = NOTHING): Uint8Array {
  const head = JSON.stringify(meta);
  return plainFrame(head, body) ?? framed(utf8.encode(head), body);
}

/** The frame of a head of plain ASCII, as nearly all are; written in place, which is faster than an encoder. */
function plainFrame(head: string, body: Uint8Array): Uint8Array | undefined {
  const value = opened(head.length, body);
  for (let i = 0; i < head.length; i++) {
    const code = head.charCodeAt(i);
    if (code > 0x7f) return undefined;
    value[PREFIX + i] = code;
  }
  return value;
}

function framed(head: Uint8Array, body: Uint8Array): Uint8Array {
  const value = opened(head.length, body);
  value.set(head, PREFIX);
  return value;
}

/** A frame with its prefix and its body. */
function opened(length: number, body: Uint8Array): Uint8Array {
  if (length > 0xffff) {
    throw new ValueFault(`a row takes ${length} bytes beside its body, at most 65535 are kept`);
  }
  const value = slab.take(PREFIX + length + body.length);
  value[0] = FORMAT;
  value[1] = length & 0xff;
  value[2] = length >> 8;
  value.set(body, PREFIX + length);
  return value;
}

/** Takes a frame apart, without trusting it. */
export function unframe(value: unknown, what: string): Frame {
  if (!(value instanceof Uint8Array) || value.length < PREFIX || value[0] !== FORMAT) throw corrupt(what);
  const end = PREFIX + (value[1]! | value[2]! << 8);
  if (end > value.length) throw corrupt(what);
  let meta: unknown;
  try {
    meta = JSON.parse(text.decode(value.subarray(PREFIX, end)));
  } catch (cause) {
    throw corrupt(what, cause);
  }
  if (!Array.isArray(meta)) throw corrupt(what);
  return { meta, body: bytesOf(value, end) };
}

/** A value that cannot be stored or was not stored here. A session makes it the `StoreError` of the call that met it. */
export class ValueFault extends Error {}

/** The fault of bytes that this adapter did not write. */
export function corrupt(what: string, cause?: unknown): ValueFault {
  return new ValueFault(
    `${what} is not what this version wrote; the file was changed by something else or is of a newer version`,
    { cause },
  );
}

/** A plain view: the package hands out Buffers. */
function bytesOf(value: Uint8Array, from: number): Uint8Array {
  return new Uint8Array(value.buffer, value.byteOffset + from, value.length - from);
}
