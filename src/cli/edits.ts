import type { Command } from "commander";
import type { StateEdit } from "../engine/operations/edit.ts";
import type { Cli } from "./cli.ts";
import { UsageError } from "./faults.ts";
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
    fields.push([field, await readValue(cli.io, json, `the value of ${field}`)]);
  }
  // Entries are defined, never assigned: a field such as `__proto__` stays a field.
  return (draft: unknown) => ({ ...draft as object, ...Object.fromEntries(fields) });
}
