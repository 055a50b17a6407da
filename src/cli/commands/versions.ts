import type { Command } from "commander";
import { openRuns } from "../../engine/change/survey.ts";
import { userVersion, type WorkerRow, workersOf } from "../../engine/workers.ts";
import { compareIds } from "../../model/ids.ts";
import { systemRuntime } from "../../runtime/system.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { shortVersion } from "../format.ts";
import { addDatabase, SOURCES } from "../options.ts";
import { jsonText, line } from "../printable.ts";
import { Workflows } from "../sources.ts";
import { printTable } from "../table.ts";

/** A version of a graph with its open runs, and who serves it. */
interface Version {
  readonly graphId: string;
  readonly graphVersion: string;
  /** How many runs of it are not over. */
  open: number;
  /** How many of those nobody serves who lives. */
  stranded: number;
  /** Some of those. */
  readonly runs: string[];
  /** The names of the living workers that serve it. */
  readonly servedBy: readonly string[];
  /** Whether the sources hold it; absent without sources. */
  readonly isHere?: boolean;
}

/** `superstep versions`. */
export function addVersions(program: Command, cli: Cli): void {
  const command = program.command("versions")
    .description("list the versions of workflows with open runs or workers, and which runs nobody serves")
    .argument("[sources...]", `say also which versions are in these ${SOURCES}`);
  addDatabase(command).action((
    sources: readonly string[],
    options: CommonOptions & { readonly db: string },
  ) => versions(cli, sources, options));
}

async function versions(
  cli: Cli,
  sources: readonly string[],
  { db, json }: CommonOptions & { readonly db: string },
): Promise<void> {
  const workflows = sources.length === 0 ? undefined : await Workflows.load(sources);
  const rows = await withDatabase(db, { create: false }, async (store) => {
    const now = systemRuntime.now();
    const workers = (await workersOf(store, now)).filter(({ isAlive }) => isAlive);
    const found = new Map<string, Version>();
    const of = (graphId: string, graphVersion: string): Version => {
      const key = `${graphId} ${graphVersion}`;
      const known = found.get(key) ?? {
        graphId,
        graphVersion,
        open: 0,
        stranded: 0,
        runs: [],
        servedBy: namesOf(workers, graphId, graphVersion),
        ...(workflows === undefined ? {} : {
          isHere: workflows.has(graphId, graphVersion),
        }),
      };
      found.set(key, known);
      return known;
    };
    for (const { graphId, graphVersion } of workers.flatMap(({ serves }) => serves)) {
      of(graphId, graphVersion);
    }
    for (const { graph } of workflows?.all ?? []) of(graph.id, graph.version);
    for await (const { runId, graphId, graphVersion, activity } of openRuns(store, undefined, now)) {
      const version = of(graphId, graphVersion);
      version.open++;
      if (activity !== "stranded" && version.servedBy.length > 0) continue;
      version.stranded++;
      if (version.runs.length < SHOWN) version.runs.push(runId);
    }
    return [...found.values()].sort((a, b) =>
      compareIds(a.graphId, b.graphId) || userVersion(a.graphVersion) - userVersion(b.graphVersion) ||
      compareIds(a.graphVersion, b.graphVersion)
    );
  });
  if (json === true) { for (const row of rows) cli.print(jsonText(row)); }
  else if (rows.length === 0) cli.note("no open runs, and no workers");
  else await printTable(cli, HEAD, rows.map((row) => cells(cli, row)));
}

/** So many runs are named that nobody serves. */
const SHOWN = 3;

function namesOf(workers: readonly WorkerRow[], graphId: string, graphVersion: string): readonly string[] {
  return workers.filter(({ serves }) =>
    serves.some((s) => s.graphId === graphId && s.graphVersion === graphVersion)
  ).map(({ name }) => name);
}

const HEAD = ["WORKFLOW", "VERSION", "OPEN", "SERVED BY", "NOT SERVED"];

function cells(
  cli: Cli,
  { graphId, graphVersion, open, stranded, runs, servedBy, isHere }: Version,
): string[] {
  const more = stranded > runs.length ? ", …" : "";
  return [
    line(graphId),
    `${shortVersion(graphVersion)}${isHere === true ? " (here)" : ""}`,
    String(open),
    servedBy.length === 0 ? "nobody" : line(servedBy.join(", ")),
    stranded === 0 ? "" : cli.colours.red(line(`${stranded}: ${runs.join(", ")}${more}`)),
  ];
}
