/**
 * Nothing that comes from a store, a workflow or a user reaches a terminal as it is: escape sequences, control
 * characters and marks that turn the direction of writing are taken out first.
 */
import { stripVTControlCharacters } from "node:util";
import { toJson } from "../model/json.ts";

const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const UNSAFE_IN_BLOCKS = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** What JSON leaves as it is inside strings although a terminal may act upon it. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text as one line that does nothing to a terminal, cut to `max` characters. */
export function line(text: string, max = Infinity): string {
  const plain = stripVTControlCharacters(text).replace(UNSAFE, " ").trim();
  return plain.length <= max ? plain : `${plain.slice(0, max - 1).toWellFormed()}…`;
}

/** A text that keeps its lines and does nothing else to a terminal. */
export function block(text: string): string {
  return stripVTControlCharacters(text).replace(UNSAFE_IN_BLOCKS, " ");
}

/** A storable value as JSON text, see `model/json.ts`; the same text for people and machines. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(toJson(value), null, indent);
  return text.replace(UNSAFE_IN_JSON, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A storable value in a line of its own length at most. */
export function shortJson(value: unknown, max = 80): string {
  return line(jsonText(value), max);
}
