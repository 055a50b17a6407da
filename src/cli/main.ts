#!/usr/bin/env node
/**
 * The command line: `superstep run | resume | answer | waits | list | get | history | graph | cancel | fork | update | purge |
 * retain | serve | schema`.
 *
 * @module
 */
import { existsSync, realpathSync } from "node:fs";
import process from "node:process";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Io, processIo } from "./io.ts";
import { line } from "./printable.ts";

export type { ConsoleMethods, Io, OutStream, StopSignal } from "./io.ts";

/**
 * Runs one command.
 *
 * @param argv The arguments, without the program's own name.
 * @param io Where to read and write. @default this process
 * @returns The exit code.
 */
export async function main(argv: readonly string[], io: Io = processIo()): Promise<number> {
  const { runProgram } = await loadProgram();
  return await runProgram(argv, io);
}

/**
 * Bun takes the sources of the package wherever a workflow imports it, so there the program has to be taken from the
 * sources too, although it is started from the build: the two would be two copies.
 */
async function loadProgram(): Promise<typeof import("./program.ts")> {
  const source = new URL("../../../src/cli/program.ts", import.meta.url);
  const isBuilt = import.meta.url.endsWith("/dist/src/cli/main.js");
  if ("bun" in process.versions && isBuilt && existsSync(source)) return await import(source.href);
  return await import("./program.ts");
}

/** Whether this module is the program that was started. */
function isStarted(): boolean {
  const { main } = import.meta as { readonly main?: boolean };
  if (main !== undefined) return main;
  const [, started] = process.argv;
  return started !== undefined && existsSync(started) &&
    realpathSync(started) === fileURLToPath(import.meta.url);
}

/** Runs the program in this process and ends it, whatever the code of workflows has left open. */
async function runProcess(): Promise<void> {
  // Whoever reads the output may stop before its end, as `head` does.
  process.stdout.on(
    "error",
    (error: { readonly code?: string }) => process.exit(error.code === "EPIPE" ? 0 : 1),
  );
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    process.on(event, (error: unknown) => {
      const text = error instanceof Error ? error.message : String(error);
      process.stderr.write(
        `superstep: code outside of every task failed: ${
          line(text, 500)
        }; resume what it was at work on with --takeover\n`,
      );
      process.exit(1);
    });
  }
  // A body may wait for what keeps no process alive; Node would end in the middle of the run.
  const alive = setInterval(() => {}, 2 ** 30);
  const code = await main(process.argv.slice(2)).finally(() => clearInterval(alive));
  for (const stream of [process.stdout, process.stderr]) await flushed(stream);
  process.exit(code);
}

function flushed(stream: Writable): Promise<void> {
  return new Promise((resolve) => stream.write("", () => resolve()));
}

if (isStarted()) await runProcess();
