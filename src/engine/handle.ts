import type { Hooks, RunEvent } from "./events.ts";
import type { Cancellation } from "./operations/cancel.ts";
import type { RunResult } from "./result.ts";

/** A run that was started or recovered. */
export interface RunHandle<S> {
  readonly runId: string;
  /** What the run comes to in this claim; when another process owns it, what it comes to there. */
  result(): Promise<RunResult<S>>;
  /** Ends the run for good: see {@link Runner.cancel}. */
  cancel(reason?: string): Promise<Cancellation>;
  /** What happens from now on, until this claim ends. Nothing when another process owns the run. */
  events(): AsyncIterableIterator<RunEvent>;
}

/** Hands the events of one claim to any number of readers. */
export class EventStream {
  readonly #readers = new Set<Reader>();
  #ended = false;

  readonly hooks: Hooks = new Proxy({}, { get: () => (event: RunEvent) => this.#send(event) });

  /** Whether anybody listens. */
  get isRead(): boolean {
    return this.#readers.size > 0;
  }

  read(): AsyncIterableIterator<RunEvent> {
    const reader = new Reader(() => this.#readers.delete(reader));
    if (this.#ended) reader.end();
    else this.#readers.add(reader);
    return reader;
  }

  end(): void {
    this.#ended = true;
    for (const reader of this.#readers) reader.end();
    this.#readers.clear();
  }

  #send(event: RunEvent): void {
    for (const reader of this.#readers) reader.push(event);
  }
}

class Reader implements AsyncIterableIterator<RunEvent> {
  readonly #queue: RunEvent[] = [];
  readonly #left: () => void;
  #waiting: ((result: IteratorResult<RunEvent>) => void) | undefined;
  #ended = false;

  constructor(left: () => void) {
    this.#left = left;
  }

  push(event: RunEvent): void {
    if (this.#waiting === undefined) this.#queue.push(event);
    else this.#answer({ done: false, value: event });
  }

  end(): void {
    this.#ended = true;
    if (this.#waiting !== undefined) this.#answer({ done: true, value: undefined });
  }

  next(): Promise<IteratorResult<RunEvent>> {
    const event = this.#queue.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting = resolve);
  }

  return(): Promise<IteratorResult<RunEvent>> {
    this.#left();
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #answer(result: IteratorResult<RunEvent>): void {
    const waiting = this.#waiting!;
    this.#waiting = undefined;
    waiting(result);
  }
}
