import { Cron } from "croner";
import { BuildError, messageOf } from "../errors.ts";
import type { CompiledSchedule, ScheduleOptions } from "../model/definition.ts";
import { isId } from "../model/ids.ts";
import { optionProblem } from "../model/known_options.ts";
import { KNOWN_SCHEDULE } from "../model/policy_options.ts";
import { sha256Hex } from "../runtime/hash.ts";
import { shown } from "./policies.ts";

/** What `onMissed` may be. */
const CHOICES: readonly unknown[] = ["skip", "one", "all"];
/** What `overlap` may be. */
const OVERLAPS: readonly unknown[] = ["allow", "skip", "queueOne", "queue", "cancel"];

/**
 * A schedule whose expression and time zone have been judged.
 *
 * @throws {BuildError} when one of them, or another option, is not one, or the expression has no time at all
 */
export function compileSchedule<I>(
  op: string,
  graphId: string,
  expression: string,
  options: ScheduleOptions<I> = {},
): CompiledSchedule {
  const { timezone = "UTC", onMissed = "one", overlap = "allow", input = {} } = options;
  const refuse = (problem: string, cause?: unknown) =>
    new BuildError(op, `a schedule of graph ${graphId}: ${problem}`, { graphId }, { cause });
  const unknown = optionProblem(options, KNOWN_SCHEDULE);
  if (unknown !== undefined) throw refuse(unknown);
  if (typeof expression !== "string") {
    throw refuse(`the expression is ${shown(expression)}; give a text such as "0 9 * * 1-5"`);
  }
  if (!CHOICES.includes(onMissed)) {
    throw refuse(`onMissed is ${shown(onMissed)}; give "skip", "one" or "all"`);
  }
  if (!OVERLAPS.includes(overlap)) {
    throw refuse(`overlap is ${shown(overlap)}; give "allow", "skip", "queueOne", "queue" or "cancel"`);
  }
  if (typeof timezone !== "string" || !isTimezone(timezone)) {
    throw refuse(`the time zone is ${shown(timezone)}; give an IANA name such as "Europe/Berlin"`);
  }
  const { id = `s-${sha256Hex(`${expression}\n${timezone}`).slice(0, 12)}` } = options;
  if (!isId(id) || id.length > LONGEST_ID) {
    throw refuse(
      `the id is ${shown(id)}; give a letter or digit, then up to ${LONGEST_ID - 1} letters, digits, or ._:-`,
    );
  }
  let cron: Cron;
  try {
    cron = new Cron(expression, { timezone });
  } catch (cause) {
    const why = messageOf(cause).replace(/^CronPattern: /, "");
    throw refuse(`the expression ${shown(expression)} is none: ${why}`, cause);
  }
  if (cron.getOnce() !== null || cron.nextRun(new Date(0)) === null) {
    throw refuse(
      `the expression ${shown(expression)} names no time that comes again; give one such as "0 9 * * *"`,
    );
  }
  return Object.freeze({
    id,
    expression,
    timezone,
    onMissed,
    overlap,
    input: typeof input === "function" ? input as (tick: Date) => unknown : () => input,
    next: (after: number) => cron.nextRun(new Date(after))?.getTime(),
    between: (from: number, to: number, most: number) =>
      cron.previousRuns(most, new Date(to + 1)).map((tick) => tick.getTime()).filter((tick) => tick > from)
        .reverse(),
  });
}

/** Tags of runs hold the id with a prefix. */
const LONGEST_ID = 100;

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
