import type { Command } from "commander";
import { postgres, postgresGrants, postgresSchema } from "../../store/postgres/mod.ts";
import { defined } from "../../model/defined.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { UsageError } from "../faults.ts";
import { isServer, placeOf, shownDatabase } from "../remote.ts";

interface SchemaOptions extends CommonOptions {
  readonly db?: string;
  readonly print?: boolean;
  readonly schema?: string;
  readonly prefix?: string;
  readonly role?: string;
}

/** `superstep schema`. */
export function addSchema(program: Command, cli: Cli): void {
  program.command("schema")
    .description(
      "make or complete the tables and functions of a PostgreSQL database, or print the statements that do",
    )
    .option(
      "--print",
      "print the statements, for whoever may change the database: superstep schema --print | psql",
    )
    .option("--db <url>", "the database that is changed, such as postgres://owner@host/app")
    .option("--schema <name>", "the schema (default: superstep)")
    .option("--prefix <name>", "what the names of tables and functions begin with (default: nothing)")
    .option("--role <name>", "print the rights too that this role needs to run workflows and nothing else")
    .action((options: SchemaOptions) => schema(cli, options));
}

async function schema(cli: Cli, options: SchemaOptions): Promise<void> {
  const { db, print, role } = options;
  const place = defined({ schema: options.schema, prefix: options.prefix });
  if (print === true) {
    cli.print(
      `begin;\n${postgresSchema(place)}${role === undefined ? "" : postgresGrants(role, place)}\ncommit;`,
    );
    return;
  }
  if (db === undefined || !isServer(db)) {
    throw new UsageError(
      "schema needs --print, or --db with the URL of a database: postgres://owner@host/app",
    );
  }
  const at = placeOf(db);
  const store = await postgres(at.url, { ...at.place, ...place });
  await store.close();
  cli.note(`the tables are there: ${shownDatabase(db)}`);
}
