import { type Command, InvalidArgumentError, Option } from "commander";
import { type Duration, toMs } from "../model/durations.ts";
import { DEFAULT_DB } from "./database.ts";

/** What is said of sources everywhere. */
export const SOURCES = "files, folders or globs that hold workflows";

/** What is said of `--adopt` everywhere. */
export const ADOPT = "take over runs of an older version that fit this code, see docs/changing-workflows.md";

/** `--db`, `--json`, `--debug`: what every command that reads a database has. */
export function addDatabase(command: Command): Command {
  return addOutput(command.option(
    "--db <file or url>",
    "where the runs are: a Deno KV file, or a database such as postgres://user@host/app",
    DEFAULT_DB,
  ));
}

/** `--json` and `--debug`. */
function addOutput(command: Command): Command {
  return command
    .option("--json", "print JSON for machines, and nothing else")
    .addOption(new Option("--debug", "print where a fault comes from").hideHelp());
}

/** Options of the commands that run something. */
export function addRunning(command: Command): Command {
  return command
    .option(
      "--provide <module>",
      "a module that exports provide(cls, { store, runner }), which makes the tasks",
    )
    .option("--adopt", ADOPT)
    .option("--concurrency <n>", "the most bodies at once (default: 64)", wholeNumber)
    .option("--max-steps <n>", "the most super-steps of the run (default: 10000)", wholeNumber)
    .addOption(
      new Option("--checkpoint-every <what>", "when successful outcomes are recorded").choices([
        "vertex",
        "step",
      ]),
    )
    .option("-q, --quiet", "show no progress");
}

/** A whole number from 1. */
export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number from 1.");
}

/** A whole number from 0. */
export function revision(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number from 0.");
}

/** A port to listen at. */
export function port(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError("Give a number from 0 to 65535.");
}

/** A span such as `30s`. */
export function duration(text: string): Duration {
  if ((toMs(text) ?? -1) >= 0) return text as Duration;
  throw new InvalidArgumentError('Give a span such as "30s".');
}

/** A span from now, such as `2h`, or a moment as an ISO 8601 time. */
export function durationOrDate(text: string): Duration | Date {
  if (toMs(text) !== undefined) return text as Duration;
  const date = new Date(text);
  if (/^\d{4}-/.test(text) && !Number.isNaN(date.getTime())) return date;
  throw new InvalidArgumentError('Give a span such as "2h", or a time such as "2026-11-29T12:00:00Z".');
}

/** Collects an option that may be given several times. */
export function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
