import { CommanderError } from "commander";
import { isSuperstepError, messageOf } from "../errors.ts";
import type { StopSignal } from "./io.ts";
import { line } from "./printable.ts";

/** Arguments that cannot be meant, or do not fit what is there. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** Lines that help to choose, printed below the message. */
  readonly details: readonly string[];
  constructor(message: string, details: readonly string[] = []) {
    super(message);
    this.details = details;
  }
}

/** Somebody asked the program to stop. */
export class StoppedError extends Error {
  override readonly name = "StoppedError";
  constructor(message: string, readonly signal: StopSignal = "SIGINT") {
    super(message);
  }
}

/** A fault as told: one line, what helps beside it, and the same for machines. */
export interface Fault {
  readonly code: string;
  readonly message: string;
  readonly details: readonly string[];
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What is said of anything thrown. Never a stack, and never the words of a driver. */
export function faultOf(error: unknown, db: string): Fault {
  if (error instanceof UsageError) {
    return {
      code: "USAGE",
      message: line(error.message),
      details: error.details.map((d) => line(d)),
      fields: {},
    };
  }
  if (error instanceof CommanderError) {
    return { code: "USAGE", message: line(error.message.replace(/^error: /, "")), details: [], fields: {} };
  }
  if (!isSuperstepError(error)) {
    const message = `this should not have happened: ${line(messageOf(error), 500)}; --debug shows where`;
    return { code: "UNEXPECTED", message, details: [], fields: {} };
  }
  const { code, fields } = error;
  const faults = code === "BUILD_FAULTS" && Array.isArray(fields["faults"]) ? fields["faults"] : undefined;
  if (faults !== undefined) {
    const details = faults.map((fault) => line(`- ${String(fault).replace(/^superstep: /, "")}`));
    return { code, message: `${faults.length} faults:`, details, fields };
  }
  const text = WORDINGS[code]?.(fields, db) ??
    error.message.replace(/^superstep: /, "").replace("`force`", "--force");
  return { code, message: line(text), details: [], fields };
}

type Wording = (fields: Readonly<Record<string, unknown>>, db: string) => string | undefined;

/** Faults whose remedy is another one here than in code. */
const WORDINGS: Readonly<Record<string, Wording>> = {
  CHECKPOINT_NOT_FOUND: ({ runId, revision }, db) =>
    revision === undefined ? `there is no run ${runId} in ${db}; see superstep list` : undefined,
  RUN_BUSY: ({ runId, owner }) =>
    `run ${runId} is at work in process ${owner}; wait for it with --wait, or claim it with --takeover`,
  RESUME_TERMINAL: ({ runId, status }) =>
    `run ${runId} is ${status} and cannot be resumed; see superstep get ${runId}`,
  ANSWER: ({ reason, runId, waits }) =>
    reason === "ambiguous" && Array.isArray(waits) && waits.length > 1
      ? `${waits.length} waits of run ${runId} are open: ${
        waits.join(", ")
      }; give --answers, or --all for one value`
      : undefined,
};
