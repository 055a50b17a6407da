/**
 * The value that a submitted form stands for.
 *
 * 1. A value is what was typed, character by character; browsers break the lines of a text area with CR LF, which is read
 *    as LF. A number that cannot be kept exactly is refused.
 * 2. An empty text is what {@link meaningsOf} says: a text that must be given is not the empty one, unless its schema says
 *    in so many words that it may be. Where an empty text is meant all the same, it is sent over the API. In JSON and in
 *    lists of numbers empty lines mean nothing; in a list of texts each is an item, and the end of the last line begins no
 *    other one.
 * 3. What was typed is not dropped in silence: an object that was filled in and neither chosen nor left out is refused.
 *    Of variants only the chosen one is read.
 * 4. Names that the form does not have are not looked at; of several values of a name the first counts.
 */

import { reasonOf } from "../../../errors.ts";
import { fromJson, type Json } from "../../../model/json.ts";
import type { Issue } from "../../wire.ts";
import {
  allIn,
  chooserOf,
  type Field,
  type GroupField,
  type JsonField,
  type ListField,
  type Meaning,
  meaningsOf,
  type NumberField,
  type TextField,
  type VariantsField,
} from "./fields.ts";
import { numberOf } from "./number.ts";
import { pathText, type Step } from "./path.ts";
import { instantOf, timeOf } from "./time.ts";
import { shown } from "./safe_text.ts";

/** What was submitted, by name: a map, or the `URLSearchParams` of the body. */
export interface Entries {
  get(name: string): string | null | undefined;
}

/** What a field stands for as tagged JSON, absent when it is left out; or what is wrong with it. */
type Read = { readonly value?: Json } | { readonly issues: readonly Issue[] };

/** Reads a field and everything in it. */
export function read(field: Field, entries: Entries): Read {
  const reader = new Reader(entries);
  const value = reader.read(field);
  if (reader.issues.length > 0) return { issues: reader.issues };
  return value === undefined ? {} : { value };
}

/** What a control was submitted with; empty when it was not. */
export function entryOf(entries: Entries, name: string): string {
  return (entries.get(name) ?? "").replaceAll("\r\n", "\n");
}

/** What an empty text is to mean; nothing where a text must be given. */
export function meaningOf(field: TextField | NumberField | ListField, entries: Entries): Meaning | undefined {
  const [first, ...others] = meaningsOf(field);
  const chosen = entries.get(chooserOf(field));
  return others.find((one) => one === chosen) ?? first;
}

/** Whether a field, or one in it, was submitted with something else than stood there. */
export function isTouched(
  field: Field,
  entries: Entries,
  untouched: ReadonlyMap<string, string>,
): boolean {
  const isChanged = (name: string) =>
    (entries.get(name) ?? undefined) !== undefined && entryOf(entries, name) !== (untouched.get(name) ?? "");
  return [...allIn(field)].some((one) => isChanged(one.name) || isChanged(chooserOf(one)));
}

/** What a form says when nothing is given where something must be. */
const MISSING = "give a value";
const NO_TIME = "give a date and time, such as 2026-12-31T23:59:59Z";
const UNKNOWN = "choose one of those offered";

class Reader {
  readonly issues: Issue[] = [];
  readonly #entries: Entries;

  constructor(entries: Entries) {
    this.#entries = entries;
  }

  /** The value, or nothing where it is absent or something is wrong. */
  read(field: Field): Json | undefined {
    switch (field.kind) {
      case "text":
      case "number":
      case "list":
        return this.#typed(field);
      case "json":
        return this.#json(field);
      case "fixed":
        return field.value;
      case "group":
        return this.#group(field);
      case "variants":
        return this.#variants(field);
      case "choice": {
        const chosen = this.#entry(field.name);
        if (chosen === "") return field.required ? this.#wrong(field, "choose one") : undefined;
        const choice = field.choices.find(({ text }) => text === chosen);
        return choice === undefined ? this.#wrong(field, UNKNOWN) : choice.value;
      }
    }
  }

  #entry(name: string): string {
    return entryOf(this.#entries, name);
  }

  #wrong({ path }: Field, message: string, ...within: readonly Step[]): undefined {
    this.issues.push({ path: pathText([...path, ...within]), message });
  }

  #typed(field: TextField | NumberField | ListField): Json | undefined {
    const text = this.#entry(field.name);
    if (text === "") return this.#empty(field);
    if (field.kind === "text") return this.#text(field, text);
    if (field.kind === "list") return this.#list(field, text);
    const number = numberOf(text, field.isInteger);
    return "problem" in number ? this.#wrong(field, number.problem) : number.value;
  }

  #text(field: TextField, text: string): Json | undefined {
    if (field.tag === undefined) return field.input === "date-time" ? timeOf(text) : text;
    if (field.tag === "$bigint") {
      const $bigint = text.trim();
      return /^-?\d+$/.test($bigint) ? { $bigint } : this.#wrong(field, "give a whole number");
    }
    const $date = instantOf(text);
    return $date === undefined ? this.#wrong(field, NO_TIME) : { $date };
  }

  #empty(field: TextField | NumberField | ListField): Json | undefined {
    switch (meaningOf(field, this.#entries)) {
      case "absent":
        return undefined;
      case "null":
        return null;
      case "blank":
        return field.kind === "list" ? [] : "";
      case undefined:
        return this.#wrong(field, MISSING);
    }
  }

  #list(field: ListField, text: string): Json | undefined {
    const lines = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
    if (field.of === "string") return lines;
    return lines.filter((line) => line.trim() !== "").map((line, i) => {
      const number = numberOf(line, field.of === "integer");
      if ("value" in number) return number.value;
      this.#wrong(field, number.problem, i);
      return null;
    });
  }

  #json(field: JsonField): Json | undefined {
    const text = this.#entry(field.name);
    if (text.trim() === "") return field.required ? this.#wrong(field, `${MISSING}, as JSON`) : undefined;
    try {
      const json = JSON.parse(text);
      fromJson(json, "it");
      return json;
    } catch (error) {
      return this.#wrong(field, `it must be JSON: ${shown(reasonOf(error), 200)}`);
    }
  }

  #group({ fields }: GroupField): Json {
    const entries: [string, Json][] = [];
    for (const field of fields) {
      const value = this.read(field);
      if (value !== undefined) entries.push([field.path.at(-1)!, value]);
    }
    // Entries are defined, never assigned: a field such as `__proto__` stays a field.
    const object = Object.fromEntries(entries);
    return entries.length === 1 && entries[0]![0].startsWith("$") ? { $plain: object } : object;
  }

  #variants(field: VariantsField): Json | undefined {
    const chosen = this.#entries.get(chooserOf(field)) ?? undefined;
    if (chosen === "null" && field.nullable) return null;
    if (chosen === "" && !field.required) return undefined;
    if (chosen === undefined || chosen === "") {
      if (field.required) return this.#wrong(field, "choose one");
      return isTouched(field, this.#entries, field.untouched)
        ? this.#wrong(field, "it is filled in: choose whether it is meant")
        : undefined;
    }
    const option = field.options.find(({ key }) => key === chosen);
    return option === undefined ? this.#wrong(field, UNKNOWN) : this.read(option.field);
  }
}
