import process from "node:process";
import type { Readable, Writable } from "node:stream";

/** The signals that ask the program to stop. */
export type StopSignal = "SIGINT" | "SIGTERM";

/** A stream to write to, and what is known about the terminal behind it. */
export type OutStream = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** Everything that the command line touches of its process; tests bring their own. */
export interface Io {
  /** Where answers are read from. */
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Where results go. */
  readonly stdout: OutStream;
  /** Where faults and progress go. */
  readonly stderr: OutStream;
  /** The environment, such as `NO_COLOR`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the code of workflows prints: what it says must not get between the lines of this program. */
  readonly console?: ConsoleMethods;
  /** Listens to requests to stop; returns how to listen no more. */
  onStop(listener: (signal: StopSignal) => void): () => void;
  /** Ends the process at once. */
  exit(code: number): void;
}

/** The methods of a console that print. */
export type ConsoleMethods = Record<
  "log" | "info" | "debug" | "warn" | "error",
  (...data: unknown[]) => void
>;

/** Their names. */
export const CONSOLE_METHODS = [
  "log",
  "info",
  "debug",
  "warn",
  "error",
] as const satisfies readonly (keyof ConsoleMethods)[];

/** This process. */
export function processIo(): Io {
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    console: globalThis.console,
    onStop(listener) {
      const signals: readonly StopSignal[] = ["SIGINT", "SIGTERM"];
      const listeners = signals.map((signal) => [signal, () => listener(signal)] as const);
      for (const [signal, hear] of listeners) process.on(signal, hear);
      return () => {
        for (const [signal, hear] of listeners) process.off(signal, hear);
      };
    },
    exit: (code) => process.exit(code),
  };
}
