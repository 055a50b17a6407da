import type { RecordEvent } from "../checkpoint/records.ts";
import { ContextError } from "../errors.ts";
import { executionKey } from "../model/checkpoint.ts";

/**
 * The functions of `once` that are at work in a run.
 *
 * 1. Per execution and name one function is at work at a time: a body that runs again joins it.
 * 2. It outlives its body. Its signal is aborted when its attempt times out, when its execution has a durable outcome,
 *    and when the run is left; what it still comes to is ignored then.
 */
export class Onces {
  readonly #executions = new Map<string, OncesOfExecution>();

  /** Whether any function of an execution is at work; without a key, of any execution. */
  areAtWork(key?: string): boolean {
    return key === undefined ? this.#executions.size > 0 : this.#executions.has(key);
  }

  /**
   * Has `failed` called if the function of this name fails, and starts it after `ready` unless it is at work. Its result
   * goes to `recording`, and counts as at work until that is done.
   */
  use(key: string, name: string, { ready, run, failed, recording, ended, late }: OnceWork): void {
    let all = this.#executions.get(key);
    if (all === undefined) {
      all = { controller: new AbortController(), atWork: new Map(), isReported: false };
      this.#executions.set(key, all);
    }
    const known = all.atWork.get(name);
    if (known !== undefined) {
      known.failed = failed;
      return;
    }
    const { signal } = all.controller;
    const once = { failed, hasBegun: ready === undefined };
    all.atWork.set(name, once);
    const isWanted = () => this.#executions.get(key)?.atWork.get(name) === once;
    const end = () => this.#delete(key, all, name);
    const start = async () => {
      once.hasBegun = true;
      try {
        const value = await run(signal);
        if (!isWanted()) return all.isReported ? late() : undefined;
        await recording(value);
        if (!isWanted()) return;
        end();
      } catch (error) {
        if (!isWanted()) return;
        end();
        once.failed(error);
      }
      ended();
    };
    if (ready === undefined) void start();
    else void ready.then(() => isWanted() ? start() : undefined);
  }

  /** The body of an execution is over: what it was not let begin yet is for the body after it to ask for. */
  withdraw(key: string): void {
    const all = this.#executions.get(key);
    for (const [name, { hasBegun }] of all?.atWork ?? []) if (!hasBegun) this.#delete(key, all!, name);
  }

  /** What these executions did not wait for is not wanted any more, now that their outcomes are durable; whether any was. */
  settled(events: readonly RecordEvent[]): boolean {
    const before = this.#executions.size;
    for (const event of before === 0 ? [] : events) {
      if (event.type !== "done" && event.type !== "failed") continue;
      const { vertexId, item } = event;
      const reason = `vertex ${vertexId} is over and has not waited for this once`;
      this.drop(executionKey(vertexId, item), new ContextError(reason, { vertexId }));
    }
    return this.#executions.size < before;
  }

  /** The functions of an execution, or of all, are not wanted any more; what they come to is ignored, or `reported` as late. */
  drop(key: string | undefined, reason: Error, reported = false): void {
    const keys = key === undefined ? [...this.#executions.keys()] : [key];
    for (const each of keys) {
      const all = this.#executions.get(each);
      this.#executions.delete(each);
      if (all !== undefined) all.isReported = reported;
      all?.controller.abort(reason);
    }
  }

  #delete(key: string, all: OncesOfExecution, name: string): void {
    all.atWork.delete(name);
    if (all.atWork.size === 0) this.#executions.delete(key);
  }
}

interface OncesOfExecution {
  readonly controller: AbortController;
  readonly atWork: Map<string, { failed: (error: unknown) => void; hasBegun: boolean }>;
  isReported: boolean;
}

/** What is done for one `once`. */
interface OnceWork {
  /** Resolves when the function may start; at once where it is absent. */
  readonly ready: Promise<void> | undefined;
  run(signal: AbortSignal): Promise<unknown>;
  /** The function failed, or its result cannot be stored. */
  failed(error: unknown): void;
  /** Resolves when the result is durable, which the body that is at work then has been told. */
  recording(value: unknown): Promise<void>;
  /** Nothing of this name is at work any more. */
  ended(): void;
  /** The function has ended, and nobody wants its result any more. */
  late(): void;
}
