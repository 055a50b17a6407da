import type { Command } from "commander";
import { Activities } from "../../engine/activity.ts";
import { defined } from "../../model/defined.ts";
import { systemRuntime } from "../../runtime/system.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { EXIT } from "../exit.ts";
import { dateTime, shortVersion } from "../format.ts";
import { addDatabase, revision, SOURCES } from "../options.ts";
import { jsonText, line } from "../printable.ts";
import { cursorOf } from "../reading.ts";
import { pathText, printTroubles, stateText, statusText } from "../report.ts";
import { shownFrom, shownOf, type ShownRun } from "../run_json.ts";
import { oneId, Workflows } from "../sources.ts";
import { nextCommands } from "../next.ts";

interface GetOptions extends CommonOptions {
  readonly db: string;
  readonly revision?: number;
  readonly exitStatus?: boolean;
}

/** `superstep get`. */
export function addGet(program: Command, cli: Cli): void {
  const command = program.command("get")
    .description("show a run with its state, open waits and failures")
    .usage("[options] <run> [sources...]")
    .argument(
      "<arguments...>",
      `the id of the run, and ${SOURCES}: with them the state shows what an unfinished step has done so far`,
    )
    .option("--revision <n>", "the run as it was at this revision, see superstep history", revision)
    .option("--exit-status", "end with the exit code of the run's status, as run and resume do");
  addDatabase(command).action((given: readonly string[], options: GetOptions) => get(cli, given, options));
}

async function get(cli: Cli, given: readonly string[], options: GetOptions): Promise<void> {
  const { id, sources } = oneId(given, "run id");
  const workflows = sources.length === 0 ? undefined : await Workflows.load(sources);
  const shown = await withDatabase(options.db, { create: false }, async (store) => {
    const at = options.revision === undefined ? {} : { revision: options.revision };
    const cursor = await cursorOf(store, id, at);
    const now = systemRuntime.now();
    const activity = options.revision === undefined
      ? await new Activities(store, now).ofCursor(cursor)
      : undefined;
    if (workflows === undefined) return { ...shownFrom(cursor), ...defined({ activity }) };
    const workflow = workflows.ofRun(cursor.checkpoint.run);
    const view = await workflows.runner(workflow, store, cli).get(id, at);
    return { ...shownOf(view), ...defined({ activity: view.activity }) };
  });
  if (options.exitStatus === true) cli.exitCode = codeOf(shown);
  if (options.json === true) return cli.print(jsonText(shown));
  print(cli, shown);
  printTroubles(cli, shown, nextCommands(cli.io.env, sources, options.db));
  cli.print(stateText(shown.state));
}

/** The exit code of a status; a run that is at work has none of its own. */
function codeOf({ status, reason = status }: ShownRun): number {
  return Object.hasOwn(EXIT, reason) ? EXIT[reason as keyof typeof EXIT] : 0;
}

function print(cli: Cli, { run, path, waits = [], answered = [], activity }: ShownRun): void {
  const { graphId, graphVersion, step, revision, owner, parent, tags, recoveries } = run;
  const times = [
    ["created", run.createdAt],
    ["started", run.startedAt],
    ["updated", run.updatedAt],
    ["deadline", run.deadline],
  ] as const;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["run", run.runId],
    ["workflow", `${graphId} ${shortVersion(graphVersion)}`],
    ["status", statusText(cli, { ...run, activity }, waits.length === 0 && answered.length > 0)],
    ["step", `${step}, revision ${revision}`],
    ["owner", owner ?? (run.status === "running" ? "nobody; go on with superstep resume" : undefined)],
    ["forked", parent && `from ${parent.runId}, revision ${parent.revision}`],
    ["recoveries", recoveries === 0 ? undefined : String(recoveries)],
    ["tags", tags.length === 0 ? undefined : tags.join(" ")],
    ...times.map(([name, at]) => [name, at === undefined ? undefined : dateTime(at)] as const),
    ["path", path.length === 0 ? undefined : pathText(path)],
  ];
  for (const [name, value] of rows) {
    if (value === undefined) continue;
    const shown = name === "status" ? value : line(value);
    cli.print(`${cli.colours.dim(name.padEnd(10))} ${shown}`);
  }
}
