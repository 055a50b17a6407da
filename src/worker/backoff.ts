import type { Runtime } from "../runtime/runtime.ts";

/** How long a try is put off after failures: doubling, jittered, bounded. */
export interface BackoffLimits {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** The failures in a row of each run, and when it may be tried again. */
export class Backoff {
  readonly #runtime: Runtime;
  readonly #limits: BackoffLimits;
  readonly #failures = new Map<string, { readonly times: number; readonly until: number }>();

  constructor(runtime: Runtime, limits: BackoffLimits) {
    this.#runtime = runtime;
    this.#limits = limits;
  }

  /** Notes a failure; answers for how long the run is put off, in milliseconds. */
  fail(id: string): number {
    const times = (this.#failures.get(id)?.times ?? 0) + 1;
    const delay = pause(this.#limits, times, this.#runtime.random());
    this.#failures.set(id, { times, until: this.#runtime.elapsed() + delay });
    if (this.#failures.size > MANY) this.#sweep();
    return delay;
  }

  succeed(id: string): void {
    this.#failures.delete(id);
  }

  /** Milliseconds until the run may be tried again; 0 when it may be now. */
  left(id: string): number {
    const until = this.#failures.get(id)?.until;
    return until === undefined ? 0 : Math.max(0, until - this.#runtime.elapsed());
  }

  /** Whoever has not been tried for long has succeeded elsewhere. */
  #sweep(): void {
    const long = this.#runtime.elapsed() - 2 * this.#limits.longestMs;
    for (const [id, { until }] of this.#failures) if (until < long) this.#failures.delete(id);
  }
}

/** So many are kept before those of old are looked for. */
const MANY = 1_000;

/** The pause after so many failures in a row, drawn from the upper half of its span. */
export function pause({ firstMs, longestMs }: BackoffLimits, times: number, random: number): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(times - 1, 30));
  return full / 2 + random * full / 2;
}
