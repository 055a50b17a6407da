import type { Duration } from "./durations.ts";
import type { Schema } from "./schema.ts";
import type { WaitDefinition } from "./wait.ts";

/**
 * What a task's body sees of the run it works for.
 *
 * A body runs again from its start after every wait, retry and crash, with the same input. `waitFor`, `sleep` and `once`
 * then give what was recorded, so whatever has an effect belongs into `once`.
 *
 * @example
 * ```ts
 * const Confirmed = defineWait("confirmed", z.object({ by: z.string() }));
 * let mails = 0;
 *
 * class Confirm {
 *   async execute(address: string, ctx: TaskContext): Promise<string> {
 *     const mail = await ctx.once("mail", ({ idempotencyKey }) => `${++mails} to ${address} as ${idempotencyKey}`);
 *     const answer = ctx.waitFor(Confirmed, { info: { mail } }); // opened once; the race has one winner for ever
 *     const first = await Promise.race([answer, ctx.sleep("patience", "3d")]);
 *     return first === undefined ? "nobody" : first.by;
 *   }
 * }
 *
 * const graph = new GraphBuilder({ id: "mail", schema: z.object({ to: z.string(), by: z.string().optional() }) })
 *   .addVertex({ id: "confirm", task: Confirm, waits: [Confirmed], select: (s) => s.to, reduce: (s, by) => { s.by = by; } })
 *   .build({ entry: "confirm", finish: "confirm" });
 *
 * const answered = await testRunner(graph, { answers: { confirmed: { by: "Ada" } } }).run({ to: "ada" });
 * const forgotten = await testRunner(graph).run({ to: "ada" }); // on a virtual clock: three days take no time
 * assert.deepEqual([answered.state.by, forgotten.state.by, mails], ["Ada", "nobody", 2]);
 * ```
 */
export interface TaskContext {
  /** Aborted on timeout, cancel, deadline, shutdown and lost ownership; the reason is a typed error. */
  readonly signal: AbortSignal;
  /** The id of the graph. */
  readonly graphId: string;
  /** The id of the run. */
  readonly runId: string;
  /** The id of the vertex that the task is bound to. */
  readonly vertexId: string;
  /** The id of this execution; the same in every attempt and re-run, new after a failed vertex is resumed. */
  readonly vertexRunId: string;
  /** The index of the super-step, from 0. */
  readonly step: number;
  /** The attempt, from 1. */
  readonly attempt: number;
  /** The index of the item, in a map vertex. */
  readonly item?: number;
  /**
   * `graph=<g>/run=<r>/step=<n>/vertex=<v>[/item=<i>]`: the same in every attempt, re-run and recovery of one logical
   * execution. Hand it to whatever you call that accepts an idempotency key.
   */
  readonly idempotencyKey: string;
  /**
   * Runs `fn` and records its result before returning it; once recorded, `fn` never runs again in this execution.
   * `fn` gets the attempt's signal and its own key, `<idempotencyKey>/once=<name>`. One that threw, crashed or was
   * abandoned by a timeout has no result, and runs again under that key.
   *
   * @throws {ContextError} the name is used twice in one run of the body
   * @throws {SerializationError} the result cannot be stored
   */
  once<T>(name: string, fn: (once: OnceContext) => T | Promise<T>, options?: OnceOptions<T>): Promise<T>;
  /** Sleeps until the time, which is fixed when the timer is first opened and survives restarts. */
  sleep(name: string, until: Duration | Date): Promise<void>;
  /**
   * Waits for a declared answer.
   *
   * @throws {WaitExpiredError} its deadline has passed
   * @throws {ContextError} the vertex does not declare it in `waits`
   */
  waitFor<T>(wait: WaitDefinition<T>, options?: WaitForOptions): Promise<T>;
  /** The id that the n-th opening of `wait`, with this key, has or will have. @default n = 1 */
  waitId(wait: WaitDefinition | string, n?: number, key?: string): string;
  /**
   * Keeps the run in this process until `work` has settled, although the body waits: for work that a wait must not cut off,
   * such as a download. It is no more durable than other ordinary work. Returns `work`.
   */
  hold<T>(work: Promise<T>): Promise<T>;
  /** Pauses for an undeclared answer, read by `answer` when the body runs again. Write `return ctx.interrupt(…)`. */
  interrupt(info?: unknown, options?: InterruptOptions): never;
  /** The answer to the latest `interrupt` of this execution, or `undefined` when there is none yet. */
  answer<T = unknown>(schema?: Schema<unknown, T>): { readonly value: T } | undefined;
  /** The continuation stored with the latest `interrupt` of this execution. */
  continuation<T = unknown>(schema?: Schema<unknown, T>): { readonly value: T } | undefined;
  /**
   * Sends a copy of `data` to whoever follows the run, in any process: `handle.events()`, `runner.events`, event streams. It is
   * no part of the history: it is kept until a minute after the execution has settled, and at most 4 MiB a run.
   *
   * @throws {SerializationError} the data cannot be stored
   */
  emit(type: string, data?: unknown): void;
  /** Writes a line to the runner's logger with the ids of this execution. */
  log(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** What the function of a `once` sees. */
export interface OnceContext {
  /** That of the attempt. */
  readonly signal: AbortSignal;
  /** `<idempotencyKey>/once=<name>`: the same whenever the function runs again. */
  readonly idempotencyKey: string;
}

/** Options of `ctx.once`. */
export interface OnceOptions<T> {
  /** Checks the result when it is recorded and when it is read back. */
  readonly schema?: Schema<unknown, T>;
}

/** Options of `ctx.waitFor`. */
export interface WaitForOptions {
  /** Shown with the open wait. */
  readonly info?: unknown;
  /** When the wait expires; overrides the definition's. @default never */
  readonly deadline?: Duration | Date;
  /**
   * Tells waits of one definition apart that are open side by side, such as one for each reviewer. Without a key, opening a
   * wait again closes it.
   */
  readonly key?: string;
}

/** Options of `ctx.interrupt`. */
export interface InterruptOptions {
  /** Handed back by `ctx.continuation()` when the body runs again. */
  readonly continuation?: unknown;
  /** When the pause expires. @default never */
  readonly deadline?: Duration | Date;
}
