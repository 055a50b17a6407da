/**
 * Measures superstep: `deno task bench`, or `deno task bench --help`.
 *
 * Each workload runs in a process of its own, on each runtime that is asked for. What is possible is measured in every
 * repeat of it, so that ratios hold on a busy machine; medians of the repeats count. `cold` is the first time in a
 * process.
 */
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { processIo } from "../../src/cli/io.ts";
import { ROOT } from "../support/paths.ts";
import type { RuntimeName } from "../support/runtimes.ts";
import { bench } from "./command.ts";
import { measureApart } from "./process.ts";

/** What the test runner knows about runtimes, which is plain JavaScript. */
interface Tools {
  readonly locate: (name: RuntimeName) => string;
  readonly installDependencies: () => void;
  readonly buildForNode: (node: string) => void;
}

async function prepare(runtimes: readonly RuntimeName[]): Promise<void> {
  const tools: Tools = await import(pathToFileURL(join(ROOT, "tests", "tools", "runtimes.mjs")).href);
  tools.installDependencies();
  for (const name of runtimes) {
    const path = process.env[`SUPERSTEP_${name.toUpperCase()}`] = tools.locate(name);
    if (name === "node") tools.buildForNode(path);
  }
}

process.exitCode = await bench(process.argv.slice(2), { io: processIo(), measure: measureApart, prepare });
