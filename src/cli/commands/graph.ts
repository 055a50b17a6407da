import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import type { Runner } from "../../engine/runner.ts";
import { memoryStore } from "../../store/memory.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { UsageError } from "../faults.ts";
import { fileFault } from "../input.ts";
import { addDatabase, SOURCES } from "../options.ts";
import { block, jsonText } from "../printable.ts";
import { runRecord } from "../reading.ts";
import { Workflows } from "../sources.ts";

interface GraphOptions extends CommonOptions {
  readonly db: string;
  readonly workflow?: string;
  readonly run?: string;
  readonly svg?: string;
}

/** `superstep graph`. */
export function addGraph(program: Command, cli: Cli): void {
  const command = program.command("graph")
    .description("print the graph of a workflow as Mermaid text, or with --json as data")
    .argument("<sources...>", SOURCES)
    .option("-w, --workflow <id>", "which workflow, when the sources hold several")
    .option("--run <id>", "show the status of this run's vertices")
    .option("--svg <file>", "write a picture to this file instead; - for the standard output");
  addDatabase(command).action((sources: readonly string[], options: GraphOptions) =>
    graph(cli, sources, options)
  );
}

async function graph(cli: Cli, sources: readonly string[], options: GraphOptions): Promise<void> {
  const { run, svg, json = false } = options;
  if (json && (svg !== undefined || run !== undefined)) {
    throw new UsageError("--json prints the graph as data; it goes with neither --svg nor --run");
  }
  const workflows = await Workflows.load(sources);
  const draw = async (runner: Runner<unknown>) => {
    if (json) return cli.print(jsonText(runner.topology(), 2));
    const text = svg === undefined ? await runner.mermaid(run) : await runner.svg(run);
    if (svg === undefined || svg === "-") return cli.print(block(text).trimEnd());
    await writeFile(svg, text).catch((error: unknown) => {
      throw new UsageError(`the picture cannot be written: ${fileFault(svg, error)}`);
    });
    cli.note(`written to ${svg}`);
  };
  if (run === undefined) {
    return await draw(workflows.runner(workflows.pick(options.workflow), memoryStore(), cli));
  }
  await withDatabase(options.db, { create: false }, async (store) => {
    await draw(workflows.runner(workflows.ofRun(await runRecord(store, run)), store, cli));
  });
}
