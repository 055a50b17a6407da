/**
 * Forms from JSON Schemas, without script: the fields as HTML, and the value that a submitted form stands for.
 *
 * Names of controls begin with `value` and are followed by a path, so that other fields can be in the same form. Forms
 * help to give a value that fits; whether it does is judged by the API, whose issues come back to the fields.
 */

import type { Json } from "../../../model/json.ts";
import type { Issue } from "../../wire.ts";
import { initialEntries } from "./entries.ts";
import { draw } from "./html.ts";
import { place } from "./issues.ts";
import { modelOf } from "./model.ts";
import { type Entries, read } from "./value.ts";
import type { Html } from "../html.ts";

export type { Entries } from "./value.ts";

/** What a form held, and what was wrong with it. */
export interface Filled {
  /** As submitted. @default the defaults of the schema */
  readonly entries?: Entries;
  /** With paths as the API writes them; those of no field stand before the fields. @default none */
  readonly issues?: readonly Issue[];
}

/**
 * The fields of a form for a value of the schema.
 *
 * @param schema A JSON Schema of draft 2020-12; without one the value is typed as JSON.
 * @param id Begins the ids of the elements, so that several forms can be on one page.
 */
export function fieldsOf(schema: unknown, id: string, { entries, issues = [] }: Filled = {}): Html {
  const model = modelOf(schema);
  const filled = entries === undefined ? initialEntries(model) : indexed(entries);
  return draw(model, id, filled, place(model, issues, filled));
}

/**
 * The value that a submitted form stands for, as tagged JSON, or what is wrong with the form. Names that the form does
 * not have are ignored, and of several values of a name the first counts.
 */
export function valueOf(
  schema: unknown,
  entries: Entries,
): { readonly value: Json } | { readonly issues: readonly Issue[] } {
  const result = read(modelOf(schema), indexed(entries));
  if ("issues" in result) return result;
  const { value } = result;
  return value === undefined ? { issues: [{ path: "", message: "give a value" }] } : { value };
}

/** Entries that are found at once, however many somebody has sent. */
function indexed(entries: Entries): Entries {
  if (!(entries instanceof URLSearchParams)) return entries;
  const firsts = new Map<string, string>();
  for (const [name, text] of entries) if (!firsts.has(name)) firsts.set(name, text);
  return firsts;
}
