import type { Hooks, RunEvent } from "../../engine/events.ts";
import type { Cli } from "../cli.ts";
import { isTerminal } from "../colours.ts";
import { LiveView } from "./live.ts";
import { PlainView } from "./plain.ts";

/** What shows the progress of a run. */
interface ProgressView {
  /** Takes an event in. */
  apply(event: RunEvent): void;
  /** Prints a text above the progress. */
  print(text: string): void;
  /** Draws the last state and lets the terminal go. */
  close(): void;
}

/** The view that fits the error stream; none for machines. */
export function progressView(cli: Cli, quiet: boolean): ProgressView {
  const { io, noteColours } = cli;
  if (quiet) return { apply: () => {}, print: (text) => io.stderr.write(`${text}\n`), close: () => {} };
  return isTerminal(io, io.stderr)
    ? new LiveView(io.stderr, noteColours)
    : new PlainView(io.stderr, noteColours);
}

/** The events that progress is made of. */
const SHOWN = [
  "vertexStart",
  "vertexFinish",
  "attemptFailed",
  "wait",
  "answer",
  "waitClosed",
  "emit",
] as const satisfies readonly RunEvent["type"][];

/** Hooks that hand them to one listener. */
export function hooksOf(apply: (event: RunEvent) => void): Hooks {
  return Object.fromEntries(SHOWN.map((type) => [type, apply]));
}
