import { fromJson } from "../../model/json.ts";
import { messageOf } from "../../errors.ts";
import { StoppedError } from "../faults.ts";
import type { Io } from "../io.ts";
import { jsonFault } from "../json_fault.ts";
import { line, shortJson } from "../printable.ts";
import type { Question } from "./questions.ts";

/** What was answered; nothing for an optional field that was left out. */
export type Answered = { readonly value: unknown } | undefined;

/** Asks on a terminal. */
export interface Prompter {
  /** Asks a question. */
  ask(question: Question): Promise<Answered>;
  /** Asks which of several things is meant. */
  choose(message: string, labels: readonly string[]): Promise<number>;
}

/** Prompts on the terminal of the process; a prompt that is left with Ctrl-C or Escape is a {@link StoppedError}. */
export async function terminalPrompter(io: Io): Promise<Prompter> {
  const { select, text, isCancel } = await import("@clack/prompts");
  const streams = { input: io.stdin, output: io.stderr };

  async function choice(message: string, labels: readonly string[]): Promise<number> {
    const options = labels.map((label, value) => ({ value, label }));
    const chosen = await select({ message, options, ...streams });
    if (isCancel(chosen)) throw left();
    return chosen;
  }

  return {
    choose: (message, labels) => choice(line(message), labels.map((label) => line(label))),
    async ask(question) {
      const { kind, optional, initial } = question;
      const message = messageFor(question);
      if (kind === "choice" || kind === "boolean") {
        const values = question.choices ?? [true, false];
        const labels = values.map((v) => kind === "boolean" ? (v === true ? "yes" : "no") : labelOf(v));
        if (optional) labels.push(initial === undefined ? "(leave out)" : `(default: ${labelOf(initial)})`);
        const index = await choice(message, labels);
        return index < values.length ? { value: values[index] } : undefined;
      }
      const typed = await text({
        message,
        ...(initial === undefined ? {} : { placeholder: labelOf(initial) }),
        validate: (typed) => problemOf(question, typed ?? ""),
        ...streams,
      });
      if (isCancel(typed)) throw left();
      return typed === "" && optional ? undefined : { value: valueOf(question, typed) };
    },
  };
}

function left(): StoppedError {
  return new StoppedError("nothing was answered");
}

function messageFor({ label, hint, kind, optional }: Question): string {
  const what = [
    kind === "json" ? "JSON" : kind === "number" ? "a number" : "",
    optional ? "may be left out" : "",
  ];
  const notes = [hint, ...what].filter((note) => note !== undefined && note !== "").join(", ");
  return line(notes === "" ? label : `${label} (${notes})`);
}

function labelOf(value: unknown): string {
  return typeof value === "string" && value !== "" ? line(value) : shortJson(value);
}

/** What is wrong with the text that was typed, before any schema sees it. */
export function problemOf(question: Question, typed: string): string | undefined {
  if (typed === "" && question.optional) return undefined;
  if (question.kind === "number") return isNumber(typed) ? undefined : "give a number";
  if (question.kind !== "json") return undefined;
  try {
    fromJson(JSON.parse(typed), question.label);
    return undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) return line(messageOf(error).replace(/^superstep: /, ""));
    const { column, problem } = jsonFault(typed);
    return typed.trim() === "" ? "give JSON" : `no JSON: column ${column}: ${problem}`;
  }
}

/** The value that was typed. */
export function valueOf(question: Question, typed: string): unknown {
  if (question.kind === "number") return Number(typed);
  return question.kind === "json" ? fromJson(JSON.parse(typed), question.label) : typed;
}

function isNumber(typed: string): boolean {
  return typed.trim() !== "" && Number.isFinite(Number(typed));
}
