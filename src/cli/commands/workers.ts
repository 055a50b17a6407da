import type { Command } from "commander";
import { type WorkerRow, workersOf } from "../../engine/workers.ts";
import { systemRuntime } from "../../runtime/system.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { dateTime, shortVersion, span } from "../format.ts";
import { addDatabase } from "../options.ts";
import { jsonText, line } from "../printable.ts";
import { printTable } from "../table.ts";

/** `superstep workers`. */
export function addWorkers(program: Command, cli: Cli): void {
  const command = program.command("workers")
    .description("list the workers of a database: what they serve, and how full they are");
  addDatabase(command).action((options: CommonOptions & { readonly db: string }) => workers(cli, options));
}

async function workers(cli: Cli, { db, json }: CommonOptions & { readonly db: string }): Promise<void> {
  const now = systemRuntime.now();
  const rows = await withDatabase(db, { create: false }, (store) => workersOf(store, now));
  if (json === true) { for (const row of rows) cli.print(jsonText(row)); }
  else if (rows.length === 0) cli.note("no workers; start one with superstep serve");
  else await printTable(cli, HEAD, rows.map((row) => cells(cli, row, now)));
}

const HEAD = ["WORKER", "HOST", "PROCESS", "BUSY", "SERVES", "STARTED", "SEEN"];

function cells(cli: Cli, row: WorkerRow, now: number): string[] {
  const seen = `${span(Math.max(0, now - row.seenAt))} ago`;
  return [
    line(row.name),
    line(row.host),
    String(row.pid),
    `${row.active}/${row.places}`,
    line(
      row.serves.map(({ graphId, graphVersion: v }) => `${graphId} ${shortVersion(v)}`).join(", "),
    ),
    dateTime(row.startedAt),
    row.isAlive ? seen : cli.colours.red(`${seen}, silent`),
  ];
}
