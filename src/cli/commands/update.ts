import type { Command } from "commander";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { addEdits, editOf, type EditOptions, refuseUnknownFields } from "../edits.ts";
import { UsageError } from "../faults.ts";
import { nextCommands } from "../next.ts";
import { addDatabase, SOURCES } from "../options.ts";
import { jsonText } from "../printable.ts";
import { cursorOf } from "../reading.ts";
import { shownOf } from "../run_json.ts";
import { oneId, Workflows } from "../sources.ts";

interface UpdateOptions extends CommonOptions, EditOptions {
  readonly db: string;
}

/** `superstep update`. */
export function addUpdate(program: Command, cli: Cli): void {
  const command = program.command("update")
    .description("change the state of a run that nobody is at work on")
    .usage("[options] <run> <sources...>")
    .argument("<arguments...>", `the id of the run, and ${SOURCES}, in any order`);
  addDatabase(addEdits(command)).action((given: readonly string[], options: UpdateOptions) =>
    update(cli, given, options)
  );
}

async function update(cli: Cli, given: readonly string[], options: UpdateOptions): Promise<void> {
  const { id, sources } = oneId(given, "run id");
  const edit = await editOf(cli, options);
  if (edit === undefined) throw new UsageError("no change is given; give --state or --set");
  const workflows = await Workflows.load(sources);
  await withDatabase(options.db, { create: false }, async (store) => {
    const { checkpoint, state } = await cursorOf(store, id);
    const workflow = workflows.ofRun(checkpoint.run);
    refuseUnknownFields(workflow.graph.schema, state, edit);
    const runner = workflows.runner(workflow, store, cli);
    const view = await runner.update(id, edit);
    if (options.json === true) return cli.print(jsonText(shownOf(view)));
    const next = nextCommands(cli.io.env, sources, options.db);
    const awaits = view.status === "interrupted" && view.waits.some((wait) => wait.kind !== "timer");
    cli.print(
      `${id} is changed, revision ${view.run.revision}; ` +
        (awaits
          ? `it still awaits an answer; answer with: ${next.answer(id)}`
          : `go on with: ${next.resume(id)}`),
    );
  });
}
