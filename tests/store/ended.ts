/** Processes that the tests of stores start. */
import { spawn } from "node:child_process";
import { commandFor, type RuntimeName } from "../support/runtimes.ts";

/** How a process ended, and what it printed. */
export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a process to its end. */
export function run(runtime: RuntimeName, file: string, args: readonly string[]): Promise<Ended> {
  const { command, args: all } = commandFor(runtime, file, args);
  return new Promise((resolve, reject) => {
    const child = spawn(command, all, { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (data) => output += String(data));
    child.stderr.on("data", (data) => output += String(data));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
