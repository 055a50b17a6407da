/** What to ask for a value, made from its JSON Schema. */

import { tagOf } from "../../http/ui/form/schema.ts";
import { fromJson } from "../../model/json.ts";

/** One thing to ask. */
export interface Question {
  /** The field it is for; absent when the value is no object with fields. */
  readonly field?: string;
  readonly label: string;
  readonly hint?: string;
  readonly kind: "choice" | "boolean" | "number" | "text" | "time" | "bigint" | "json";
  /** What may be chosen. */
  readonly choices?: readonly unknown[];
  /** Whether nothing may be answered. */
  readonly optional: boolean;
  /** Whether a time or a bigint may be `null`. */
  readonly nullable?: boolean;
  /** What stands for no answer, where the schema says so. */
  readonly initial?: unknown;
}

type Schema = Readonly<Record<string, unknown>>;

/**
 * The questions of a schema: a field each for an object with fields, else one.
 *
 * @param label Names the value where it has no fields.
 */
export function questionsOf(schema: unknown, label: string): readonly Question[] {
  if (!isObject(schema)) return [{ label, kind: "json", optional: false }];
  const { properties } = schema;
  const hasFields = isObject(properties) && Object.keys(properties).length > 0;
  if (schema["type"] !== "object" || !hasFields || tagOf(schema) !== undefined) {
    return [questionOf(schema, label, false)];
  }
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  return Object.entries(properties).map(([field, part]) => ({
    ...questionOf(isObject(part) ? part : {}, field, !required.has(field)),
    field,
  }));
}

function questionOf(schema: Schema, label: string, optional: boolean): Question {
  const { description, title, default: initial } = schema;
  const hint = typeof description === "string" ? description : typeof title === "string" ? title : undefined;
  const choices = choicesOf(schema);
  return {
    label,
    optional: optional || initial !== undefined,
    ...(hint === undefined ? {} : { hint }),
    ...(initial === undefined ? {} : { initial: valueOf(initial) }),
    ...(choices === undefined ? kindOf(schema) : { kind: "choice", choices: choices.map(valueOf) }),
  };
}

function kindOf(schema: Schema): Pick<Question, "kind" | "nullable"> {
  const { anyOf } = schema;
  const [only, ...others] = Array.isArray(anyOf) ? anyOf.filter((part) => part?.type !== "null") : [schema];
  const tag = others.length === 0 && isObject(only) ? tagOf(only) : undefined;
  if (tag !== undefined) {
    return { kind: KINDS.get(tag) ?? "json", ...(only === schema ? {} : { nullable: true }) };
  }
  return { kind: KINDS.get(schema["type"]) ?? "json" };
}

/** What JSON of a schema stands for; a tag that says nothing is itself. */
function valueOf(json: unknown): unknown {
  try {
    return fromJson(json, "it");
  } catch {
    return json;
  }
}

const KINDS = new Map<unknown, Question["kind"]>([
  ["$date", "time"],
  ["$bigint", "bigint"],
  ["boolean", "boolean"],
  ["number", "number"],
  ["integer", "number"],
  ["string", "text"],
]);

/** The values of an enumeration, also of one that is written as alternatives. */
function choicesOf(schema: Schema): readonly unknown[] | undefined {
  if (Array.isArray(schema["enum"])) return schema["enum"];
  if ("const" in schema) return [schema["const"]];
  const alternatives = schema["anyOf"] ?? schema["oneOf"];
  if (!Array.isArray(alternatives)) return undefined;
  const values = alternatives.map((part) => isObject(part) ? choicesOf(part) ?? nullOf(part) : undefined);
  return values.every((v) => v !== undefined) ? values.flat() : undefined;
}

function nullOf(schema: Schema): readonly unknown[] | undefined {
  return schema["type"] === "null" ? [null] : undefined;
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
