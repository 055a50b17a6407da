import type { RuntimeName } from "../support/runtimes.ts";

/** What a figure should come to: its value, or its ratio to the bound that was measured beside it. */
export interface Target {
  readonly of: "value" | "ratio";
  readonly max?: number;
  readonly min?: number;
}

/** What one repeat of a workload came to. */
export interface Sample {
  /** The goal that it is measured for, such as `N1`, or the room of the workload. */
  readonly id: string;
  /** What was measured. */
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What is possible, or what it is compared with, in the same unit, measured in the same repeat. */
  readonly bound?: number;
  readonly target?: Target;
  /** Commits of the file, for each operation. */
  readonly commits?: number;
  /** Keys that were set or deleted, for each operation. */
  readonly mutations?: number;
  /** Calls that read the file, for each operation. */
  readonly reads?: number;
  /** What the closed file takes on disk, for each operation, in bytes. */
  readonly bytes?: number;
  /** Heap after a collection, in MB. */
  readonly heap?: number;
  /** Keys written by kind; deletions have a minus before the kind. */
  readonly keys?: Readonly<Record<string, number>>;
}

/** Whether the process has done the same before: `cold` is the first time, `once` what is not repeated. */
export type Mode = "cold" | "warm" | "once";

/** What a process is to measure. */
export interface Request {
  readonly workload: string;
  readonly runtime: RuntimeName;
  readonly mode: Mode;
  /** How many samples of each figure. */
  readonly repeats: number;
  /** Small sizes and no warming up: shows that it works, the figures mean nothing. */
  readonly quick: boolean;
  /** Sizes that take minutes, too. */
  readonly long: boolean;
}

/** Several repeats of one figure: medians, with the quartiles of the value. */
export interface Line extends Omit<Sample, "target"> {
  /** Who was measured: a runtime, or a peer. */
  readonly on: string;
  readonly mode: Mode;
  readonly low: number;
  readonly high: number;
  readonly repeats: number;
  readonly ratio?: number;
  /** Such as `ratio <= 1.3`. */
  readonly target?: string;
  readonly ok?: boolean;
}
