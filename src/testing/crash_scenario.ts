import type { CompileOptions } from "../compile.ts";
import type { RunnerOptions, StartOptions } from "../engine/options.ts";
import type { InterruptedResult, RunResult } from "../engine/result.ts";
import type { Runner } from "../engine/runner.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Duration } from "../model/durations.ts";
import type { Store } from "../store/store.ts";
import type { FakeAnswers } from "./answer_book.ts";
import type { Effects } from "./crash_ledger.ts";
import type { CrashPoint } from "./crash_store.ts";
import type { FakeTask } from "./instrument.ts";

/** One run, as a crash test lives it again and again. It must do the same every time it is not stopped. */
export interface CrashScenario<S, I = unknown> {
  /** What the run starts with. */
  readonly input: I;
  /** The id of the run. @default "crash-test" */
  readonly runId?: string;
  /** How the run is started. @default none */
  readonly options?: Omit<StartOptions, "runId" | "signal">;
  /** How the runner is compiled. @default none, with a logger that is silent */
  readonly runner?: RunnerOptions;
  /** Fakes by vertex id, made for each engine; they tell `effects` what they do. @default none */
  readonly tasks?: (effects: Effects, host: CrashHost) => Readonly<Record<string, FakeTask>>;
  /** Makes the tasks that no fake stands for, as in `compile`. @default new cls() */
  readonly provide?: (
    cls: Parameters<NonNullable<CompileOptions["provide"]>>[0],
    effects: Effects,
    host: CrashHost,
  ) => unknown;
  /** Answers by the name of the wait; the same wait gets the same answer from every engine. @default none */
  readonly answers?: FakeAnswers;
  /** A store without this run; it is closed after the round. @default a new memory store */
  readonly store?: () => Store | Promise<Store>;
  /** Called before each round, to set back what the run finds outside of it. @default nothing */
  readonly begin?: () => void;
  /**
   * Called when the run is interrupted and only a person could help: mends what is wrong and resumes, or returns nothing
   * to leave it so. An engine that takes over such a run calls it again.
   */
  readonly finish?: (
    result: InterruptedResult<S>,
    runner: Runner<S>,
  ) => Promise<RunResult<S> | undefined> | undefined;
  /** The status that every round must come to. @default "completed" */
  readonly expect?: RunResult<S>["status"];
  /** What must be equal. @default status, reason, state, path, halt and failures */
  readonly outcome?: (result: RunResult<S>) => unknown;
  /** Rounds in which the engine that takes over is stopped as well, at writes drawn from `seed`. @default 20 */
  readonly secondCrashes?: number;
  /**
   * By how much the clock of an engine is set, back and forth in turns, at moments drawn from `seed`: with each write or so.
   * What the run comes to must not depend on it.
   *
   * @default clocks are right
   */
  readonly clockSteps?: Duration;
  /**
   * How late acknowledgements come at most, on the virtual clock, as those of a store on another machine: each one by chance,
   * and some writes are made twice because the first one was lost.
   *
   * @default at once
   */
  readonly acknowledgeWithin?: Duration;
  /** Draws where second crashes happen, and what clocks and ids are like. @default 1 */
  readonly seed?: number;
}

/** What an engine of a crash test runs on; for the runners of workflows that its tasks run, which are stopped with it. */
export interface CrashHost {
  /** The store of the engine. */
  readonly store: Store;
  /** Its clock, timers, ids and randomness. */
  readonly runtime: Runtime;
}

/** What a crash test went through. */
export interface CrashReport<S = unknown> {
  /** What the run that was not stopped came to. */
  readonly result: RunResult<S>;
  /** The writes of the run when it is not stopped. */
  readonly writes: number;
  /** Rounds after the first one, which is not stopped. */
  readonly rounds: number;
  /** Every stop of an engine, in order. */
  readonly crashes: readonly CrashPoint[];
}
