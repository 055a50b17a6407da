import { Buffer } from "node:buffer";

/** Whether two byte arrays hold the same bytes. */
export function sameBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  return a.byteLength === b.byteLength &&
    Buffer.from(a.buffer, a.byteOffset, a.byteLength)
      .equals(new Uint8Array(b.buffer, b.byteOffset, b.byteLength));
}

/** Whether `value` is a Node Buffer, which is a `Uint8Array` with a prototype of its own. */
export function isBuffer(value: object): value is Uint8Array {
  return Buffer.isBuffer(value);
}

/** How many bytes `text` takes in UTF-8. */
export function utf8Length(text: string): number {
  const length = text.length;
  if (length > 40) return Buffer.byteLength(text);
  let bytes = length;
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i);
    // Each half of a surrogate pair counts two: four bytes for the pair.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit & 0xf800) !== 0xd800 ? 2 : 1;
  }
  return bytes;
}
