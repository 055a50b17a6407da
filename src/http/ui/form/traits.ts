/** What a schema says of the control of its value, and to the person in front of it. */

import type { Json } from "../../../model/json.ts";
import type { Common } from "./fields.ts";
import { type Schema, tagOf } from "./schema.ts";
import { shown, shownName } from "./safe_text.ts";

/** The longest default that a form is filled with, as JSON. */
const MAX_INITIAL = 20_000;
const INPUTS = new Map<unknown, "email" | "url" | "date" | "date-time">([
  ["email", "email"],
  ["uri", "url"],
  ["url", "url"],
  ["date", "date"],
  ["date-time", "date-time"],
]);
/** Up to which length a text is one line. */
const LINE = 100;

/** How a string is typed. */
export function textual(schema: Schema, at: Common) {
  const { format, pattern, default: initial } = schema;
  const [min, max] = [lengthOf(schema["minLength"]), lengthOf(schema["maxLength"])];
  const isLine = format !== undefined || pattern !== undefined || max !== undefined && max <= LINE;
  const input = INPUTS.get(format) ?? (isLine ? "text" as const : "lines" as const);
  // That a schema does not forbid the empty text does not say that it is meant.
  const allowsEmpty = min === 0 || typeof initial === "string" ||
    Array.isArray(schema["enum"]) && schema["enum"].includes("");
  const hint = input === "date-time"
    ? UTC
    : typeof pattern === "string" && format === undefined && at.help === undefined && pattern.length <= 100
    ? `Has to match ${shown(pattern, 100)}`
    : undefined;
  return {
    kind: "text" as const,
    input,
    mayBeEmpty: allowsEmpty && !min && format === undefined,
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...helpOf(
      at.help,
      hint,
      rangeOf({ min: min === undefined || min < 2 ? undefined : min, max }, "character"),
    ),
  };
}

const UTC = "In UTC";

/** How what JSON has no word for is typed. */
export function tagged(tag: "$date" | "$bigint", at: Common) {
  return {
    kind: "text" as const,
    tag,
    input: tag === "$date" ? "date-time" as const : "text" as const,
    mayBeEmpty: false,
    ...helpOf(at.help, tag === "$date" ? UTC : "A whole number"),
  };
}

/** How a number is typed. */
export function numeric(schema: Schema, at: Common) {
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
    ...helpOf(
      at.help,
      rangeOf({ min, max, above, below }),
      step === undefined || step <= 0 ? undefined : `In steps of ${step}`,
    ),
  };
}

/** How many items an array may have, in words. */
export function sizeOf({ minItems, maxItems }: Schema): string {
  return rangeOf({ min: lengthOf(minItems) || undefined, max: lengthOf(maxItems) }, "item");
}

type Limit = "min" | "max" | "above" | "below";

function rangeOf(limits: { readonly [K in Limit]?: number | undefined }, unit = ""): string {
  const { min, max, above, below } = limits;
  const least = min === undefined ? above === undefined ? "" : `more than ${above}` : `at least ${min}`;
  const most = max === undefined ? below === undefined ? "" : `less than ${below}` : `up to ${max}`;
  const range = min === undefined || max === undefined
    ? [least, most].filter(Boolean).join(", ")
    : min === max
    ? `exactly ${min}`
    : `from ${min} to ${max}`;
  const units = range === "" || unit === "" ? "" : (max ?? min) === 1 ? ` ${unit}` : ` ${unit}s`;
  return range.charAt(0).toUpperCase() + range.slice(1) + units;
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
export function wordFor(schema: Schema): string {
  return WORDS.get(tagOf(schema) ?? schema["type"]) ?? "Fields";
}

const WORDS = new Map<unknown, string>([
  ["$date", "Date and time"],
  ["$bigint", "Whole number"],
  ["string", "Text"],
  ["number", "Number"],
  ["integer", "Whole number"],
  ["array", "List"],
]);

/** A default; nothing when there is none or it is too much to be filled in. */
export function initialOf({ default: initial }: Schema): Json | undefined {
  if (initial === undefined || !isSmall(initial)) return undefined;
  return JSON.stringify(initial).length <= MAX_INITIAL ? initial as Json : undefined;
}

/** Whether it is neither deep nor long; one that is long is not looked at to its end. */
function isSmall(value: unknown, depth = 0, room = { left: MAX_INITIAL }): boolean {
  room.left -= typeof value === "string" ? value.length : 1;
  if (typeof value !== "object" || value === null) return room.left >= 0;
  return depth < 50 && Object.values(value).every((inner) => isSmall(inner, depth + 1, room));
}

/** Help that says all of the texts, each in a line of its own. */
export function helpOf(...texts: readonly (string | undefined)[]): Pick<Common, "help"> {
  const said = texts.filter((text) => text !== undefined && text !== "");
  return said.length === 0 ? {} : { help: said.join("\n") };
}
