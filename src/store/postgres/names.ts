import { StoreError } from "../../errors.ts";

/** The layout of tables and functions; it is part of every name, so that an older and a newer one may stand side by side. */
export const LAYOUT = 1;
/**
 * The newest additions to this layout: tables and columns may be added and functions replaced, never in a way that ends a
 * process of an earlier revision.
 */
export const REVISION = 1;

/** Where the tables and functions are. */
export interface PostgresPlace {
  /** The schema. @default "superstep" */
  readonly schema?: string;
  /** What the names of tables and functions begin with. @default "" */
  readonly prefix?: string;
}

/** The name of a table or function in its schema, quoted. */
export type Names = (name: string) => string;

const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;
const PREFIX = /^(?:[a-z_][a-z0-9_]{0,31})?$/;

/** The names at a place; refuses what would have to be quoted with care. */
export function namesAt({ schema = "superstep", prefix = "" }: PostgresPlace): Names {
  check("schema", schema, SCHEMA, "at most 63");
  check("prefix", prefix, PREFIX, "at most 32");
  return (name) => `"${schema}"."${prefix}v${LAYOUT}_${name}"`;
}

/** The name of the schema itself, quoted. */
export function schemaAt({ schema = "superstep" }: PostgresPlace): string {
  check("schema", schema, SCHEMA, "at most 63");
  return `"${schema}"`;
}

function check(what: string, value: unknown, pattern: RegExp, length: string): void {
  if (typeof value === "string" && pattern.test(value)) return;
  throw new StoreError(
    "open",
    `the ${what} is ${
      JSON.stringify(value)
    }; use ${length} of a to z, 0 to 9 and _, beginning with a letter or _`,
  );
}
