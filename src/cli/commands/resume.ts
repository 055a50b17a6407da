import type { Command } from "commander";
import type { ResumeOptions, WorkOptions } from "../../engine/options.ts";
import type { RunResult } from "../../engine/result.ts";
import type { Runner } from "../../engine/runner.ts";
import { isSuperstepError } from "../../errors.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { UsageError } from "../faults.ts";
import { readValue } from "../input.ts";
import { addDatabase, addRunning, SOURCES } from "../options.ts";
import { runRecord } from "../reading.ts";
import { oneId, Workflows } from "../sources.ts";
import { nextCommands } from "../next.ts";
import { type RunningOptions, work } from "../work.ts";

interface ResumeCommandOptions extends CommonOptions, RunningOptions {
  readonly takeover?: boolean;
  readonly wait?: boolean;
  readonly value?: string;
  readonly answers?: string;
  readonly all?: boolean;
  readonly provide?: string;
  readonly adopt?: boolean;
}

/** How often a run that is at work elsewhere is tried again. */
const RETRY_MS = 500;

/** `superstep resume`. */
export function addResume(program: Command, cli: Cli): void {
  const command = program.command("resume")
    .description("go on with a run: retry failures and halts, take in answers and due timers")
    .usage("[options] <run> <sources...>")
    .argument("<arguments...>", `the id of the run, and ${SOURCES}, in any order`)
    .option("--takeover", "claim the run although a living process owns it")
    .option("--wait", "when another process owns the run, wait until it lets go or is dead")
    .option("--value <json>", "the answer to the one open wait, as JSON, @file or -")
    .option("--all", "give the value to every open wait")
    .option("--answers <json>", "answers by wait id, as JSON, @file or -; all are accepted or none");
  addRunning(addDatabase(command)).action((given: readonly string[], options: ResumeCommandOptions) =>
    resume(cli, given, options)
  );
}

async function resume(cli: Cli, given: readonly string[], options: ResumeCommandOptions): Promise<void> {
  const { id, sources } = oneId(given, "run id");
  const answers = await answersOf(cli, options);
  const workflows = await Workflows.load(sources, options);
  await withDatabase(options.db, { create: false }, async (store) => {
    const workflow = workflows.ofRun(await runRecord(store, id));
    if (options.json !== true) workflows.noteArguments(workflow, cli);
    const runner = workflows.runner(workflow, store, cli);
    await work(cli, options, nextCommands(cli.io.env, sources, options.db), (how) => {
      const all = { ...how, ...answers, takeover: options.takeover === true };
      return options.wait === true ? resumeWhenFree(cli, runner, id, all) : runner.resume(id, all);
    });
  });
}

async function answersOf(cli: Cli, options: ResumeCommandOptions): Promise<ResumeOptions> {
  const { value, answers, all } = options;
  if (value !== undefined && answers !== undefined) {
    throw new UsageError("give --value or --answers, not both");
  }
  if (all === true && value === undefined) {
    throw new UsageError("--all needs --value, the answer to every open wait");
  }
  if (value !== undefined) {
    return { payload: await readValue(cli.io, value, "the value"), ...(all === true ? { all } : {}) };
  }
  if (answers === undefined) return {};
  const read = await readValue(cli.io, answers, "the answers");
  if (typeof read === "object" && read !== null && !Array.isArray(read) && !(read instanceof Map)) {
    return { answers: read as Readonly<Record<string, unknown>> };
  }
  throw new UsageError('the answers are no object; give {"<wait id>": <answer>, …}');
}

/**
 * Goes on with a run once nobody else does. A run that a process died over stays its own until its lease of 15 s has run
 * out, for nobody can tell a dead process from a slow one at once.
 */
async function resumeWhenFree(
  cli: Cli,
  runner: Runner<unknown>,
  runId: string,
  options: ResumeOptions & WorkOptions,
): Promise<RunResult<unknown>> {
  for (let tries = 1;; tries++) {
    try {
      return await runner.resume(runId, options);
    } catch (error) {
      if (!isSuperstepError(error, "RUN_BUSY")) throw error;
      if (tries === 1) {
        cli.note("another process owns the run; waiting until it lets go, or has been dead for 15 s");
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
