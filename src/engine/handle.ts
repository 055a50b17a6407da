import { isSuperstepError, reasonOf } from "../errors.ts";
import type { Hooks, Logger, RunEvent } from "./events.ts";
import { positive } from "./options.ts";
import type { Cancellation } from "./operations/cancel.ts";
import type { RunResult } from "./result.ts";

/** A run that was started or recovered. */
export interface RunHandle<S> {
  /** The id of the run. */
  readonly runId: string;
  /** Whether the call that answered this made the run: false where it was there before, or a singleton was live. */
  readonly created: boolean;
  /** What the run comes to in this claim; when another process owns it, what it comes to there. */
  result(): Promise<RunResult<S>>;
  /** Ends the run for good: see {@link Runner.cancel}. */
  cancel(reason?: string): Promise<Cancellation>;
  /**
   * What happens from now on, until this claim ends. When another process owns the run: what happens once that process
   * is dead and this one has taken the run over.
   */
  events(options?: EventsOptions): AsyncIterableIterator<RunEvent | MissedEvents>;
}

/** Logs, once, that work on a run failed, such as by its store, where nobody has asked for its result until then. */
export function reportUnheard(
  logger: Logger,
  runId: string,
  result: Promise<unknown>,
  isAsked: () => boolean,
): void {
  result.catch((error) => {
    if (isAsked() || isSuperstepError(error, "RUN_ABORTED")) return;
    logger.warn(`superstep: run ${runId} was let go here: ${reasonOf(error)}`, { runId });
  });
}

/** Options of `handle.events()`. */
export interface EventsOptions {
  /** How many events are kept for a reader that is slow; of more the oldest are dropped. @default 1000 */
  readonly limit?: number;
}

/** What a reader of `handle.events()` gets in the place of events that were dropped because it was slow. */
export interface MissedEvents {
  /** Tells it from the events. */
  readonly type: "missed";
  /** How many were dropped. */
  readonly count: number;
}

/** Hands the events of one claim to any number of readers. */
export class EventStream {
  readonly #readers = new Set<Reader>();
  #ended = false;

  readonly hooks: Hooks = new Proxy({}, {
    get: (_, hook) =>
      typeof hook !== "string" || hook === "around" ? undefined : (event: RunEvent) => this.#send(event),
  });

  /** Whether anybody listens. */
  get isRead(): boolean {
    return this.#readers.size > 0;
  }

  read(options: EventsOptions = {}): AsyncIterableIterator<RunEvent | MissedEvents> {
    const limit = positive(options.limit, DEFAULT_LIMIT, "events", "limit");
    const reader = new Reader(limit, () => this.#readers.delete(reader));
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

const DEFAULT_LIMIT = 1_000;

/**
 * One reader's view of a stream.
 *
 * 1. It holds at most `limit` events that were not read yet; of more the oldest are dropped, and counted where they were.
 * 2. Each `next` is answered once, in order of asking, and after the end with the end.
 */
class Reader implements AsyncIterableIterator<RunEvent | MissedEvents> {
  readonly #limit: number;
  readonly #left: () => void;
  readonly #asking: ((result: IteratorResult<RunEvent | MissedEvents>) => void)[] = [];
  #queue: RunEvent[] = [];
  #missed = 0;
  #ended = false;

  constructor(limit: number, left: () => void) {
    this.#limit = limit;
    this.#left = left;
  }

  push(event: RunEvent): void {
    const asking = this.#asking.shift();
    if (asking !== undefined) return asking({ done: false, value: event });
    this.#queue.push(event);
    if (this.#queue.length < 2 * this.#limit) return;
    // Dropping many at once keeps a reader that fell behind from costing a copy with every event.
    this.#trim();
  }

  end(): void {
    this.#ended = true;
    for (const asking of this.#asking.splice(0)) asking({ done: true, value: undefined });
  }

  next(): Promise<IteratorResult<RunEvent | MissedEvents>> {
    if (this.#queue.length > this.#limit) this.#trim();
    if (this.#missed > 0) {
      const count = this.#missed;
      this.#missed = 0;
      return Promise.resolve({ done: false, value: { type: "missed", count } });
    }
    const event = this.#queue.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#asking.push(resolve));
  }

  return(): Promise<IteratorResult<RunEvent | MissedEvents>> {
    this.#left();
    this.#queue = [];
    this.#missed = 0;
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #trim(): void {
    const surplus = this.#queue.length - this.#limit;
    this.#queue.splice(0, surplus);
    this.#missed += surplus;
  }
}
