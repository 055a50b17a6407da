import { type Command, Option } from "commander";
import { ArgumentError } from "../../errors.ts";
import { defined } from "../../model/defined.ts";
import type { Duration } from "../../model/durations.ts";
import { PRIORITIES, type Priority } from "../../model/flow.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { readValue } from "../input.ts";
import { addDatabase, addRunning, durationOrDate, several, SOURCES } from "../options.ts";
import { Workflows } from "../sources.ts";
import { jsonText } from "../printable.ts";
import { nextCommands } from "../next.ts";
import { type RunningOptions, work } from "../work.ts";

interface RunOptions extends CommonOptions, RunningOptions {
  readonly workflow?: string;
  readonly input?: string;
  readonly runId?: string;
  readonly key?: string;
  readonly tag?: readonly string[];
  readonly deadline?: Duration | Date;
  readonly detach?: boolean;
  readonly priority?: Priority;
  readonly at?: Duration | Date;
  readonly provide?: string;
  readonly adopt?: boolean;
}

/** `superstep run`. */
export function addRun(program: Command, cli: Cli): void {
  const command = program.command("run")
    .description("start a run and work on it until it is over or interrupted")
    .argument("<sources...>", SOURCES)
    .option("-w, --workflow <id>", "which workflow, when the sources hold several")
    .option("-i, --input <json>", "the input as JSON, @file, or - for the standard input (default: {})")
    .option("--run-id <id>", "the id of the run (default: a new one)")
    .option("--key <key>", "an idempotency key: runs with one key and one input are one run")
    .option("--tag <word>", "a word by which list finds the run; may be repeated", several)
    .option("--deadline <time>", "when the run is cancelled if it is not over", durationOrDate)
    .addOption(
      new Option("--priority <class>", "how urgent it is among runs that wait for the same permit")
        .choices([...PRIORITIES]),
    )
    .option("--at <time>", "with --detach: when it begins, at the earliest", durationOrDate)
    .option("-d, --detach", "store the run for a worker, see superstep serve, and end at once");
  addRunning(addDatabase(command)).action((sources: readonly string[], options: RunOptions) =>
    run(cli, sources, options)
  );
}

async function run(cli: Cli, sources: readonly string[], options: RunOptions): Promise<void> {
  const { runId, key, tag, deadline, priority, at } = options;
  if (at !== undefined && options.detach !== true) {
    throw new ArgumentError("run", "--at is given without --detach; a run that begins later is for a worker");
  }
  const input = options.input === undefined ? {} : await readValue(cli.io, options.input, "the input");
  const workflows = await Workflows.load(sources, options);
  const workflow = workflows.pick(options.workflow);
  await withDatabase(options.db, { create: true }, async (store) => {
    const runner = workflows.runner(workflow, store, cli);
    if (options.json !== true) workflows.noteArguments(workflow, cli);
    const { maxSteps } = options;
    const how = defined({ runId, idempotencyKey: key, tags: tag, deadline, priority });
    if (options.detach === true) {
      const submitted = await runner.submit(input, defined({ ...how, maxSteps, at }));
      return cli.print(options.json === true ? jsonText(submitted) : submitted.runId);
    }
    const next = nextCommands(cli.io.env, sources, options.db);
    await work(cli, options, next, (more) => runner.run(input, { ...how, ...more }));
  });
}
