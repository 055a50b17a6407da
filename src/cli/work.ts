import type { WorkOptions } from "../engine/options.ts";
import type { RunResult } from "../engine/result.ts";
import { defined } from "../model/defined.ts";
import type { Cli } from "./cli.ts";
import { exitCodeOf } from "./exit.ts";
import type { NextCommands } from "./next.ts";
import { CONSOLE_METHODS, type Io } from "./io.ts";
import { hooksOf, progressView } from "./progress/view.ts";
import { printResult } from "./report.ts";
import { stoppable } from "./stopping.ts";

/** Options of the commands that run something. */
export interface RunningOptions {
  readonly db: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly concurrency?: number;
  readonly maxSteps?: number;
  readonly checkpointEvery?: "vertex" | "step";
}

/** Runs a run until it is over or interrupted, shows how it goes, prints what it came to, and sets the exit code. */
export async function work(
  cli: Cli,
  options: RunningOptions,
  next: NextCommands,
  begin: (options: WorkOptions) => Promise<RunResult<unknown>>,
): Promise<void> {
  const view = progressView(cli, options.quiet === true || options.json === true);
  const undivert = cli.divert((text) => view.print(text));
  const release = captureConsole(cli.io, (data) => cli.printed(data));
  let result: RunResult<unknown>;
  try {
    result = await stoppable(cli, next.resume, (signal) => {
      const { concurrency, maxSteps, checkpointEvery } = options;
      const hooks = hooksOf((event) => view.apply(event));
      return begin({ signal, hooks, ...defined({ concurrency, maxSteps, checkpointEvery }) });
    });
  } finally {
    view.close();
    release();
    undivert();
  }
  printResult(cli, result, { json: options.json === true, next });
  cli.exitCode = exitCodeOf(result);
}

/** What workflows print goes to the error stream, so that the standard output holds results only. */
export function captureConsole(io: Io, print: (data: readonly unknown[]) => void): () => void {
  const { console } = io;
  if (console === undefined) return () => {};
  const own = Object.fromEntries(CONSOLE_METHODS.map((method) => [method, console[method]]));
  for (const method of CONSOLE_METHODS) console[method] = (...data) => print(data);
  return () => {
    Object.assign(console, own);
  };
}
