import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { commandFor, HOST } from "../support/runtimes.ts";

/** What a process printed and how it ended. */
export interface Ended {
  readonly lines: readonly string[];
  readonly errors: readonly string[];
  readonly end: number | string;
}

/** Runs a program of this repository on the runtime of the test, to its end. */
export async function run(
  file: string,
  args: readonly string[],
  options: {
    /** Called with every line as it is printed. */
    readonly onLine?: (line: string, child: ChildProcess) => void;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<Ended> {
  const { onLine, env = {} } = options;
  const { command, args: own } = commandFor(HOST, file, args);
  const child = spawn(command, own, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1", ...env },
  });
  const ended = new Promise<number | string>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve(signal ?? code ?? "unknown"));
  });
  const lines: string[] = [];
  const errors: string[] = [];
  // What failed and was tried again, or was routed, is part of what examples show.
  createInterface({ input: child.stderr }).on("line", (line) => FAILURE.test(line) || errors.push(line));
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    onLine?.(line, child);
  });
  return { end: await ended, lines, errors };
}

/**
 * Sends a signal once `count` lines that begin with `start` have been printed. It goes to the process id, because the
 * `kill` of Deno's child would report the signal in place of the exit code of a child that handled it.
 */
export function signalAfter(
  count: number,
  start: string,
  signal: NodeJS.Signals,
): (line: string, child: ChildProcess) => void {
  let seen = 0;
  return (line, child) => {
    if (line.startsWith(start) && ++seen === count) process.kill(child.pid!, signal);
  };
}

/** The line that is logged of an attempt or a vertex that failed. */
const FAILURE = /^superstep: run \S+: .* failed(, and there is another one| at attempt \d+): /;
