import type { Command } from "commander";
import { listSchedules, pauseSchedule, runSchedule, type ScheduleMark } from "../../worker/mod.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { UsageError } from "../faults.ts";
import { dateTime } from "../format.ts";
import { addDatabase, SOURCES } from "../options.ts";
import { jsonText, line } from "../printable.ts";
import { Workflows } from "../sources.ts";
import { printTable } from "../table.ts";

type Options = CommonOptions & { readonly db: string };

/** `superstep schedules`. */
export function addSchedules(program: Command, cli: Cli): void {
  const command = program.command("schedules")
    .description("list, pause and run schedules: those that a worker has followed");
  addDatabase(command.command("list").description("list schedules with what became of their newest ticks"))
    .action((options: Options) => list(cli, options));
  for (const [name, paused] of [["pause", true], ["unpause", false]] as const) {
    const what = paused ? "start nothing by a schedule until it is unpaused" : "go on with a schedule";
    addDatabase(
      command.command(name).description(what)
        .argument("<workflow>", "the workflow").argument("<schedule>", "its schedule, as listed"),
    ).action((workflow: string, schedule: string, options: Options) =>
      pause(cli, { graphId: workflow, scheduleId: schedule }, paused, options)
    );
  }
  addDatabase(
    command.command("run").description("start a run of a schedule now, for a worker to work on")
      .argument("<schedule>", "the schedule, as listed").argument("<sources...>", SOURCES)
      .option("-w, --workflow <id>", "the workflow, where there are several"),
  ).action((
    schedule: string,
    sources: readonly string[],
    options: Options & { readonly workflow?: string },
  ) => run(cli, schedule, sources, options));
}

async function list(cli: Cli, { db, json }: Options): Promise<void> {
  const marks = await withDatabase(db, { create: false }, listSchedules);
  if (json === true) { for (const mark of marks) cli.print(jsonText(mark)); }
  else if (marks.length === 0) cli.note("no schedules; a worker records them when it follows them");
  else await printTable(cli, HEAD, marks.map(cells));
}

const HEAD = ["WORKFLOW", "SCHEDULE", "EXPRESSION", "ZONE", "STATE", "LAST TICK", "FATE", "RUN"];

function cells({ graphId, scheduleId, expression, timezone, paused, fates: [last] }: ScheduleMark): string[] {
  return [
    ...[graphId, scheduleId, expression, timezone].map((text) => line(text)),
    paused ? "paused" : "active",
    last === undefined ? "" : dateTime(last.tick),
    last?.fate ?? "",
    line(last?.runId ?? ""),
  ];
}

async function pause(
  cli: Cli,
  which: Pick<ScheduleMark, "graphId" | "scheduleId">,
  paused: boolean,
  { db, json }: Options,
): Promise<void> {
  const found = await withDatabase(db, { create: false }, (store) => pauseSchedule(store, which, paused));
  const name = `${line(which.graphId)} ${line(which.scheduleId)}`;
  if (!found) {
    throw new UsageError(`no worker has followed a schedule ${name}; see superstep schedules list`);
  }
  cli.print(json === true ? jsonText({ ...which, paused }) : `${name} ${paused ? "is paused" : "goes on"}`);
}

async function run(
  cli: Cli,
  schedule: string,
  sources: readonly string[],
  { db, json, workflow }: Options & { readonly workflow?: string },
): Promise<void> {
  const workflows = await Workflows.load(sources);
  const picked = workflows.pick(workflow);
  const { runId } = await withDatabase(
    db,
    { create: true },
    (store) => runSchedule(workflows.runner(picked, store, cli), schedule),
  );
  cli.print(json === true ? jsonText({ runId }) : runId);
}
