/**
 * What the value layer knows of every canonical object: its encoded size, and three facts about what is below it. A mark
 * is set once, when the object becomes canonical, and holds for ever because a canonical object never changes.
 */

import { utf8Length } from "../runtime/bytes.ts";
import type { TypedArray } from "./kinds.ts";

/** A Date or bytes are at or below the object. */
export const LEAVES = 1;
/** A value that the codec has to wrap is at or below the object: −0, a Map, a text that begins with U+FEFF. */
export const WRAPPED = 2;
/** A Map or Set is at or below the object. */
const COLLECTIONS = 4;
/** What freezing cannot protect: its content may be edited in place by whoever holds it. */
export const EDITABLE = LEAVES | COLLECTIONS;

const FLAGS = 8;
const pristine = new WeakMap<object, Content>();

/** What an editable object held when it became canonical: a time, a copy of bytes, elements, or keys and values in turn. */
export type Content = number | TypedArray | readonly unknown[];

class Itself {
  constructor(object: object) {
    return object;
  }
}

/**
 * A mark is a private field that is put on the object by returning it from the constructor of the base class. Nobody
 * can see or copy it, and it costs a fraction of a weak map, which one per object of a large state would make slow.
 */
class Mark extends Itself {
  readonly #weight: number;

  constructor(object: object, weight: number) {
    super(object);
    this.#weight = weight;
  }

  static weightOf(object: object): number | undefined {
    return #weight in object ? (object as Mark).#weight : undefined;
  }
}

/** Makes `value` known as canonical, once, and before it is frozen. */
export function mark(value: object, size: number, flags: number): void {
  new Mark(value, size * FLAGS + flags);
}

/** Whether `value` is a canonical object. */
export function isMarked(value: object): boolean {
  return Mark.weightOf(value) !== undefined;
}

/** The flags of a canonical object; `undefined` for any other. */
export function flagsOf(value: object): number | undefined {
  const found = Mark.weightOf(value);
  return found === undefined ? undefined : found % FLAGS;
}

/** Remembers what a leaf holds: the time of a Date, a copy of bytes. */
export function markLeaf(leaf: object, content: number | TypedArray): void {
  pristine.set(leaf, content);
  mark(leaf, typeof content === "number" ? dateSize(content) : bytesSize(content.byteLength), LEAVES);
}

/** Remembers what a Map or Set holds. */
export function markCollection(collection: object, content: readonly unknown[], weight: Weight): void {
  pristine.set(collection, content);
  mark(collection, weight.size, weight.flags | COLLECTIONS);
}

/** What an editable object held when it became canonical. */
export function pristineOf(value: object): Content | undefined {
  return pristine.get(value);
}

/**
 * The bytes that the default codec takes for a canonical value, its format byte not counted. Exact, and known without
 * encoding anything, because each container carries the sum of what it holds.
 */
export function sizeOf(value: unknown): number {
  return Math.floor(weigh(value) / FLAGS);
}

/** Adds up the sizes and flags of what a container holds. */
export class Weight {
  size: number;
  flags = 0;

  constructor(header: number) {
    this.size = header;
  }

  add(value: unknown): void {
    const weight = weigh(value);
    const flags = weight % FLAGS;
    this.size += (weight - flags) / FLAGS;
    this.flags |= flags;
  }

  /** Takes off the size of something that is gone; the flags it may have given stay, which does no harm. */
  remove(value: unknown): void {
    this.size -= sizeOf(value);
  }
}

/** Size and flags of a canonical value in one number. */
function weigh(value: unknown): number {
  switch (typeof value) {
    case "string":
      return textSize(value) * FLAGS + (isMarkedText(value) ? WRAPPED : 0);
    case "number":
      return numberSize(value) * FLAGS + (value === 0 && Object.is(value, -0) ? WRAPPED : 0);
    case "bigint":
      return bigintSize(value) * FLAGS;
    case "undefined":
      return 3 * FLAGS;
    case "object":
      return value === null ? FLAGS : Mark.weightOf(value) ?? FLAGS;
    default:
      return FLAGS;
  }
}

/** Whether a decoder of UTF-8 would take the first character of `text` for a byte order mark and drop it. */
export function isMarkedText(text: string): boolean {
  return text.charCodeAt(0) === 0xfeff;
}

/** The header of an array of `length` elements. */
export function arrayHeader(length: number): number {
  return length < 0x10 ? 1 : length < 0x10000 ? 3 : 5;
}

/** The header of an object of `length` entries, or of the array that stands for it when the codec wraps it. */
export function entriesHeader(length: number, wrapped: boolean): number {
  return wrapped ? arrayHeader(2 + 2 * length) + 2 : arrayHeader(length);
}

/** The header of a Set of `length` elements. */
export function setHeader(length: number): number {
  return 3 + arrayHeader(length);
}

/** The bytes of a text, as a value or as the key of an object. */
export function textSize(text: string): number {
  if (isMarkedText(text)) return 3 + textSize(text.slice(1));
  const bytes = utf8Length(text);
  return bytes + (bytes < 0x20 ? 1 : bytes < 0x100 ? 2 : bytes < 0x10000 ? 3 : 5);
}

function numberSize(value: number): number {
  if (value >>> 0 === value) {
    if (value === 0 && Object.is(value, -0)) return 3;
    return value < 0x80 ? 1 : value < 0x100 ? 2 : value < 0x10000 ? 3 : 5;
  }
  if (value >> 0 === value) return value >= -0x20 ? 1 : value >= -0x80 ? 2 : value >= -0x8000 ? 3 : 5;
  return 9;
}

function bigintSize(value: bigint): number {
  if (value >= -0x8000000000000000n && value < 0x10000000000000000n) return 9;
  const hex = (value < 0n ? ~value : value).toString(16);
  const bits = (hex.length - 1) * 4 + 32 - Math.clz32(parseInt(hex.charAt(0), 16));
  // Up to 65 536 bits msgpackr writes whole 64-bit words, above that just as many bytes as are needed.
  const bytes = bits <= 0x10000 ? Math.ceil((bits + 1) / 64) * 8 : Math.ceil((bits + 1) / 8);
  return bytes + (bytes === 16 ? 2 : bytes < 0x100 ? 3 : bytes < 0x10000 ? 4 : 6);
}

function dateSize(time: number): number {
  if (Number.isNaN(time)) return 3;
  const seconds = time / 1000;
  if (time % 1000 === 0 && seconds >= 0 && seconds < 0x100000000) return 6;
  return seconds > 0 && seconds < 0x400000000 ? 10 : 15;
}

function bytesSize(length: number): number {
  return length + (length + 1 < 0x100 ? 4 : length + 1 < 0x10000 ? 5 : 7);
}
