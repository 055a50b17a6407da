import type { Command } from "commander";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { addDatabase } from "../options.ts";
import { jsonText, line } from "../printable.ts";
import { runRecord } from "../reading.ts";
import { oneId } from "../sources.ts";
import { standIn } from "../codeless_runner.ts";

interface CancelOptions extends CommonOptions {
  readonly db: string;
  readonly reason?: string;
}

/** `superstep cancel`. */
export function addCancel(program: Command, cli: Cli): void {
  const command = program.command("cancel")
    .description("end a run for good, whatever it is at, in whatever process")
    .argument("<run>", "the id of the run")
    .argument("[sources...]", "not needed")
    .option("-r, --reason <text>", "why (default: requested)");
  addDatabase(command).action((run: string, more: readonly string[], options: CancelOptions) =>
    cancel(cli, [run, ...more], options)
  );
}

async function cancel(cli: Cli, given: readonly string[], options: CancelOptions): Promise<void> {
  const { id } = oneId(given, "run id");
  const ended = await withDatabase(options.db, { create: false }, async (store) => {
    const { graphId } = await runRecord(store, id);
    return await standIn(graphId, store, cli).cancel(id, options.reason);
  });
  if (options.json === true) return cli.print(jsonText(ended));
  cli.print(
    ended.status === "cancelled"
      ? `${id} is cancelled: ${line(ended.reason ?? "")}`
      : `${id} was completed before; there is nothing to cancel`,
  );
}
