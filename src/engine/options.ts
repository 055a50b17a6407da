import { ArgumentError, BuildError } from "../errors.ts";
import { defined } from "../model/defined.ts";
import { type Duration, timeOf, toMs } from "../model/durations.ts";
import type { Priority } from "../model/flow.ts";
import { compareIds, isId } from "../model/ids.ts";
import type { RunCaller } from "../model/run.ts";
import type { WaitDefinition } from "../model/wait.ts";
import { callingRunOf, isCalledTag } from "./child_runs.ts";
import type { RunSettings } from "./runner_deps.ts";
import { queryProblem } from "../model/key_texts.ts";
import { consoleLogger, type Hooks, hooksOf, type Logger, safeLogger } from "./events.ts";

/** Options of `start` and `run`. */
export interface StartOptions extends Omit<SubmitOptions, "at">, WorkOptions {
  /**
   * The execution that starts this run to work for it: its context. Whoever asks this run asks its caller: its waits are
   * in no inbox and do not expire by themselves, nothing wakes it, and it waits for no timer in its process. The caller
   * resumes it, with the answers that it got. It is cancelled and purged with the run of its caller.
   *
   * @default none
   */
  readonly caller?: RunCaller;
}

/** Options of `submit`. */
export interface SubmitOptions {
  /** The id of the run. @default a new UUIDv7, or one derived from `idempotencyKey` */
  readonly runId?: string;
  /** Starts of one graph with one key and one input are one run. */
  readonly idempotencyKey?: string;
  /** Words by which `list` finds the run. */
  readonly tags?: readonly string[];
  /** When the run is cancelled if it is not over. @default never */
  readonly deadline?: Duration | Date;
  /** The most super-steps of the run, over all resumes. @default 10000 */
  readonly maxSteps?: number;
  /** How urgent the run is among those that wait for the same permit. @default "normal" */
  readonly priority?: Priority;
  /** When the run begins, at the earliest. @default at once */
  readonly at?: Duration | Date;
  /** Aborting it before the run is stored stops the call. */
  readonly signal?: AbortSignal;
}

/** How a run is worked on; options of `start`, `resume` and `recover`. */
export interface WorkOptions {
  /** The most super-steps of the run, over all resumes. @default 10000 */
  readonly maxSteps?: number;
  /** The most bodies at once. @default 64 */
  readonly concurrency?: number;
  /** `step` appends successful outcomes with the end of their step only. @default "vertex" */
  readonly checkpointEvery?: "vertex" | "step";
  /** Aborting it lets the run go, to be resumed later; the call rejects with `RunAbortedError`. */
  readonly signal?: AbortSignal;
  /** Aborting it lets the run go as soon as it does nothing but wait for timers, however soon these are due. @default none */
  readonly drain?: AbortSignal;
  /** Observers of this run. */
  readonly hooks?: Hooks | readonly Hooks[];
}

/** Options of `get`. */
export interface GetOptions {
  /** The revision of the run to read. @default the newest */
  readonly revision?: number;
}

/** Options of `resume`. */
export interface ResumeOptions<A = unknown> extends WorkOptions {
  /** The answer to the one open wait; with `all`, to every open wait. @default none */
  readonly payload?: NoInfer<A>;
  /** The wait that `payload` answers: looks at the open waits of this definition only. @default every open wait */
  readonly wait?: WaitDefinition<unknown, A>;
  /** Whether `payload` may answer several waits. @default false */
  readonly all?: boolean;
  /** Answers by wait id: all are accepted, or none is. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** Who resumes a run that was started by a caller; without it such a run gets no answers. @default none */
  readonly caller?: RunCaller;
  /** Waits that have expired for the caller, by id. @default none */
  readonly expired?: readonly string[];
  /** Claims the run even though a living process owns it. @default false */
  readonly takeover?: boolean;
}

/** Options of `answer`, where the wait is given by its definition. */
export interface AnswerOptions {
  /** Looks at the open waits with this key only. @default every open wait of the definition */
  readonly key?: string;
}

/** Options of `compile` that concern running. */
export interface RunnerOptions {
  /** A timer that is due within this time is awaited in the process. @default "30s" */
  readonly inlineTimers?: Duration;
  /** How often a run may lose its process without any progress before it halts. @default 10 */
  readonly maxRecoveries?: number;
  /**
   * Takes over runs of a lower user version, or of another structure of the same one that no living worker serves, where
   * everything that they stand on means the same in this code: see "Changing a workflow" in the docs. One that does not
   * fit is refused with the first reason. @default only runs that have begun no body
   */
  readonly adopt?: "compatible";
  /** The most bytes of a state, and of an output. @default 16 MiB */
  readonly maxStateBytes?: number;
  /** Observers of every run. */
  readonly hooks?: Hooks | readonly Hooks[];
  /** Where `ctx.log` and the engine write: an object like `console`; `false` or `null` for no log at all. @default the console */
  readonly logger?: Logger | false | null;
}

function refused(op: string, problem: string): Error {
  return op === "compile" || op === "createApp"
    ? new BuildError(op, problem)
    : new ArgumentError(op, problem);
}

/** The logger given, made safe; one that is silent for `false` and `null`, and the console by default. */
export function loggerOf(op: string, given: Logger | false | null | undefined): Logger {
  if (given === false || given === null) return { info: () => {}, warn: () => {} };
  const { info, warn } = given ?? consoleLogger;
  if (typeof info === "function" && typeof warn === "function") return safeLogger(given ?? consoleLogger);
  throw refused(
    op,
    "the logger has no methods `info` and `warn`; give an object like `console`, or `false` for no log",
  );
}

/** A whole number from 1, or the default. */
export function positive(value: number | undefined, fallback: number, op: string, name: string): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw refused(op, `${name} is ${String(value)}; give a whole number from 1`);
}

/** The revision given, where one is: a whole number from 0. */
export function revisionOf(op: string, { revision }: GetOptions): GetOptions {
  if (revision === undefined) return {};
  if (Number.isSafeInteger(revision) && revision >= 0) return { revision };
  throw refused(op, `revision is ${String(revision)}; give a whole number from 0`);
}

/** A duration from 0 in milliseconds, or the default. */
export function span(value: Duration | undefined, fallback: number, op: string, name: string): number {
  if (value === undefined) return fallback;
  const ms = toMs(value);
  if (ms !== undefined && ms >= 0) return ms;
  throw refused(op, `${name} is ${String(value)}; give milliseconds or a text such as "30s"`);
}

/** A time, given as a duration from now or as a date. */
export function moment(value: Duration | Date, now: number, op: string, name: string): number {
  const at = timeOf(value, now);
  if (at !== undefined) return at;
  throw refused(op, `${name} is ${String(value)}; give milliseconds, a text such as "30s", or a Date`);
}

/** A run id that may become a key. */
export function checkedRunId(runId: unknown, op: string): string {
  if (isId(runId)) return runId;
  throw new ArgumentError(
    op,
    `${
      JSON.stringify(runId)?.slice(0, 200)
    } is no run id; a letter or digit, then up to 127 letters, digits, or ._:-`,
  );
}

/** Tags that may become keys, sorted, and one of the engine's own. */
export function checkedTags(tags: readonly string[], op: string, own?: string): readonly string[] {
  const bad = tags.find((tag) => !isId(tag));
  if (bad !== undefined) {
    throw new ArgumentError(
      op,
      `${JSON.stringify(bad)} is no tag; a letter or digit, then up to 127 letters, digits, or ._:-`,
    );
  }
  const taken = tags.find(isCalledTag);
  if (taken !== undefined) {
    throw new ArgumentError(
      op,
      `the tag ${taken} is one that only runs with a caller have; give it another beginning`,
    );
  }
  return [...new Set(own === undefined ? tags : [...tags, own])].sort(compareIds);
}

/** A reason for a cancellation, which is stored and shown. */
export function checkedReason(reason: unknown, op: string): string {
  if (typeof reason === "string" && reason.length <= LONGEST_REASON && reason.isWellFormed()) return reason;
  const given = typeof reason === "string" ? `a text of ${reason.length} characters` : typeof reason;
  throw new ArgumentError(op, `the reason is ${given}; give a well-formed text of at most ${LONGEST_REASON}`);
}

const LONGEST_REASON = 1_000;

/** The part of some options that is about working on a run. */
export function workOf({ concurrency, checkpointEvery, signal, drain, hooks }: WorkOptions): WorkOptions {
  return defined({ concurrency, checkpointEvery, signal, drain, hooks });
}

/** Work options with their defaults. */
export function settingsOf(
  op: string,
  options: WorkOptions & Pick<StartOptions, "caller">,
): RunSettings {
  if (options.maxSteps !== undefined) positive(options.maxSteps, 1, op, "maxSteps");
  const caller = callingRunOf(options.caller);
  return {
    concurrency: positive(options.concurrency, DEFAULT_CONCURRENCY, op, "concurrency"),
    checkpointEvery: options.checkpointEvery ?? "vertex",
    hooks: hooksOf(options.hooks),
    ...(caller === undefined ? {} : {
      callers: () => caller.revisions(),
      emits: (emit) => caller.emits(emit),
      isCalled: true,
    }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.drain === undefined ? {} : { drain: options.drain }),
  };
}

const DEFAULT_CONCURRENCY = 64;

/** Refuses a query with texts that no row has, whichever store it is for. */
export function checkedQuery(op: string, query: object): void {
  const problem = queryProblem(query);
  if (problem !== undefined) throw new ArgumentError(op, problem);
}
