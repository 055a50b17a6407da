import type { Command } from "commander";
import type { InboxEntry } from "../../engine/history.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { dateTime } from "../format.ts";
import { addDatabase, SOURCES, wholeNumber } from "../options.ts";
import { jsonText, line } from "../printable.ts";
import { nameOf } from "../progress/plain.ts";
import { openWaits } from "../reading.ts";
import { infoText } from "../report.ts";
import { idsOf, Workflows } from "../sources.ts";
import { printTable } from "../table.ts";

interface WaitsOptions extends CommonOptions {
  readonly db: string;
  readonly workflow?: string;
  readonly run?: string;
  readonly name?: string;
  readonly limit?: number;
}

/** `superstep waits`. */
export function addWaits(program: Command, cli: Cli): void {
  const command = program.command("waits")
    .description("list open waits, oldest first; with sources, which of them cannot be answered there")
    .argument("[sources...]", `only waits of the workflows in these ${SOURCES}`)
    .option("-w, --workflow <id>", "only waits of this workflow")
    .option("--run <id>", "only waits of this run")
    .option("--name <name>", "only waits with this name")
    .option("-n, --limit <n>", "at most n rows", wholeNumber);
  addDatabase(command).action((sources: readonly string[], options: WaitsOptions) =>
    waits(cli, sources, options)
  );
}

async function waits(cli: Cli, sources: readonly string[], options: WaitsOptions): Promise<void> {
  const workflows = sources.length === 0 ? undefined : await Workflows.load(sources);
  const graphs = idsOf(workflows, options.workflow);
  const has = workflows === undefined ? {} : { has: workflows.has.bind(workflows) };
  await withDatabase(options.db, { create: false }, async (store) => {
    const rows = openWaits(store, { ...options, graphs, ...has });
    if (options.json === true) {
      for await (const row of rows) cli.print(jsonText(row));
      return;
    }
    const all: InboxEntry[] = [];
    for await (const row of rows) all.push(row);
    if (all.length === 0) return cli.note("no open waits");
    await printWaits(cli, all);
  });
}

/** Prints open waits as a table. */
async function printWaits(cli: Cli, rows: readonly InboxEntry[]): Promise<void> {
  await printTable(
    cli,
    ["WAIT", "NAME", "VERTEX", "RUN", "WORKFLOW", "OPENED", "UNTIL", "INFO"],
    rows.map(cells),
  );
}

function cells(row: InboxEntry): string[] {
  return [
    line(row.waitId),
    line(row.name),
    line(nameOf(row)),
    `${line(row.runId)}${row.activity === "stranded" ? " (stranded)" : ""}`,
    line(row.graphId),
    dateTime(row.openedAt),
    row.deadline === undefined ? "" : dateTime(row.deadline),
    row.unanswerable === undefined
      ? infoText(row.info)
      : line(`cannot be answered here: ${row.unanswerable}`),
  ];
}
