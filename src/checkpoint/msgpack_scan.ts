/**
 * Looks over MessagePack bytes before they are decoded, so that no bytes, however they came about, can make the
 * decoder nest without bound, allocate more than they are long, or make an object that is not in the serialization
 * table.
 */

import { CodecError } from "./codec_error.ts";
import { MAX_DEPTH } from "./kinds.ts";

/** Values nest up to {@link MAX_DEPTH}; patches and tables of parts add up to three levels for each of theirs. */
const MAX_NESTING = MAX_DEPTH * 4;

const UNDEFINED = 0x00;
const BIGINT = 0x42;
const SET = 0x73;
const TYPED_ARRAY = 0x74;
const TYPED_ARRAYS = 11;
const DATE = 0xff;

/**
 * Checks `bytes` from `start` on to be exactly one value.
 *
 * @returns Whether the byte 0xC1 stands for a value somewhere in it.
 * @throws {CodecError} When they are not.
 */
export function scan(bytes: Uint8Array, start: number): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.byteLength;
  /** For each open container, how many values are still to come after the one that is being read. */
  const open: number[] = [];
  let left = 1;
  let at = start;
  let wrapped = false;

  const need = (length: number): void => {
    if (length > end - at) throw malformed(`it ends at byte ${end}, in the middle of a value`);
  };
  const length = (width: 1 | 2 | 4): number => {
    need(width);
    const value = width === 1 ? view.getUint8(at) : width === 2 ? view.getUint16(at) : view.getUint32(at);
    at += width;
    return value;
  };
  const skip = (count: number): void => {
    need(count);
    at += count;
  };
  const enter = (children: number): void => {
    need(children);
    if (children === 0) return;
    if (open.length >= MAX_NESTING) throw malformed(`it nests deeper than ${MAX_NESTING} levels`);
    open.push(left);
    left = children;
  };
  const extension = (size: number): void => {
    need(size + 1);
    const type = view.getUint8(at);
    const first = size > 0 ? view.getUint8(at + 1) : 0;
    const known = type === DATE || (type === BIGINT && size > 0) ||
      (type === TYPED_ARRAY && size > 0 && first < TYPED_ARRAYS) || (type === UNDEFINED && size === 1);
    if (type === SET && size === 1) {
      // A Set is a tag before an array.
      left++;
      const next = end - at > 2 ? view.getUint8(at + 2) : 0;
      if ((next & 0xf0) !== 0x90 && next !== 0xdc && next !== 0xdd) throw malformed("a Set is not a list");
    } else if (!known) {
      throw malformed(`it holds the unknown extension ${type}`);
    }
    at += size + 1;
  };

  for (;;) {
    while (left === 0) {
      if (open.length === 0) {
        if (at !== end) throw malformed(`${end - at} bytes are left over`);
        return wrapped;
      }
      left = open.pop()!;
    }
    left--;
    need(1);
    const token = view.getUint8(at++);
    if (token < 0x80 || token >= 0xe0) continue;
    if (token < 0x90) enter(2 * (token & 0x0f));
    else if (token < 0xa0) enter(token & 0x0f);
    else if (token < 0xc0) skip(token & 0x1f);
    else if (token >= 0xd4 && token <= 0xd8) extension(1 << (token - 0xd4));
    else {
      switch (token) {
        case 0xc1:
          wrapped = true;
          break;
        case 0xc4:
        case 0xd9:
          skip(length(1));
          break;
        case 0xc5:
        case 0xda:
          skip(length(2));
          break;
        case 0xc6:
        case 0xdb:
          skip(length(4));
          break;
        case 0xc7:
          extension(length(1));
          break;
        case 0xc8:
          extension(length(2));
          break;
        case 0xc9:
          extension(length(4));
          break;
        case 0xcc:
        case 0xd0:
          skip(1);
          break;
        case 0xcd:
        case 0xd1:
          skip(2);
          break;
        case 0xca:
        case 0xce:
        case 0xd2:
          skip(4);
          break;
        case 0xcb:
        case 0xcf:
        case 0xd3:
          skip(8);
          break;
        case 0xdc:
          enter(length(2));
          break;
        case 0xdd:
          enter(length(4));
          break;
        case 0xde:
          enter(2 * length(2));
          break;
        case 0xdf:
          enter(2 * length(4));
          break;
      }
    }
  }
}

function malformed(problem: string): CodecError {
  return new CodecError("malformed", `the bytes are damaged: ${problem}`);
}
