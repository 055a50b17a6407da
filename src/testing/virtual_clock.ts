import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import type { Runtime, Timer, TimerOptions } from "../runtime/runtime.ts";
import { type Duration, toMs } from "../model/durations.ts";
import { type Bodies, observe } from "./observe.ts";

/** Options of a {@link VirtualClock}. */
export interface VirtualClockOptions {
  /** Where time begins, in milliseconds since the epoch. @default 2026-01-01T00:00:00Z */
  readonly start?: number;
  /** The seed of ids and randomness. @default 1 */
  readonly seed?: number;
}

/** Options of {@link VirtualClock.drive}. */
export interface DriveOptions {
  /** Called before time is moved; true when it did something, so that time need not move yet. */
  readonly idle?: () => boolean | Promise<boolean>;
}

/** A runtime on the time of a clock whose timers can be stopped for good, as those of a process that is killed. */
export interface ClockFork extends Runtime {
  /** As {@link VirtualClock.step}, for this runtime alone: the clock of one process is set, that of others is not. */
  step(by: Duration): void;
  /** From now on nothing fires any more. */
  stop(): void;
  /** As {@link VirtualClock.sleep}; never resolves once the fork is stopped. */
  sleep(by: Duration): Promise<void>;
  /** As {@link VirtualClock.observe}; a fork that is stopped has no bodies. */
  observe<T>(
    body: () => T | Promise<T>,
    signal?: AbortSignal,
    rests?: (told: (resting: boolean) => void) => void,
  ): T | Promise<T>;
}

/**
 * A clock that stands still until it is moved. Timers fire in order of their time; ids and randomness come from a seed,
 * so that a run is the same every time.
 *
 * 1. Time never moves while work that is held is pending, or while anything happens that needs no time.
 * 2. While bodies that are observed do real work, time moves only after they have been given real time to settle.
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
  readonly #bodies = new Set<Bodies>();
  readonly #own: Bodies = { running: 0, asleep: 0 };
  #now: number;
  /** How far the clock was set forth, all in all. */
  #stepped = 0;
  #seed: number;
  #order = 0;
  /** Grows with everything that happens. */
  #activity = 0;
  #held = 0;

  /** Begins at a time of its own; nothing happens until it is moved. */
  constructor(options: VirtualClockOptions = {}) {
    this.#now = options.start ?? Date.UTC(2026, 0, 1);
    this.#seed = options.seed ?? 1;
    this.#bodies.add(this.#own);
  }

  now(): number {
    this.#activity++;
    return this.#now;
  }

  wakeAt(at: number, run: () => void, options: TimerOptions = {}): Timer {
    this.#activity++;
    return this.#add({ at, run, relative: false }, options);
  }

  wakeIn(delay: number, run: () => void, options: TimerOptions = {}): Timer {
    this.#activity++;
    return this.#add({ at: this.#now + Math.max(0, delay), run, relative: true }, options);
  }

  elapsed(): number {
    this.#activity++;
    return this.#now - this.#stepped;
  }

  /** Time stands still meanwhile. */
  pause(delay: number, run: () => void): Timer {
    this.#activity++;
    this.#held++;
    const end = () => {
      clearTimeout(handle);
      if (pending) this.#held--;
      pending = false;
      this.#activity++;
    };
    let pending = true;
    const handle = setTimeout(() => {
      end();
      run();
    }, delay);
    return { cancel: end };
  }

  macrotask(run: () => void): void {
    this.#activity++;
    setImmediate(() => {
      this.#activity++;
      run();
    });
  }

  /** A number in [0, 1) from the seed. */
  random(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A UUIDv7 from the time and the seed. */
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
    return this.#earliest((timer) => timer.keepAlive)?.at;
  }

  /** Moves time forward, firing every timer on the way and letting what it wakes settle before the next one. */
  async advance(by: Duration): Promise<void> {
    await this.advanceTo(this.#now + spanOf(by, "advance"));
  }

  /** As {@link VirtualClock.advance}, to a time. */
  async advanceTo(at: number): Promise<void> {
    await this.settle();
    for (;;) {
      const timer = this.#earliest(() => true);
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
    const ms = spanOf(by, "step");
    this.#now += ms;
    this.#stepped += ms;
    for (const timer of this.#timers) if (timer.relative) timer.at += ms;
  }

  /** Resolves when time has moved on by `by`; for fakes that take their time. */
  sleep(by: Duration): Promise<void> {
    return this.#sleep(this, this.#own, by);
  }

  /** Keeps time from moving until `work` has settled: it takes real time, as reading a file does. */
  async hold<T>(work: Promise<T>): Promise<T> {
    this.#held++;
    try {
      return await work;
    } finally {
      this.#held--;
      this.#activity++;
    }
  }

  /**
   * Runs a body that may do real work. {@link VirtualClock.drive} gives it real time before it moves time, unless it
   * sleeps on this clock; one that hangs does not stop time for ever.
   *
   * @param signal Ends the observation: whoever aborts a body does not wait for it.
   * @param rests Is given what is to be called when the body comes to wait for what it does not do itself, and when it goes on.
   */
  observe<T>(
    body: () => T | Promise<T>,
    signal?: AbortSignal,
    rests?: (told: (resting: boolean) => void) => void,
  ): T | Promise<T> {
    return observe(this.#own, () => this.#activity++, body, signal, rests);
  }

  /** A runtime that shares the time, the ids and the randomness of this clock and can be stopped. */
  fork(): ClockFork {
    const bodies: Bodies = { running: 0, asleep: 0 };
    const timers = new Set<Timer & Partial<ShiftableTimer>>();
    let stopped = false;
    let ahead = 0;
    this.#bodies.add(bodies);
    const own = (start: (run: () => void) => Timer & Partial<ShiftableTimer>, run: () => void): Timer => {
      if (stopped) return { cancel: () => {} };
      const timer = start(() => {
        timers.delete(timer);
        run();
      });
      timers.add(timer);
      return {
        cancel: () => {
          timers.delete(timer);
          timer.cancel();
        },
      };
    };
    const fork: ClockFork = {
      now: () => this.now() + ahead,
      elapsed: () => this.elapsed(),
      step: (by) => {
        const ms = spanOf(by, "step");
        ahead += ms;
        for (const timer of timers) timer.shift?.(-ms);
      },
      random: () => this.random(),
      uuid: () => this.uuid(),
      macrotask: (run) => this.macrotask(() => stopped || run()),
      wakeAt: (at, run, options) => own((fire) => this.wakeAt(at - ahead, fire, options), run),
      wakeIn: (delay, run, options) => own((fire) => this.wakeIn(delay, fire, options), run),
      pause: (delay, run) => own((fire) => this.pause(delay, fire), run),
      sleep: (by) => this.#sleep(fork, bodies, by),
      observe: (body, signal, rests) => observe(bodies, () => this.#activity++, body, signal, rests),
      stop: () => {
        stopped = true;
        for (const timer of timers) timer.cancel();
        timers.clear();
        this.#bodies.delete(bodies);
        this.#activity++;
      },
    };
    return fork;
  }

  /** Lets everything run that needs no time, and everything that is held. */
  async settle(): Promise<void> {
    let quiet = 0;
    for (let turn = 0; quiet < QUIET_TURNS && turn < MOST_TURNS; turn++) {
      const before = this.#activity;
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#held > 0) turn = 0;
      quiet = this.#held > 0 || this.#activity !== before ? 0 : quiet + 1;
    }
  }

  /**
   * Waits for `work`, moving time to the next timer whenever nothing else happens.
   *
   * @throws {Error} when nothing is left that could end the work
   */
  async drive<T>(work: Promise<T>, options: DriveOptions = {}): Promise<T> {
    let over = false;
    const ended = work.finally(() => over = true);
    ended.catch(() => {});
    let waited = 0;
    let lonely = 0;
    let seen = -1;
    for (;;) {
      await this.settle();
      if (over) return await ended;
      if (this.#activity !== seen) waited = 0;
      if (await options.idle?.()) continue;
      const { next } = this;
      const detached = this.#earliest(() => true)?.at;
      const busy = this.#isBusy();
      const canMove = next !== undefined ||
        detached !== undefined && lonely < (busy ? BUSY_MOVES : LONELY_MOVES);
      if (canMove && (!busy || waited >= GRACE_MS)) {
        lonely = next === undefined ? lonely + 1 : 0;
        await this.advanceTo(next ?? detached!);
        waited = 0;
      } else if (waited >= (busy ? PATIENCE_MS : IDLE_MS)) {
        throw new Error(
          "superstep: the work waits for something that no timer brings; answer it, or look for a promise that never settles",
        );
      }
      seen = this.#activity;
      if (busy || !canMove) {
        await new Promise<void>((resolve) => setTimeout(resolve, 1));
        waited++;
      }
    }
  }

  #isBusy(): boolean {
    for (const { running, asleep } of this.#bodies) if (running > asleep) return true;
    return false;
  }

  async #sleep(runtime: Runtime, bodies: Bodies, by: Duration): Promise<void> {
    const ms = spanOf(by, "sleep");
    bodies.asleep++;
    await new Promise<void>((resolve) => runtime.wakeIn(ms, resolve));
    bodies.asleep--;
  }

  #add(what: Pick<PendingTimer, "at" | "run" | "relative">, options: TimerOptions): ShiftableTimer {
    const timer = { ...what, order: this.#order++, keepAlive: options.keepAlive ?? true };
    this.#timers.add(timer);
    return {
      cancel: () => this.#timers.delete(timer),
      shift: (ms) => void (timer.relative || (timer.at += ms)),
    };
  }

  #earliest(which: (timer: PendingTimer) => boolean): PendingTimer | undefined {
    let first: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (!which(timer)) continue;
      if (
        first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order)
      ) first = timer;
    }
    return first;
  }
}

interface ShiftableTimer extends Timer {
  /** Moves what is due at a time of the clock; a span stays one. */
  shift(ms: number): void;
}

interface PendingTimer {
  at: number;
  /** Whether it measures a span, which setting the clock does not change. */
  readonly relative: boolean;
  readonly run: () => void;
  readonly order: number;
  readonly keepAlive: boolean;
}

function spanOf(by: Duration, what: string): number {
  const ms = toMs(by);
  if (ms !== undefined) return ms;
  throw new RangeError(
    `superstep: cannot ${what} a clock by ${String(by)}; give milliseconds or a text such as "30s"`,
  );
}

/** Macrotasks without any activity after which nothing that needs no time is left. */
const QUIET_TURNS = 12;
/** A bound for code that keeps itself busy without needing time. */
const MOST_TURNS = 100_000;
/** Real milliseconds that a working body gets before time moves. */
const GRACE_MS = 25;
/** Real milliseconds without anything happening after which nothing will: without and with a body at work. */
const IDLE_MS = 1_000;
const PATIENCE_MS = 30_000;
/** How often time moves to timers that keep no process alive when there are no others: more than a lease of beats. */
const LONELY_MOVES = 200;
const BUSY_MOVES = PATIENCE_MS / GRACE_MS;
