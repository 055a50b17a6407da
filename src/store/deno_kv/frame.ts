/**
 * Every value is a frame: a format byte, the length of a small JSON array, the array, and raw bytes. The array names
 * what the adapter needs; the bytes belong to the caller.
 */
const FORMAT = 1;
const PREFIX = 3;

/** What one value may hold. */
export const MAX_VALUE = 65_536;

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
  const head = utf8.encode(JSON.stringify(meta));
  if (head.length > 0xffff) {
    throw new ValueFault(`a row takes ${head.length} bytes beside its body, at most 65535 are kept`);
  }
  const value = new Uint8Array(PREFIX + head.length + body.length);
  value[0] = FORMAT;
  value[1] = head.length & 0xff;
  value[2] = head.length >> 8;
  value.set(head, PREFIX);
  value.set(body, PREFIX + head.length);
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
