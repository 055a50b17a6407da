import { isSuperstepError } from "../../errors.ts";
import type { Prompter } from "./prompter.ts";
import { type Question, questionsOf } from "./questions.ts";

/** What a schema has against a value. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** What filling in a form needs. */
interface FormOptions {
  readonly prompter: Prompter;
  /** Hands the value in; throws what a refused answer throws. */
  submit(value: unknown): Promise<void>;
  /** Shows what is wrong with a field, or with the whole. */
  fault(text: string): void;
}

/**
 * Asks for a value field by field and hands it in. Fields that are refused are asked for again, with what is wrong.
 *
 * @returns The value that was accepted.
 */
export async function fillIn(schema: unknown, label: string, options: FormOptions): Promise<unknown> {
  const { prompter, submit, fault } = options;
  const questions = questionsOf(schema, label);
  const answers = new Map<Question, unknown>();
  for (let open = questions;;) {
    for (const question of open) {
      const answered = await prompter.ask(question);
      if (answered === undefined) answers.delete(question);
      else answers.set(question, answered.value);
    }
    const value = assembled(questions, answers);
    try {
      await submit(value);
      return value;
    } catch (error) {
      const issues = issuesOf(error);
      if (issues === undefined) throw error;
      for (const { path, message } of issues) fault(path === "" ? message : `${path}: ${message}`);
      const refused = questions.filter((q) => issues.some((issue) => isAbout(issue, q)));
      open = refused.length === 0 ? questions : refused;
    }
  }
}

function assembled(questions: readonly Question[], answers: ReadonlyMap<Question, unknown>): unknown {
  const [only] = questions;
  if (only !== undefined && only.field === undefined) return answers.get(only);
  // Entries are defined, never assigned: a field such as `__proto__` stays a field.
  return Object.fromEntries(
    questions.filter((q) => answers.has(q)).map((q) => [q.field!, answers.get(q)]),
  );
}

function issuesOf(error: unknown): readonly Issue[] | undefined {
  if (!isSuperstepError(error, "ANSWER") || error.fields["reason"] !== "invalid") return undefined;
  const { issues } = error.fields;
  return Array.isArray(issues) ? issues : [{ path: "", message: error.message.replace(/^superstep: /, "") }];
}

/** Whether an issue is about the field, or about something in it. */
function isAbout({ path }: Issue, { field }: Question): boolean {
  if (field === undefined) return true;
  return path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`) ||
    path.startsWith(`[${JSON.stringify(field)}]`);
}
