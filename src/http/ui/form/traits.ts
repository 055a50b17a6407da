/** What a schema says of the control of its value, and to the person in front of it. */

import { type Json, toJson } from "../../../model/json.ts";
import type { Common } from "./fields.ts";
import type { Schema } from "./schema.ts";
import { shown, shownName } from "./words.ts";

/** The longest default that a form is filled with, as JSON. */
const MAX_INITIAL = 20_000;
/** Formats of which an empty text is none. */
const NEVER_EMPTY = new Set(
  ["email", "uri", "url", "date", "date-time", "time", "duration", "uuid", "ipv4", "ipv6", "hostname"],
);
const INPUTS = new Map<unknown, "email" | "url" | "date" | "date-time">([
  ["email", "email"],
  ["uri", "url"],
  ["url", "url"],
  ["date", "date"],
  ["date-time", "date-time"],
]);
/** Up to which length a text is one line. */
const LINE = 200;

/** How a string is typed. */
export function textual(schema: Schema, at: Common) {
  const { format, pattern, default: initial } = schema;
  const [min, max] = [lengthOf(schema["minLength"]), lengthOf(schema["maxLength"])];
  const isLine = format !== undefined || pattern !== undefined || max !== undefined && max <= LINE;
  const hasLines = typeof initial === "string" && initial.includes("\n");
  const input = INPUTS.get(format) ?? (isLine && !hasLines ? "text" as const : "lines" as const);
  const hint = input === "date-time"
    ? "In UTC"
    : typeof pattern === "string" && format === undefined && at.help === undefined && pattern.length <= 100
    ? `Has to match ${shown(pattern, 100)}`
    : undefined;
  return {
    kind: "text" as const,
    input,
    mayBeEmpty: !((min ?? 0) > 0) && !NEVER_EMPTY.has(String(format)),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...helpOf(at.help, hint),
  };
}

/** How a number is typed. */
export function numeric(schema: Schema) {
  const isInteger = schema["type"] === "integer";
  const above = numberIn(schema["exclusiveMinimum"]);
  const below = numberIn(schema["exclusiveMaximum"]);
  const min = numberIn(schema["minimum"]) ??
    (isInteger && above !== undefined ? Math.floor(above) + 1 : undefined);
  const max = numberIn(schema["maximum"]) ??
    (isInteger && below !== undefined ? Math.ceil(below) - 1 : undefined);
  const step = numberIn(schema["multipleOf"]);
  return {
    kind: "number" as const,
    isInteger,
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(step === undefined || step <= 0 ? {} : { step }),
  };
}

/** Limits that every number keeps, such as those of whole numbers in zod, are none. */
function numberIn(value: unknown): number | undefined {
  return typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
}

function lengthOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Whether it allows strings only, although it does not say so. */
export function isTextual({ type, enum: values }: Schema): boolean {
  return type === undefined && Array.isArray(values) && values.every((value) => typeof value === "string");
}

/** The title of a schema in place of the label, and its description. */
export function describe(schema: Schema, at: Pick<Common, "label">): Pick<Common, "label" | "help"> {
  const { description } = schema;
  return {
    label: titleOf(schema) ?? at.label,
    ...(typeof description === "string" && description.trim() !== ""
      ? { help: shown(description, 2_000) }
      : {}),
  };
}

/** What it is called, if it says so. */
export function titleOf({ title }: Schema): string | undefined {
  return typeof title === "string" && title.trim() !== "" ? shownName(title) : undefined;
}

/** What its values are called. */
export function wordFor({ type }: Schema): string {
  return WORDS.get(type) ?? "Fields";
}

const WORDS = new Map<unknown, string>([
  ["string", "Text"],
  ["number", "Number"],
  ["integer", "Whole number"],
  ["array", "List"],
]);

/** A default as tagged JSON; nothing when there is none or it is too much to be filled in. */
export function initialOf(schema: Schema): Json | undefined {
  if (!("default" in schema) || !isShallow(schema["default"])) return undefined;
  const json = toJson(schema["default"]);
  return JSON.stringify(json).length <= MAX_INITIAL ? json : undefined;
}

function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth < 50 && Object.values(value).every((inner) => isShallow(inner, depth + 1));
}

/** Help that says all of the texts, each in a line of its own. */
export function helpOf(...texts: readonly (string | undefined)[]): Pick<Common, "help"> {
  const said = texts.filter((text) => text !== undefined && text !== "");
  return said.length === 0 ? {} : { help: said.join("\n") };
}
