import type { Command } from "commander";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { addDatabase, wholeNumber } from "../options.ts";
import { jsonText } from "../printable.ts";
import { runRecord } from "../reading.ts";
import { oneId } from "../sources.ts";
import { standIn } from "../codeless_runner.ts";

interface RetainOptions extends CommonOptions {
  readonly db: string;
  readonly last: number;
}

/** `superstep retain`. */
export function addRetain(program: Command, cli: Cli): void {
  const command = program.command("retain")
    .description("cut the beginning off the history of a run")
    .argument("<run>", "the id of the run")
    .argument("[sources...]", "not needed")
    .requiredOption("--last <n>", "how many records to keep at least", wholeNumber);
  addDatabase(command).action((run: string, more: readonly string[], options: RetainOptions) =>
    retain(cli, [run, ...more], options)
  );
}

async function retain(cli: Cli, given: readonly string[], options: RetainOptions): Promise<void> {
  const { id } = oneId(given, "run id");
  const kept = await withDatabase(options.db, { create: false }, async (store) => {
    const { graphId } = await runRecord(store, id);
    return await standIn(graphId, store, cli).retain(id, options.last);
  });
  if (options.json === true) return cli.print(jsonText({ runId: id, ...kept }));
  cli.print(`the history of ${id} begins at revision ${kept.first}`);
}
