/**
 * The seam through which the clock, timers, ids and randomness reach the engine. Tests replace it with a virtual one.
 */
export interface Runtime {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `run` once when `now()` has reached `at`, never before, however far away that is. */
  wakeAt(at: number, run: () => void, options?: TimerOptions): Timer;
  /** Calls `run` once when so many milliseconds have passed, also when the clock is set meanwhile. */
  wakeIn(delay: number, run: () => void, options?: TimerOptions): Timer;
  /** Calls `run` once when so many milliseconds of real time have passed, also when the clock is virtual. */
  pause(delay: number, run: () => void): Timer;
  /** Milliseconds that have passed since some moment; setting the clock does not change them. */
  elapsed(): number;
  /** Calls `run` after every microtask that is queued now, in real time even when the clock is virtual. */
  macrotask(run: () => void): void;
  /** A new UUIDv7. */
  uuid(): string;
  /** A number in [0, 1). */
  random(): number;
}

/** A pending call that can be dropped. */
export interface Timer {
  /** After it the callback is not called any more. */
  cancel(): void;
}

/** How a timer treats the process. */
export interface TimerOptions {
  /** Whether the timer alone keeps the process alive. @default true */
  readonly keepAlive?: boolean;
}
