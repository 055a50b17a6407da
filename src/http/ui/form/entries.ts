/** What the controls of a form hold when it stands for a value: the reverse of `read`. */

import { isDeepStrictEqual } from "node:util";
import type { Json } from "../../../model/json.ts";
import {
  chooserOf,
  type Field,
  type ListField,
  meaningsOf,
  type NumberField,
  type TextField,
} from "./fields.ts";
import { textOfNumber } from "./number.ts";
import { isObject } from "./schema.ts";
import { pickedOf } from "./time.ts";
import { read } from "./value.ts";

/**
 * What to fill a form with so that it stands for the value, given as tagged JSON; nothing when no entries would do, such
 * as for an object with keys that the form does not have.
 */
export function entriesFor(field: Field, value: Json): ReadonlyMap<string, string> | undefined {
  const entries = new Map<string, string>();
  write(field, value, entries);
  if ([...entries.values()].some(isUnfit)) return undefined;
  const again = read(field, entries);
  return "value" in again && isDeepStrictEqual(again.value, value) ? entries : undefined;
}

/** What an untouched form holds: defaults, where there are some. */
export function initialEntries(field: Field): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  fill(field, entries);
  return entries;
}

function fill(field: Field, entries: Map<string, string>): void {
  if (field.kind === "group") { for (const inner of field.fields) fill(inner, entries); }
  else if (field.kind === "variants") { for (const { field: inner } of field.options) fill(inner, entries); }
  else if ("nullable" in field) {
    const [first, another] = meaningsOf(field);
    if (first !== undefined && another !== undefined) entries.set(chooserOf(field), first);
  }
  if (field.initial !== undefined) write(field, field.initial, entries);
}

/** What no control gives back as it was put in: browsers change it. */
function isUnfit(text: string): boolean {
  return /[\0\r]/.test(text) || !text.isWellFormed();
}

/** Fills in a value, or its absence, as far as the field can say it. */
function write(field: Field, value: Json | undefined, entries: Map<string, string>): void {
  switch (field.kind) {
    case "fixed":
      return;
    case "text":
    case "number":
    case "list":
      return writeTyped(field, value, entries);
    case "json":
      entries.set(field.name, value === undefined ? "" : JSON.stringify(value, null, 2));
      return;
    case "choice": {
      const choice = field.choices.find((one) => isDeepStrictEqual(one.value, value));
      entries.set(field.name, choice?.text ?? "");
      return;
    }
    case "group": {
      const object = plainOf(value);
      for (const inner of field.fields) {
        const key = inner.path.at(-1)!;
        write(inner, object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined, entries);
      }
      return;
    }
    case "variants": {
      if (value === null || value === undefined) {
        entries.set(chooserOf(field), value === null ? "null" : "");
        return;
      }
      for (const { key, field: inner } of field.options) {
        const within = entriesFor(inner, value);
        if (within === undefined) continue;
        entries.set(chooserOf(field), key);
        for (const [name, text] of within) entries.set(name, text);
        return;
      }
    }
  }
}

function writeTyped(
  field: TextField | NumberField | ListField,
  value: Json | undefined,
  entries: Map<string, string>,
): void {
  const text = textOf(field, value);
  entries.set(field.name, text);
  if (text !== "" || !field.nullable) return;
  const meaning = value === undefined ? "absent" : value === null ? "null" : "blank";
  if (meaningsOf(field).includes(meaning)) entries.set(chooserOf(field), meaning);
}

function textOf(field: TextField | NumberField | ListField, value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  if (field.kind === "number") return textOfNumber(value) ?? "";
  if (field.kind === "text") {
    const content = field.tag === undefined ? value : untagged(value, field.tag);
    const text = typeof content === "string" ? content : "";
    return field.input === "date-time" ? pickedOf(text, field.tag !== undefined) : text;
  }
  if (!Array.isArray(value)) return "";
  const lines = value.map((item) => field.of === "string" ? String(item) : textOfNumber(item) ?? "");
  // The end of a line begins no other one, so an empty last item needs one.
  return lines.join("\n") + (lines.at(-1) === "" ? "\n" : "");
}

/** The fields of an object, when it is one and no tag. */
function plainOf(value: Json | undefined): { readonly [key: string]: Json } | undefined {
  const [key, more] = isObject(value) ? Object.keys(value) : [];
  const plain = more === undefined && key?.startsWith("$") ? untagged(value, "$plain") : value;
  return isObject(plain) ? plain as { readonly [key: string]: Json } : undefined;
}

/** What a tagged object holds. */
function untagged(value: Json | undefined, tag: string): unknown {
  return isObject(value) && Object.hasOwn(value, tag) ? value[tag] : undefined;
}
