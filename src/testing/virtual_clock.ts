import { setImmediate } from "node:timers";
import type { Runtime, Timer, TimerOptions } from "../runtime/runtime.ts";
import { type Duration, toMs } from "../model/durations.ts";

/** Options of a {@link VirtualClock}. */
export interface VirtualClockOptions {
  /** Where time begins, in milliseconds since the epoch. @default 2026-01-01T00:00:00Z */
  readonly start?: number;
  /** The seed of ids and randomness. @default 1 */
  readonly seed?: number;
}

/**
 * A clock that stands still until it is moved. Timers fire in order of their time; ids and randomness come from a seed,
 * so that a run is the same every time.
 *
 * @example
 * ```ts
 * const clock = new VirtualClock();
 * let fired = 0;
 * clock.wakeAt(clock.now() + 60_000, () => fired++);
 * await clock.advance("59s");
 * assert.equal(fired, 0);
 * await clock.advance("1s");
 * assert.equal(fired, 1);
 * ```
 */
export class VirtualClock implements Runtime {
  readonly #timers = new Set<PendingTimer>();
  #now: number;
  #seed: number;
  #order = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.#now = options.start ?? Date.UTC(2026, 0, 1);
    this.#seed = options.seed ?? 1;
  }

  now(): number {
    return this.#now;
  }

  wakeAt(at: number, run: () => void, options: TimerOptions = {}): Timer {
    const timer = { at, run, order: this.#order++, keepAlive: options.keepAlive ?? true };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  macrotask(run: () => void): void {
    setImmediate(run);
  }

  /** A number in [0, 1) from the seed. */
  random(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  uuid(): string {
    const hex = Array.from(
      { length: 4 },
      () => Math.floor(this.random() * 2 ** 32).toString(16).padStart(8, "0"),
    ).join("");
    const time = this.#now.toString(16).padStart(12, "0").slice(-12);
    return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(1, 4)}-8${hex.slice(5, 8)}-${hex.slice(8, 20)}`;
  }

  /** How many timers are pending. */
  get pending(): number {
    return this.#timers.size;
  }

  /** When the next timer that keeps a process alive is due, if there is one. */
  get next(): number | undefined {
    let at: number | undefined;
    for (const timer of this.#timers) {
      if (timer.keepAlive && (at === undefined || timer.at < at)) at = timer.at;
    }
    return at;
  }

  /** Moves time forward, firing every timer on the way and letting what it wakes settle before the next one. */
  async advance(by: Duration): Promise<void> {
    const ms = toMs(by);
    if (ms === undefined) {
      throw new RangeError(
        `cannot advance a clock by ${String(by)}; give milliseconds or a text such as "30s"`,
      );
    }
    await this.advanceTo(this.#now + ms);
  }

  /** As {@link VirtualClock.advance}, to a time. */
  async advanceTo(at: number): Promise<void> {
    await this.settle();
    for (;;) {
      const timer = this.#earliest();
      if (timer === undefined || timer.at > at) break;
      this.#timers.delete(timer);
      this.#now = Math.max(this.#now, timer.at);
      timer.run();
      await this.settle();
    }
    this.#now = Math.max(this.#now, at);
  }

  /** Sets the time back or forth without firing anything, as a wall clock that was corrected. */
  step(by: Duration): void {
    this.#now += toMs(by) ?? 0;
  }

  /** Lets everything run that needs no time: microtasks and macrotasks, as long as they follow each other. */
  async settle(): Promise<void> {
    for (let i = 0; i < QUIET_TURNS; i++) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /**
   * Waits for `work`, moving time to the next timer whenever nothing else happens.
   *
   * @throws {Error} when nothing is left that could end the work
   */
  async drive<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const ended = work.finally(() => over = true);
    ended.catch(() => {});
    let idle = 0;
    while (!over) {
      await this.settle();
      if (over) break;
      const { next } = this;
      if (next !== undefined) {
        idle = 0;
        await this.advanceTo(next);
      } else if (++idle > IDLE_TURNS) {
        throw new Error(
          "superstep: the work waits for something that no timer brings; answer it, or look for a promise that never settles",
        );
      }
    }
    return await ended;
  }

  #earliest(): PendingTimer | undefined {
    let first: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (
        first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order)
      ) first = timer;
    }
    return first;
  }
}

interface PendingTimer {
  readonly at: number;
  readonly run: () => void;
  readonly order: number;
  readonly keepAlive: boolean;
}

/** Macrotasks after which nothing that needs no time is left: a body, its append and its next step take fewer. */
const QUIET_TURNS = 12;
const IDLE_TURNS = 200;
