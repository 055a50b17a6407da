import type { Command } from "commander";
import { survey, type Surveyed } from "../../engine/change/survey.ts";
import type { AdoptVerdict } from "../../engine/change/verdict.ts";
import type { Runner } from "../../engine/runner.ts";
import { isSuperstepError, reasonOf } from "../../errors.ts";
import { systemRuntime } from "../../runtime/system.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { EXIT } from "../exit.ts";
import { UsageError } from "../faults.ts";
import { shortVersion } from "../format.ts";
import { addDatabase, ADOPT, SOURCES, wholeNumber } from "../options.ts";
import { jsonText, line } from "../printable.ts";
import { statusText } from "../report.ts";
import { Workflows } from "../sources.ts";
import { printTable } from "../table.ts";

interface MigrateOptions extends CommonOptions {
  readonly db: string;
  readonly workflow?: string;
  readonly provide?: string;
  readonly adopt?: boolean;
  readonly dryRun?: boolean;
  readonly apply?: boolean;
  readonly limit?: number;
}

/** How many rows a table shows unless told otherwise. */
const TABLE_ROWS = 50;

/** `superstep migrate`. */
export function addMigrate(program: Command, cli: Cli): void {
  const command = program.command("migrate")
    .description(
      "tell of every open run whether this code goes on with it, and why not; with --apply, move those that wait",
    )
    .argument("<sources...>", SOURCES)
    .option("--dry-run", "only tell; nothing is written")
    .option("--apply", "move runs that wait and fit or migrate; workers do so when a run is due")
    .option(
      "-w, --workflow <id>",
      "only this workflow, such as approval, or approval@2 for one version of it",
    )
    .option("--provide <module>", "a module that exports provide(cls), which makes the tasks")
    .option("--adopt", ADOPT)
    .option("-n, --limit <n>", `show at most n runs (default: ${TABLE_ROWS}; with --json all)`, wholeNumber);
  addDatabase(command).action((sources: readonly string[], options: MigrateOptions) =>
    migrate(cli, sources, options)
  );
}

/** What became of a run. */
interface Told extends Pick<AdoptVerdict, "runId" | "graphId" | "from" | "to" | "verdict"> {
  readonly status: string;
  readonly reason?: string;
  readonly problem?: string;
  /** Whether it was moved, with `--apply`. */
  readonly moved?: boolean;
}

async function migrate(cli: Cli, sources: readonly string[], options: MigrateOptions): Promise<void> {
  const { dryRun = false, apply = false, json = false, limit = TABLE_ROWS } = options;
  if (dryRun === apply) {
    throw new UsageError("give --dry-run to see what would become of open runs, or --apply to move them");
  }
  const workflows = await Workflows.load(sources, options);
  const chosen = options.workflow === undefined ? workflows.all : workflows.named(options.workflow);
  await withDatabase(options.db, { create: false }, async (store) => {
    const runners = chosen.map((workflow) => workflows.runner(workflow, store, cli));
    const counts = new Map<AdoptVerdict["verdict"], number>();
    const rows: Told[] = [];
    let [moved, kept] = [0, 0];
    for await (const found of survey(store, runners, systemRuntime.now())) {
      const told = apply ? await applied(found) : toldOf(found);
      counts.set(told.verdict, (counts.get(told.verdict) ?? 0) + 1);
      if (told.moved === true) moved++;
      else if (told.moved === false) kept++;
      if (json) cli.print(jsonText(told));
      else if (told.verdict === "refused" || (told.verdict !== "loads" && rows.length < limit)) {
        rows.push(told);
      }
    }
    if ((counts.get("refused") ?? 0) > 0) cli.exitCode = EXIT.fault;
    if (json) return;
    const shown = [...rows.filter(isRefused), ...rows.filter((row) => !isRefused(row))].slice(0, limit);
    if (shown.length > 0) await printTable(cli, HEAD, shown.map((row) => cells(cli, row)));
    const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
    if (all > shown.length + (counts.get("loads") ?? 0)) {
      cli.note(cli.noteColours.dim("there are more; see them with --limit"));
    }
    cli.print(summary(counts, apply ? { moved, kept } : undefined));
  });
}

function isRefused({ verdict }: Told): boolean {
  return verdict === "refused";
}

function toldOf({ row, verdict }: Surveyed<Runner<unknown>>): Told {
  const { status, reason } = row;
  return { ...verdict, status, ...(reason === undefined ? {} : { reason }) };
}

/** Moves a run that waits and has to be moved. */
async function applied(found: Surveyed<Runner<unknown>>): Promise<Told> {
  const told = toldOf(found);
  if (told.verdict !== "fits" && told.verdict !== "migrates") return told;
  const stays = (problem: string): Told => ({ ...told, moved: false, problem });
  const { runId, activity } = found.row;
  if (activity === "working") return stays("a process is at work on it; it moves when that lets it go");
  if ((await found.by.status(runId)).caller !== undefined) {
    return stays("it moves when the run that called it goes on");
  }
  try {
    if (await found.by.adopt(runId)) return { ...told, moved: true };
    return stays("a living worker serves its version, or has just begun to work on it");
  } catch (error) {
    if (!isSuperstepError(error, "MIGRATION")) throw error;
    return { ...told, verdict: "refused", problem: reasonOf(error) };
  }
}

const HEAD = ["RUN", "WORKFLOW", "FROM", "TO", "STATUS", "VERDICT", "WHY"];

function cells(cli: Cli, told: Told): string[] {
  const { runId, graphId, from, to, verdict, moved, problem = "" } = told;
  const { red, green } = cli.colours;
  return [
    line(runId),
    line(graphId),
    shortVersion(from),
    shortVersion(to),
    statusText(cli, told as Parameters<typeof statusText>[1]),
    moved === true ? green("moved") : verdict === "refused" ? red(verdict) : verdict,
    line(problem),
  ];
}

function summary(
  counts: ReadonlyMap<AdoptVerdict["verdict"], number>,
  applied: { readonly moved: number; readonly kept: number } | undefined,
): string {
  const one = { loads: "loads", fits: "fits", migrates: "migrates", refused: "is refused" } as const;
  const many = { loads: "load", fits: "fit", migrates: "migrate", refused: "are refused" } as const;
  const parts = (["loads", "fits", "migrates", "refused"] as const).flatMap((verdict) => {
    const n = counts.get(verdict) ?? 0;
    return n === 0 ? [] : [`${n} ${(n === 1 ? one : many)[verdict]}`];
  });
  if (parts.length === 0) return "no open runs";
  if (applied === undefined) return parts.join(", ");
  const { moved, kept } = applied;
  return `${parts.join(", ")}; ${moved} moved${kept === 0 ? "" : `, ${kept} to be moved later`}`;
}
