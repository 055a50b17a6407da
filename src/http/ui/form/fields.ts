/** The fields of a form, as plain data: what can be asked for one by one, and what only JSON can say. */

import type { Json } from "../../../model/json.ts";

/** A field, made from a schema by `modelOf`. */
export type Field =
  | TextField
  | NumberField
  | ListField
  | JsonField
  | ChoiceField
  | FixedField
  | GroupField
  | VariantsField;

/** What every field has. */
export interface Common {
  /** Of its control. Unlike all others of the form, and nothing but printable ASCII. */
  readonly name: string;
  /** The keys that lead to its value. */
  readonly path: readonly string[];
  readonly label: string;
  readonly help?: string;
  /** Whether the value may not be left out. */
  readonly required: boolean;
  /** What stands for a value that is left out, as tagged JSON. */
  readonly initial?: Json;
}

/** The label of a whole value whose schema has no title. */
export const UNTITLED = "Value";

/** What can be typed; what an empty text means is {@link meaningsOf}. */
interface Typed extends Common {
  /** Whether the value may be `null`. */
  readonly nullable: boolean;
  /** Whether an empty text is a value: the empty string, or the empty list. */
  readonly mayBeEmpty: boolean;
}

/** A string, or what is written as one and tagged, as `model/json.ts` has it. */
export interface TextField extends Typed {
  readonly kind: "text";
  readonly input: "text" | "email" | "url" | "date" | "date-time" | "lines";
  readonly tag?: "$date" | "$bigint";
  readonly min?: number;
  readonly max?: number;
}

/** A number. */
export interface NumberField extends Typed {
  readonly kind: "number";
  readonly isInteger: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
}

/** An array of strings or numbers, a line each. */
export interface ListField extends Typed {
  readonly kind: "list";
  readonly of: "string" | "number" | "integer";
}

/** Whatever no other field can say, typed as JSON. */
export interface JsonField extends Common {
  readonly kind: "json";
}

/** One of several values. */
export interface ChoiceField extends Common {
  readonly kind: "choice";
  readonly choices: readonly Choice[];
}

/** A value that may be chosen. */
export interface Choice {
  /** What its control submits: the value as JSON, so that it means the same wherever it stands. */
  readonly text: string;
  readonly label: string;
  readonly value: Json;
}

/** The only value that is possible where it stands: nothing is asked. */
interface FixedField extends Common {
  readonly kind: "fixed";
  readonly value: Json;
}

/** An object. */
export interface GroupField extends Common {
  readonly kind: "group";
  readonly fields: readonly Field[];
}

/**
 * Values of different make, of which one is chosen; also an object that may be left out or be `null`. Which one it is
 * has a control of its own, {@link chooserOf}.
 */
export interface VariantsField extends Common {
  readonly kind: "variants";
  readonly nullable: boolean;
  readonly options: readonly Variant[];
  /** What the controls of its options hold as long as nobody has filled them in. */
  readonly untouched: ReadonlyMap<string, string>;
}

/** One of the makes. */
export interface Variant {
  /** What the chooser submits. */
  readonly key: string;
  readonly label: string;
  readonly field: Field;
}

/** What an empty text may mean. */
export type Meaning = "absent" | "null" | "blank";

/**
 * What the empty text of a field may mean, first what it means when nothing is said; where that is several things, they are
 * chosen among by {@link chooserOf}. Where it means nothing, a text must be given.
 */
export function meaningsOf(field: TextField | NumberField | ListField): readonly Meaning[] {
  const { nullable, required, mayBeEmpty, initial } = field;
  // What is emptied where a default stood is not meant to come back.
  if (!nullable && mayBeEmpty && (required || initial !== undefined)) return ["blank"];
  return [
    ...(required ? [] : ["absent"] as const),
    ...(nullable ? ["null"] as const : []),
    ...(nullable && mayBeEmpty ? ["blank"] as const : []),
  ];
}

/** Whether a form cannot be sent without it. */
export function mustBeGiven(field: Field): boolean {
  switch (field.kind) {
    case "text":
    case "number":
    case "list":
      return meaningsOf(field).length === 0;
    case "group":
      return field.fields.some(mustBeGiven);
    case "fixed":
      return false;
    default:
      return field.required;
  }
}

/** The name of the control that says what an empty text means, or which variant it is. */
export function chooserOf({ name }: Common): string {
  return `${name}?`;
}

/** A field and all that are in it. */
export function* allIn(field: Field): Iterable<Field> {
  yield field;
  if (field.kind === "group") { for (const inner of field.fields) yield* allIn(inner); }
  if (field.kind === "variants") { for (const { field: inner } of field.options) yield* allIn(inner); }
}

/** The name of the control of something inside another one; nothing when it has no name that is fit for one. */
export function nameWithin(name: string, separator: "/" | ":", key: string): string | undefined {
  if (key.length > MAX_NAME || !key.isWellFormed()) return undefined;
  const inner = `${name}${separator}${encodeURIComponent(key)}`;
  return inner.length > MAX_NAME ? undefined : inner;
}

const MAX_NAME = 1_000;
