import { join } from "node:path";
import process from "node:process";
import { ROOT } from "./paths.ts";

/** A runtime that the tests can start a process on. */
export type RuntimeName = "deno" | "bun" | "node";

/** All of them. */
export const RUNTIMES: readonly RuntimeName[] = ["deno", "bun", "node"];

/** The runtime that executes this test. */
export const HOST: RuntimeName = "deno" in process.versions
  ? "deno"
  : "bun" in process.versions
  ? "bun"
  : "node";

/** An executable and its arguments, for `node:child_process`. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * How to run a TypeScript file of this repository on a runtime: from source on Deno and Bun, as built on Node.
 *
 * ```ts
 * const { command, args } = commandFor("bun", "tests/durability/worker.ts", [path]);
 * const child = spawn(command, args);
 * ```
 */
export function commandFor(runtime: RuntimeName, file: string, args: readonly string[] = []): Command {
  const source = join(ROOT, file);
  const built = join(ROOT, "dist", file.replace(/\.ts$/, ".js"));
  const own = runtime === "deno"
    ? ["run", "-A", "--unstable-kv", source]
    : [runtime === "bun" ? source : built];
  return { command: executable(runtime), args: [...own, ...args] };
}

/** The executable of a runtime. The test runner names all three in the environment; by hand, PATH has to. */
export function executable(runtime: RuntimeName): string {
  if (runtime === HOST) return process.execPath;
  return process.env[`SUPERSTEP_${runtime.toUpperCase()}`] ?? runtime;
}
