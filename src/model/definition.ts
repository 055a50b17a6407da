import type { TaskContext } from "./context.ts";
import type { Duration } from "./durations.ts";
import type { CompiledFlow } from "./flow.ts";
import type { VertexFailure } from "./failure.ts";
import type { Pool } from "./pool.ts";
import type { Schema } from "./schema.ts";
import type { WaitDefinition } from "./wait.ts";

/**
 * A reusable unit of work. It knows no graph and no state.
 *
 * @example
 * ```ts
 * class Shout implements Task<string, string> {
 *   execute(text: string, _ctx: TaskContext): string {
 *     return text.toUpperCase();
 *   }
 * }
 * ```
 */
export interface Task<I, O> {
  /** Does the work. Called again, with the same input, after every wait, retry and crash. */
  execute(input: I, ctx: TaskContext): O | Promise<O>;
  /** Called once for each vertex with the task when a runner is compiled; what it throws refuses the binding. */
  onCompile?(binding: CompiledTask): void;
}

/** Where a task is at work. */
export interface CompiledTask {
  /** The graph. */
  readonly graphId: string;
  /** The vertex. */
  readonly vertexId: string;
  /** The store of the runner. */
  readonly store: object;
}

/**
 * What the typing of a binding asks of a task. `execute` is a property and not a method, because only a property's
 * parameters are compared strictly: `string | undefined` must not pass for `string`.
 */
export interface TaskShape<I, O> {
  /** As in {@link Task}. */
  readonly execute: (input: I, ctx: TaskContext) => O | Promise<O>;
}

/** A class of tasks that a runner instantiates once per vertex. */
export type TaskClass<I = never, O = unknown> = abstract new (...args: never[]) => Task<I, O>;

/** How often and how fast a failed attempt is tried again. */
export interface RetryPolicy {
  /** All attempts, the first included; at least 1. */
  readonly maxAttempts: number;
  /**
   * The pause before the next attempt. A function gets the number of the attempt that failed, from 1, and its error: it is
   * called with 1 before the second attempt. @default none
   */
  readonly backoff?: BackoffOptions | ((failedAttempt: number, error: unknown) => Duration);
  /** Whether this error is worth another attempt; what it throws takes the place of that error. @default every error is */
  readonly retryIf?: (error: unknown) => boolean;
}

/** Exponential backoff: `initial * factor^(failedAttempt - 1)`, at most `max`. */
export interface BackoffOptions {
  /** The first pause. */
  readonly initial: Duration;
  /** What each pause is multiplied by to give the next. @default 2 */
  readonly factor?: number;
  /** The longest pause. @default no limit */
  readonly max?: Duration;
  /** Draws each pause from the upper half of its span. @default false */
  readonly jitter?: boolean;
}

/** How long an attempt, and an execution in all, may take. */
export interface TimeoutPolicy {
  /** The longest time of one attempt. @default no limit */
  readonly attempt?: Duration;
  /** The longest time of all attempts and backoff together; waits are not counted. @default no limit */
  readonly total?: Duration;
}

/** Where a run goes when a vertex has failed for good. */
export interface ErrorHandler<S> {
  /** The vertex that takes over. */
  readonly route: string;
  /** Which errors it takes: an error class or a predicate. @default all */
  readonly match?: ErrorMatch;
  /** Notes the failure in the state. */
  readonly record?: (state: S, failure: VertexFailure) => S | void;
}

/** An error class, compared by name and prototype, or a predicate on the live error. */
export type ErrorMatch = (abstract new (...args: never[]) => Error) | ((error: unknown) => boolean);

/** A conditional edge: where a run may go, and where it does. */
export interface RouteOptions<S, T extends string> {
  /** Every vertex that `pick` may return, or `END`; at least one. */
  readonly targets: readonly T[];
  /** The target or targets, from the state after the step. Synchronous and pure. */
  readonly pick: (state: Readonly<S>) => NoInfer<T> | readonly NoInfer<T>[];
}

/** Where the task of a vertex comes from: an instance, or a class that `provide` instantiates. */
export type TaskSource =
  | { readonly kind: "instance"; readonly task: Task<unknown, unknown> }
  | { readonly kind: "class"; readonly cls: TaskClass };

/**
 * A validated graph: immutable, with every table in ascending id order. `S` is the type of its state, `I` that of the
 * inputs that its schema accepts.
 */
export interface CompiledGraph<S, I = unknown> {
  /** The pinned id. */
  readonly id: string;
  /** sha256 of the canonical form, a colon, the user's version. */
  readonly version: string;
  /** Judges inputs, and states whenever they change or are loaded. */
  readonly schema: Schema<I, S> | undefined;
  /** The vertex that runs first. */
  readonly entry: string;
  /** The vertices after which a run may complete. */
  readonly finishes: ReadonlySet<string>;
  /** Every vertex by id. */
  readonly vertices: ReadonlyMap<string, CompiledVertex<S>>;
  /** When workers start runs by themselves; no part of the version. */
  readonly schedules: readonly CompiledSchedule[];
  /** How runs of earlier user versions come to this one, from the lowest version on; no part of the version. */
  readonly migrations: readonly CompiledMigration[];
  /** What limits its runs, if anything does; no part of the version. */
  readonly flow?: CompiledFlow;
}

/**
 * How runs of one user version of a workflow come to the next one. `O` is the type of the states that they come with: of a
 * state nothing is known but what the code of that version made of it.
 */
export interface MigrationOptions<O = Readonly<Record<string, unknown>>> {
  /** The user version that runs come from; they come to the next one, `from + 1`. */
  readonly from: number;
  /** Makes the state of the next version. Synchronous and pure: it may be called again. @default the state stays as it is */
  readonly state?: (old: O) => unknown;
  /** The id that a vertex has in the next version, or `null` for one that is gone. @default every vertex keeps its id */
  readonly vertices?: Readonly<Record<string, string | null>>;
}

/** A migration of a {@link CompiledGraph}. */
export interface CompiledMigration {
  /** The user version that it leads on from, to the next one. */
  readonly from: number;
  /** Makes the state of the next version; `undefined` where it stays as it is. */
  readonly state: ((old: unknown) => unknown) | undefined;
  /** The ids that vertices have in the next version, `null` for those that are gone. */
  readonly vertices: ReadonlyMap<string, string | null>;
}

/**
 * When and how workers start runs by themselves. A tick is one time that the expression names.
 *
 * Where a zone sets its clocks ahead, a single time of day in the gap ticks when the gap ends, and repeated times in it
 * are left out; where it sets them back, a single time of day ticks once, and repeated times go on through both hours.
 */
export interface ScheduleOptions<I = unknown> {
  /** Names the schedule in its graph: its runs keep it through a change of the expression. @default made of expression and zone */
  readonly id?: string;
  /** An IANA time zone, such as `Europe/Berlin`. @default "UTC" */
  readonly timezone?: string;
  /**
   * What happens to ticks that nobody started within a minute, since no worker ran: none is started, or the newest one,
   * or all of them, in order, up to the newest 100. What lies behind the last tick that was dealt with is told by a mark in
   * the store, which outlives purges.
   * @default "one"
   */
  readonly onMissed?: "skip" | "one" | "all";
  /**
   * What happens to a tick while the run that the schedule started last is not over: its run is started beside it, or none is;
   * or it is started once that one is over, for all such ticks in order (up to 100) or for the first of them only; or that
   * one is cancelled.
   * @default "allow"
   */
  readonly overlap?: "allow" | "skip" | "queueOne" | "queue" | "cancel";
  /** What each run begins with, or a function of its tick. Every worker must come to the same. @default {} */
  readonly input?: I | ((tick: Date) => I);
}

/** A schedule of a {@link CompiledGraph}. Times are milliseconds since the epoch. */
export interface CompiledSchedule {
  /** Names the schedule in its graph. */
  readonly id: string;
  /** The cron expression. */
  readonly expression: string;
  /** An IANA time zone. */
  readonly timezone: string;
  /** What happens to missed ticks. */
  readonly onMissed: "skip" | "one" | "all";
  /** What happens to a tick while the run before is not over. */
  readonly overlap: "allow" | "skip" | "queueOne" | "queue" | "cancel";
  /** What the run of a tick begins with. */
  readonly input: (tick: Date) => unknown;
  /** The first tick after a time; `undefined` when there is none. */
  next(after: number): number | undefined;
  /** The newest ticks after `from` up to `to`, at most `most` of them, in order. */
  between(from: number, to: number, most: number): readonly number[];
}

/** One vertex of a {@link CompiledGraph}, its policies as plain numbers. */
export interface CompiledVertex<S> {
  /** The pinned id. */
  readonly id: string;
  /** A readable name for drawings; empty when none was given. */
  readonly label: string;
  /** Whether a run may complete once it has run. */
  readonly finish: boolean;
  /** Whether it waits for every in-edge that can still arrive. */
  readonly join: "any" | "all";
  /** The task, or its class. */
  readonly task: TaskSource;
  /** Exactly one of `select` and `each` is present; `each` makes a map vertex. */
  readonly select: ((state: S) => unknown) | undefined;
  /** The inputs of a map vertex, from the state. */
  readonly each: ((state: S) => readonly unknown[]) | undefined;
  /** How many items of a map vertex may be at work at once in a run; no part of the version. */
  readonly concurrency?: number;
  /** The pool that its bodies share with others; no part of the version. */
  readonly pool?: Pool;
  /** Folds the output into the state. */
  readonly reduce: (state: S, output: unknown) => S | void;
  /** The declared waits by name. */
  readonly waits: ReadonlyMap<string, WaitDefinition>;
  /** How failed attempts are tried again. */
  readonly retry: CompiledRetry;
  /** How long attempts may take. */
  readonly timeout: CompiledTimeout;
  /** In the order they are asked; none means that a failure pauses the run. */
  readonly handlers: readonly ErrorHandler<S>[];
  /** Static targets, `END` included, as declared; a doubled edge is listed twice. */
  readonly edges: readonly string[];
  /** The conditional edge, if there is one. */
  readonly condition: CompiledCondition<S> | undefined;
  /** Every distinct vertex with an edge of any kind to this one, sorted. */
  readonly sources: readonly string[];
  /** Every distinct vertex that this one has an edge of any kind to, sorted. */
  readonly targets: readonly string[];
  /** The vertices that are or lead to a vertex, over edges of every kind, but not through this one. */
  readonly ancestors: (of: string) => ReadonlySet<string>;
}

/** A conditional edge. */
export interface CompiledCondition<S> {
  /** What `pick` may return, `END` included, sorted. */
  readonly targets: readonly string[];
  /** Chooses among the targets, from the state after the step. */
  readonly pick: (state: S) => string | readonly string[];
}

/** A retry policy as plain numbers. */
export interface CompiledRetry {
  /** All attempts, the first included. */
  readonly maxAttempts: number;
  /** The pause before the next attempt, in milliseconds; `undefined` for none. */
  readonly backoff:
    | {
      readonly initialMs: number;
      readonly factor: number;
      readonly maxMs: number;
      readonly jitter: boolean;
    }
    | ((failedAttempt: number, error: unknown) => Duration)
    | undefined;
  /** Whether an error is worth another attempt; `undefined`: every one is. */
  readonly retryIf: ((error: unknown) => boolean) | undefined;
}

/** A timeout policy as plain numbers. */
export interface CompiledTimeout {
  /** The longest time of one attempt. */
  readonly attemptMs: number | undefined;
  /** The longest time of all attempts and backoff together. */
  readonly totalMs: number | undefined;
}
