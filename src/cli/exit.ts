import type { RunResult } from "../engine/result.ts";

/** What the program ends with. */
export const EXIT = {
  completed: 0,
  fault: 1,
  awaiting: 2,
  sleeping: 2,
  errored: 3,
  halted: 3,
  cancelled: 4,
  /** 128 and the number of the signal, as shells have it. */
  SIGINT: 130,
  SIGTERM: 143,
} as const;

/** The exit code that tells what a run came to. */
export function exitCodeOf<S>(result: RunResult<S>): number {
  return EXIT[result.status === "interrupted" ? result.reason : result.status];
}
