import { type Command, Option } from "commander";
import { type Activity, listRuns, type RunRow } from "../../engine/activity.ts";
import { systemRuntime } from "../../runtime/system.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { dateTime } from "../format.ts";
import { addDatabase, SOURCES, wholeNumber } from "../options.ts";
import { jsonText, line } from "../printable.ts";
import { statusText } from "../report.ts";
import { defined } from "../../model/defined.ts";
import { rowsOf } from "../../model/pages.ts";
import { graphIds } from "../sources.ts";
import { printTable } from "../table.ts";

interface ListOptions extends CommonOptions {
  readonly db: string;
  readonly workflow?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly activity?: Activity;
  readonly tag?: string;
  readonly limit?: number;
}

/** How many rows a table shows unless told otherwise. */
const TABLE_ROWS = 50;

/** `superstep list`. */
export function addList(program: Command, cli: Cli): void {
  const command = program.command("list")
    .description("list runs, newest first")
    .argument("[sources...]", `only runs of the workflows in these ${SOURCES}`)
    .option("-w, --workflow <id>", "only runs of this workflow")
    .addOption(
      new Option("-s, --status <status>", "only runs with this status")
        .choices(["running", "completed", "interrupted", "cancelled"]),
    )
    .addOption(
      new Option("--reason <reason>", "only runs interrupted for this reason, or queued")
        .choices(["halted", "errored", "awaiting", "sleeping", "queued"]),
    )
    .addOption(
      new Option(
        "--activity <activity>",
        "only runs that are due, at work, waiting, or served by nobody who lives",
      )
        .choices(["queued", "working", "waiting", "stranded"]),
    )
    .option("--tag <word>", "only runs with this tag")
    .option("-n, --limit <n>", `at most n rows (default: ${TABLE_ROWS}; with --json all)`, wholeNumber);
  addDatabase(command).action((sources: readonly string[], options: ListOptions) =>
    list(cli, sources, options)
  );
}

async function list(cli: Cli, sources: readonly string[], options: ListOptions): Promise<void> {
  const { json = false, status, reason, activity, tag } = options;
  const graphs = await graphIds(sources, options.workflow);
  const limit = options.limit ?? (json ? Infinity : TABLE_ROWS);
  await withDatabase(options.db, { create: false }, async (store) => {
    const graphId = graphs?.length === 1 ? graphs[0] : undefined;
    const query = defined({ graphId, status, reason, activity, tag, limit: PAGE });
    const rows = rowsOf(
      (start) => listRuns(store, { ...query, ...start }, systemRuntime.now()),
      (row) => graphs?.includes(row.graphId) ?? true,
      json ? limit : limit + 1,
    );
    if (json) {
      for await (const row of rows) cli.print(jsonText(row));
      return;
    }
    const all: RunRow[] = [];
    for await (const row of rows) all.push(row);
    if (all.length === 0) return cli.note("no runs");
    await printTable(cli, HEAD, all.slice(0, limit).map((row) => cells(cli, row)));
    if (all.length > limit) cli.note(cli.noteColours.dim("there are more; see them with --limit"));
  });
}

const PAGE = 500;
/** The catalog is written when a status changes: what moves between, such as the revision, is for `get` to tell. */
const HEAD = ["RUN", "WORKFLOW", "STATUS", "STEP", "WAITS", "CREATED", "TAGS"];

function cells(cli: Cli, row: RunRow): string[] {
  return [
    line(row.runId),
    line(row.graphId),
    statusText(cli, row),
    row.status === "running" ? "" : String(row.step),
    String(row.openWaits),
    dateTime(row.createdAt),
    line(row.tags.join(" ")),
  ];
}
