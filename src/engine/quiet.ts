import type { Execution } from "../model/checkpoint.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** How long a body must be quiet that may go on by ordinary work, in real milliseconds. */
const QUIET_MS = 25;
/**
 * In so many slices, each a turn of the event loop of its own: while the process does not get on, the body does not
 * either, and is not quiet for that.
 */
const SLICES = 5;

/**
 * Notices that a body is quiet: that nothing it does has reached the engine for a while. The while is one macrotask where
 * the body has just come to await an open wait, else {@link QUIET_MS}.
 */
export class Quiet {
  readonly #runtime: Runtime;
  readonly #slowMs: number | undefined;
  readonly #decide: (slow: boolean) => void;
  readonly #again: () => void;
  #moves = 0;
  #soon = false;
  #pause: (() => void) | undefined;
  #slow: (() => void) | undefined;
  #ended = false;

  /**
   * `decide` is called when the body is quiet, with `true` at once, or after another `slowMs` where that is given; `again`
   * when it was not quiet: to watch on as it is now.
   */
  constructor(
    runtime: Runtime,
    slowMs: number | undefined,
    decide: (slow: boolean) => void,
    again: () => void,
  ) {
    this.#runtime = runtime;
    this.#slowMs = slowMs;
    this.#decide = decide;
    this.#again = again;
  }

  /** The body has done something, or got something. */
  moved(): void {
    this.#moves++;
    this.#slow?.();
    this.#slow = undefined;
  }

  /** Looks for quiet from now on, for one macrotask if `soon`. */
  watch(soon: boolean): void {
    if (this.#ended) return;
    const seen = this.#moves;
    if (soon) {
      if (this.#soon) return;
      this.#soon = true;
      this.#look(seen, () => this.#soon = false);
    } else if (this.#pause === undefined) {
      this.#slice(SLICES, () => this.#look(seen, () => this.#pause = undefined));
    }
  }

  #slice(left: number, then: () => void): void {
    const timer = this.#runtime.pause(
      QUIET_MS / SLICES,
      () => left > 1 ? this.#slice(left - 1, then) : then(),
    );
    this.#pause = () => timer.cancel();
  }

  end(): void {
    this.#ended = true;
    this.#pause?.();
    this.#slow?.();
  }

  /** Decides in a macrotask, unless the body has moved since then. */
  #look(seen: number, done: () => void): void {
    this.#runtime.macrotask(() => {
      done();
      if (this.#ended) return;
      if (seen !== this.#moves) return this.#again();
      this.#decide(this.#slowMs === undefined);
      if (this.#slowMs === undefined || this.#slow !== undefined || seen !== this.#moves) return;
      const timer = this.#runtime.wakeIn(this.#slowMs, () => {
        this.#slow = undefined;
        this.#decide(true);
      });
      this.#slow = () => timer.cancel();
    });
  }
}

/**
 * For how much longer the body of an execution must be quiet before it is suspended, when one has come back after its run
 * was released: the limit for timers that are awaited in the process, twice as long each time.
 */
export function slowMs(x: Execution, limits: { readonly inlineTimersMs: number }): number | undefined {
  const returns = x.returns ?? 0;
  return returns === 0
    ? undefined
    : Math.max(QUIET_MS, limits.inlineTimersMs) * 2 ** Math.min(returns - 1, 20);
}
