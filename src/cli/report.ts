import type { Activity } from "../engine/activity.ts";
import type { OpenWait, RunResult } from "../engine/result.ts";
import type { Queued } from "../model/flow.ts";
import { userFrame } from "../errors/user_frame.ts";
import type { Cli } from "./cli.ts";
import { counted, dateTime, span } from "./format.ts";
import { block, jsonText, line, shortJson } from "./printable.ts";
import { nameOf } from "./progress/plain.ts";
import { shownOf, type ShownRun } from "./run_json.ts";
import type { NextCommands } from "./next.ts";

/** How much of a state is shown to people; `get` shows all of it. */
const STATE_LENGTH = 4_000;

/** How to print a result. */
interface ReportOptions {
  readonly json: boolean;
  readonly next: NextCommands;
}

/** Prints what a run came to. */
export function printResult(cli: Cli, result: RunResult<unknown>, options: ReportOptions): void {
  const shown = shownOf(result);
  if (options.json) return cli.print(jsonText(shown));
  const { run, path } = shown;
  const { bold, dim } = cli.colours;
  const took = run.startedAt === undefined ? "" : `, ${span(run.updatedAt - run.startedAt)}`;
  cli.print(
    `${bold(run.runId)}  ${statusText(cli, run)}  ${
      dim(`${run.graphId}, step ${run.step}, revision ${run.revision}${took}`)
    }`,
  );
  if (path.length > 0) cli.print(dim(pathText(path)));
  printTroubles(cli, shown, options.next);
  if (result.status === "completed") cli.print(stateText(result.state, STATE_LENGTH));
  if (result.status === "interrupted" && result.reason !== "awaiting") {
    cli.print(dim(`go on with: ${options.next.resume(run.runId)}`));
  }
}

/** The status of a run, in its colour, with its reason. */
export function statusText(
  cli: Cli,
  run: {
    readonly status: string;
    readonly reason?: string | undefined;
    readonly queued?: string | Queued | undefined;
    readonly activity?: Activity | undefined;
  },
  isAnswered = false,
): string {
  const { green, red, yellow, cyan } = cli.colours;
  if (run.activity === "stranded") {
    return `${statusText(cli, { ...run, activity: undefined })} ${
      red("(stranded: no worker serves its version)")
    }`;
  }
  if (run.queued !== undefined) {
    return yellow(`queued for ${line(typeof run.queued === "string" ? run.queued : run.queued.permit)}`);
  }
  switch (run.reason ?? run.status) {
    case "completed":
      return green("completed");
    case "errored":
    case "halted":
      return red(run.reason!);
    case "awaiting":
      return yellow(isAnswered ? "answered" : "awaiting an answer");
    case "sleeping":
      return yellow("sleeping");
    case "running":
      return run.activity === "queued" ? yellow("queued") : cyan("running");
    default:
      return line(run.status);
  }
}

/** Prints what keeps a run: its open waits, its failures, its halt, why it was cancelled. */
export function printTroubles(cli: Cli, shown: ShownRun, next: NextCommands): void {
  const { yellow, red, dim } = cli.colours;
  if (shown.cancelReason !== undefined) {
    cli.print(`because: ${line(shown.cancelReason) || "nobody said why"}`);
  }
  for (const wait of shown.waits ?? []) {
    cli.print(`${yellow("⏸")} ${waitText(wait)}`);
    if (wait.info !== undefined) cli.print(indented(jsonText(wait.info, 2)));
    if (wait.kind !== "timer") cli.print(dim(`  answer with: ${next.answer(wait.waitId)}`));
  }
  if ((shown.answered ?? []).length > 0) {
    cli.print(
      `${yellow("⏸")} answered: ${shown.answered!.join(", ")}; go on with: ${next.resume(shown.runId)}`,
    );
  }
  for (const { failure, stack, ...vertex } of shown.failures ?? []) {
    const attempts = counted(failure.attempt, "attempt");
    cli.print(
      `${red("✘")} ${nameOf(vertex)} failed after ${attempts}: ${line(failure.name)}: ${
        line(failure.message)
      }`,
    );
    const frame = stack === undefined ? undefined : userFrame(stack);
    if (frame !== undefined) cli.print(dim(`  at ${line(frame)}`));
  }
  if (shown.halt !== undefined) {
    cli.print(`${red("✘")} halted (${shown.halt.kind}): ${line(shown.halt.message)}`);
  }
}

function waitText(wait: OpenWait): string {
  const until = wait.due === undefined ? "" : ` until ${dateTime(wait.due)}`;
  return wait.kind === "timer"
    ? `${nameOf(wait)} sleeps${until} (${line(wait.name)})`
    : `${nameOf(wait)} waits for ${line(wait.name)}${until}: ${line(wait.waitId)}`;
}

/** A path; of a long one its beginning and its end. */
export function pathText(path: readonly string[]): string {
  const shown = path.length <= 40
    ? path
    : [...path.slice(0, 5), `… ${path.length - 15} more …`, ...path.slice(-10)];
  return shown.map((id) => line(id)).join(" → ");
}

/** A state as people read it. */
export function stateText(state: unknown, max = Infinity): string {
  const text = block(jsonText(state, 2));
  return text.length <= max
    ? text
    : `${text.slice(0, max)}\n… ${text.length - max} characters more; see superstep get, or --json`;
}

/** A line of at most `max` characters about a value. */
export function infoText(info: unknown, max = 60): string {
  return info === undefined ? "" : shortJson(info, max);
}

function indented(text: string): string {
  return block(text).replace(/^/gm, "  ");
}
