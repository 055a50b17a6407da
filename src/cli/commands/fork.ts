import type { Command } from "commander";
import { defined } from "../../model/defined.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { addEdits, editOf, type EditOptions, refuseUnknownFields } from "../edits.ts";
import { nextCommands } from "../next.ts";
import { addDatabase, addRunning, revision, several, SOURCES } from "../options.ts";
import { jsonText } from "../printable.ts";
import { cursorOf } from "../reading.ts";
import { oneId, Workflows } from "../sources.ts";
import { type RunningOptions, work } from "../work.ts";

interface ForkCommandOptions extends CommonOptions, RunningOptions, EditOptions {
  readonly revision?: number;
  readonly runId?: string;
  readonly tag?: readonly string[];
  readonly resume?: boolean;
  readonly provide?: string;
  readonly adopt?: boolean;
}

/** `superstep fork`. */
export function addFork(program: Command, cli: Cli): void {
  const command = program.command("fork")
    .description("begin a new run where another one was at a revision")
    .usage("[options] <run> <sources...>")
    .argument("<arguments...>", `the id of the run, and ${SOURCES}, in any order`)
    .option("--revision <n>", "where to begin, see superstep history (default: the newest)", revision)
    .option("--run-id <id>", "the id of the new run (default: a new one)")
    .option("--tag <word>", "a tag of the new run; may be repeated (default: those of the old one)", several)
    .option("--resume", "work on the new run at once");
  addRunning(addDatabase(addEdits(command))).action((given: readonly string[], options: ForkCommandOptions) =>
    fork(cli, given, options)
  );
}

async function fork(cli: Cli, given: readonly string[], options: ForkCommandOptions): Promise<void> {
  const { id, sources } = oneId(given, "run id");
  const { runId, tag, db, json = false } = options;
  const state = await editOf(cli, options);
  const workflows = await Workflows.load(sources, options);
  await withDatabase(db, { create: false }, async (store) => {
    const source = await cursorOf(store, id, defined({ revision: options.revision }));
    const { revision: at } = source.checkpoint.run;
    const workflow = workflows.ofRun(source.checkpoint.run);
    refuseUnknownFields(workflow.graph.schema, source.state, state);
    const runner = workflows.runner(workflow, store, cli);
    const forked = await runner.fork(id, at, defined({ state, runId, tags: tag }));
    const next = nextCommands(cli.io.env, sources, db);
    if (options.resume === true) {
      return await work(cli, options, next, (how) => runner.resume(forked.runId, how));
    }
    if (json) return cli.print(jsonText({ ...forked, parent: { runId: id, revision: at } }));
    cli.print(
      `${forked.runId} begins where ${id} was at revision ${at}; go on with: ${next.resume(forked.runId)}`,
    );
  });
}
