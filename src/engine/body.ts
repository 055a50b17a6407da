import type { EventOf } from "../checkpoint/records.ts";
import type { Execution } from "../model/checkpoint.ts";
import type { CompiledVertex } from "../model/definition.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { CallingRun } from "./child_runs.ts";
import type { Logger } from "./events.ts";

/** What a body is run for. */
export interface BodyInfo {
  readonly graphId: string;
  readonly runId: string;
  readonly waitSalt: string | undefined;
  readonly step: number;
  /** The key of the execution. */
  readonly key: string;
  readonly vertex: CompiledVertex<never>;
  /** The execution as recorded when the body begins. */
  readonly execution: Execution;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** For how much longer than usual the body must be quiet before it is suspended, in milliseconds. */
  readonly slowMs: number | undefined;
  /** The run, for those that the body calls. */
  readonly callingRun: CallingRun;
}

/** Where a body's facts go while it is at work. */
export interface BodyPort {
  /** The signal of the body. */
  signal(): AbortSignal;
  /** The time at which waits are opened and judged. */
  now(): number;
  /** Runs `work` and has its result recorded under the name, unless that is under way; `failed` when there is none. */
  once(name: string, run: (signal: AbortSignal) => Promise<unknown>, failed: (error: unknown) => void): void;
  /** Whether a `once` of the execution is at work. */
  isBusy(): boolean;
  /** Notes an opening; `before` is the id of the opening of the same name that it closes. */
  open(event: EventOf<"opened">, before: string | undefined): void;
  /** The code does not accept a recorded answer: the body is abandoned and runs again. */
  refuse(waitId: string, error: unknown): void;
  emit(type: string, data: unknown): void;
  /** The body has misused its context, or has a value that cannot be stored: it fails, whatever it does. */
  failed(error: unknown): void;
  /** The body is at rest: results that have come may be recorded. */
  rested(): void;
  /** The body is suspended: it waits for nothing but open waits. */
  suspended(): void;
  /** A body that was suspended goes on by itself. */
  cameBack(): void;
}
