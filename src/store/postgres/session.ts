import { isSuperstepError, StoreError } from "../../errors.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { checkKeyText } from "../limits.ts";
import { checkSignal } from "../signal.ts";
import type { CallOptions } from "../store.ts";
import { type PgPool, type PgRow, types } from "./driver.ts";
import { type Reason, reasonOf } from "./reasons.ts";

/** One call of the store while it is at work. */
export interface Call {
  readonly op: string;
  readonly runId: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** When patience with a database that is away ends. */
  readonly until: number;
}

/** How a session treats its pool. */
export interface SessionOptions {
  readonly runtime: Runtime;
  /** For how long a database that is away is waited for, in milliseconds. */
  readonly deadline: number;
  /** Whether `close` ends the pool. */
  readonly ownsPool: boolean;
}

const FIRST_DELAY = 20;
const LONGEST_DELAY = 1_000;
/** Tries of what others have undone, each after a pause. */
const MAX_UNDONE = 50;

/** A pool with patience: every statement goes through here, and each of them may be sent again. */
export class Session {
  readonly #pool: PgPool;
  readonly #options: SessionOptions;
  #closed: Promise<void> | undefined;
  #lost: string | undefined;

  constructor(pool: PgPool, options: SessionOptions) {
    this.#pool = pool;
    this.#options = options;
    // A connection that breaks while nobody uses it is replaced when one is needed.
    if (options.ownsPool) pool.on("error", () => {});
  }

  get runtime(): Runtime {
    return this.#options.runtime;
  }

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Begins a call of the store, unless it is closed or the signal is aborted. */
  begin(op: string, runId: string | undefined, options: CallOptions | undefined): Call {
    const { runtime, deadline } = this.#options;
    const call = { op, runId, signal: options?.signal, until: runtime.elapsed() + deadline };
    this.check(call);
    if (runId !== undefined) checkKeyText(op, "run id", runId);
    return call;
  }

  /** Sends a statement until it is answered; ends at once with a signal, whatever becomes of the statement. */
  async rows(call: Call, text: string, values: unknown[]): Promise<readonly PgRow[]> {
    return await this.unlessAborted(call, this.patiently(call, text, values));
  }

  /** Like `rows`, where one row is answered. */
  async row(call: Call, text: string, values: unknown[]): Promise<PgRow> {
    const [row] = await this.rows(call, text, values);
    if (row === undefined) throw this.fault(call, "the database answered no row where there is always one");
    return row;
  }

  /** Sends a statement until it is answered or the patience of the call ends. */
  async patiently(call: Call, text: string, values: unknown[]): Promise<readonly PgRow[]> {
    for (let tries = 0;; tries++) {
      this.check(call);
      try {
        return (await this.#pool.query({ text, values, types })).rows;
      } catch (error) {
        if (isSuperstepError(error)) throw error;
        await this.#patience(call, tries, error);
      }
    }
  }

  /** Runs statements without parameters, once. */
  async script(call: Call, sql: string): Promise<void> {
    for (let tries = 0;; tries++) {
      try {
        await this.#pool.query(sql);
        return;
      } catch (error) {
        await this.#patience(call, tries, error);
      }
    }
  }

  /** Rejects as soon as the signal of the call is aborted. */
  unlessAborted<T>({ op, runId, signal }: Call, work: Promise<T>): Promise<T> {
    if (signal === undefined) return work;
    return new Promise<T>((resolve, reject) => {
      const abort = () => {
        try {
          checkSignal(op, { signal }, runId);
        } catch (error) {
          reject(error);
        }
      };
      signal.addEventListener("abort", abort, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    });
  }

  fault({ op, runId }: Call, problem: string, cause?: unknown, lost?: true): StoreError {
    return new StoreError(op, problem, {
      ...(cause === undefined ? {} : { cause }),
      ...(runId === undefined ? {} : { runId }),
      ...(lost === undefined ? {} : { lost }),
    });
  }

  /** A fault of a shared transaction, as the fault of this call. */
  named(call: Call, error: unknown): unknown {
    if (!isSuperstepError(error, "STORE")) return error;
    const { problem, lost } = error.fields as { readonly problem: string; readonly lost?: true };
    return this.fault(call, problem, error.cause, lost);
  }

  async close(): Promise<void> {
    this.#closed ??= this.#options.ownsPool ? this.#pool.end() : Promise.resolve();
    await this.#closed;
  }

  /** Throws when the store is closed or over, or the signal of the call is aborted. */
  check(call: Call): void {
    if (this.isClosed) throw this.fault(call, "the store is closed");
    if (this.#lost !== undefined) throw this.fault(call, this.#lost, undefined, true);
    if (call.signal !== undefined) checkSignal(call.op, { signal: call.signal }, call.runId);
  }

  /** Waits before the next try, or gives up. */
  async #patience(call: Call, tries: number, error: unknown): Promise<void> {
    const reason = reasonOf(error);
    if (this.isClosed) throw this.fault(call, "the store was closed before the outcome was known", error);
    if (this.#isOver(call, tries, reason)) throw this.#end(call, tries, reason, error);
    const { runtime } = this.#options;
    const span = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** Math.min(tries, 10));
    const delay = span / 2 + runtime.random() * span / 2;
    await new Promise<void>((resolve) => {
      const stop = () => {
        timer.cancel();
        call.signal?.removeEventListener("abort", stop);
        resolve();
      };
      const timer = runtime.pause(delay, stop);
      call.signal?.addEventListener("abort", stop, { once: true });
    });
  }

  #isOver({ until }: Call, tries: number, { kind }: Reason): boolean {
    if (kind === "final") return true;
    return kind === "away" ? this.runtime.elapsed() >= until : tries + 1 >= MAX_UNDONE;
  }

  #end(call: Call, tries: number, { kind, problem, lost }: Reason, error: unknown): StoreError {
    if (lost) this.#lost = problem;
    if (kind === "final") return this.fault(call, problem, error, lost);
    return this.fault(
      call,
      kind === "away"
        ? `${problem}, for ${this.#options.deadline} ms and ${tries + 1} tries; the outcome is not known`
        : `${problem}, ${tries + 1} times`,
      error,
    );
  }
}
