import type { Command } from "commander";
import type { StateEdit } from "../engine/operations/edit.ts";
import { parse } from "../checkpoint/schema.ts";
import { jsonSchemaOf } from "../checkpoint/validate.ts";
import { closestId } from "../graph/closest.ts";
import type { Schema } from "../model/schema.ts";
import type { Cli } from "./cli.ts";
import { UsageError } from "./faults.ts";
import { quoted } from "./format.ts";
import { readValue } from "./input.ts";
import { several } from "./options.ts";

/** How a state is to be changed. */
export interface EditOptions {
  readonly state?: string;
  readonly set?: readonly string[];
}

/** `--state` and `--set`. */
export function addEdits(command: Command): Command {
  return command
    .option("--state <json>", "another state, as JSON, @file or -")
    .option("--set <field=json>", "another value of a field; may be repeated", several);
}

/** The edit that the options describe, or `undefined` when none is given. */
export async function editOf(cli: Cli, { state, set }: EditOptions): Promise<StateEdit<unknown> | undefined> {
  if (state !== undefined && set !== undefined) throw new UsageError("give --state or --set, not both");
  if (state !== undefined) return await readValue(cli.io, state, "the state") as object;
  if (set === undefined) return undefined;
  const fields: (readonly [string, unknown])[] = [];
  for (const word of set) {
    const [, field, json] = /^([^=]+)=([^]*)$/.exec(word) ?? [];
    if (field === undefined || json === undefined) {
      throw new UsageError(
        `--set is ${JSON.stringify(word)}; give a field and its value, such as --set title='"x"'`,
      );
    }
    fields.push([field, await fieldValue(cli, field, json)]);
  }
  // Entries are defined, never assigned: a field such as `__proto__` stays a field.
  return (draft: unknown) => ({ ...draft as object, ...Object.fromEntries(fields) });
}

async function fieldValue(cli: Cli, field: string, json: string): Promise<unknown> {
  try {
    return await readValue(cli.io, json, `the value of ${field}`);
  } catch (error) {
    // Whoever begins with one of these means JSON, a file or the standard input.
    if (!(error instanceof UsageError) || /^["{[@-]|^$/.test(json.trim())) throw error;
    const text = quoted(`${field}=${JSON.stringify(json)}`);
    throw new UsageError(`${error.message}; text needs quotes: --set ${text}`);
  }
}

/**
 * Refuses fields that a schema would leave out unseen: most likely they are slips of others.
 *
 * @param state The state that is to be edited.
 */
export function refuseUnknownFields(
  schema: Schema<unknown, unknown> | undefined,
  state: unknown,
  edit: StateEdit<unknown> | undefined,
): void {
  if (schema === undefined || typeof edit !== "function") return;
  const known = Object.keys(state as object);
  const next = (edit as (state: unknown) => object)(state);
  const added = Object.keys(next).filter((field) => !known.includes(field));
  if (added.length === 0) return;
  const accepted = outputOf(schema, next);
  const unknown = accepted && added.find((field) => !Object.hasOwn(accepted, field));
  if (unknown === undefined) return;
  const near = closestId(unknown, [...known, ...propertiesOf(schema)]);
  throw new UsageError(
    `the state has no field ${unknown}; ` +
      (near === undefined ? `it has ${known.join(", ")}` : `did you mean ${near}?`),
  );
}

/** What a schema makes of a value; `undefined` when it refuses it, which the engine tells. */
function outputOf(schema: Schema<unknown, unknown>, value: unknown): object | undefined {
  try {
    const result = parse(schema, value);
    return result.issues === undefined ? result.value as object : undefined;
  } catch {
    return undefined;
  }
}

/** The fields that a schema tells of, present or not. */
function propertiesOf(schema: Schema<unknown, unknown>): readonly string[] {
  const { properties } = (jsonSchemaOf(schema) ?? {}) as { readonly properties?: object };
  return Object.keys(properties ?? {});
}
