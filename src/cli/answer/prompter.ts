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

function messageFor({ label, hint, kind, optional, nullable }: Question): string {
  const what = [
    WORDS.get(kind),
    nullable ? "or null" : "",
    optional ? "may be left out" : "",
  ];
  const notes = [hint, ...what].filter((note) => note !== undefined && note !== "").join(", ");
  return line(notes === "" ? label : `${label} (${notes})`);
}

const WORDS = new Map<Question["kind"], string>([
  ["json", "JSON"],
  ["number", "a number"],
  ["time", "a time such as 2026-12-31T23:59:59Z"],
  ["bigint", "a whole number"],
]);

function labelOf(value: unknown): string {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  return typeof value === "bigint" || typeof value === "string" && value !== ""
    ? line(String(value))
    : shortJson(value);
}

/** What is wrong with the text that was typed, before any schema sees it. */
export function problemOf(question: Question, typed: string): string | undefined {
  if (typed === "" && question.optional) return undefined;
  if (question.kind === "number") return isNumber(typed) ? undefined : "give a number";
  if (question.kind === "time" || question.kind === "bigint") {
    const isFit = isNull(question, typed) || (question.kind === "time" ? isTime : isWhole)(typed.trim());
    return isFit ? undefined : `give ${WORDS.get(question.kind)}`;
  }
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
  if (isNull(question, typed)) return null;
  if (question.kind === "time") return new Date(typed.trim());
  if (question.kind === "bigint") return BigInt(typed.trim());
  if (question.kind === "number") return Number(typed);
  return question.kind === "json" ? fromJson(JSON.parse(typed), question.label) : typed;
}

function isNull({ nullable = false }: Question, typed: string): boolean {
  return nullable && typed.trim() === "null";
}

/** Whether it is a time as ISO 8601 writes it; one without a zone is that of the terminal. */
function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\d(T|$)/.test(text) && !Number.isNaN(Date.parse(text));
}

function isWhole(text: string): boolean {
  return /^-?\d+$/.test(text);
}

function isNumber(typed: string): boolean {
  return typed.trim() !== "" && Number.isFinite(Number(typed));
}
