import type { Runtime } from "./runtime.ts";

/** Lets loops sleep until a time has passed, a bell is rung, or a signal is aborted; none of them leaves anything behind. */
export class Alarm {
  readonly #runtime: Runtime;
  readonly #sleepers = new Set<() => void>();
  #rings = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** How often it was rung; what `sleep` compares with, so that no ring before it is missed. */
  get rings(): number {
    return this.#rings;
  }

  ring(): void {
    this.#rings++;
    for (const wake of this.#sleepers) wake();
  }

  /** Resolves after `ms` milliseconds, or at once when it was rung since `rings` was read. */
  async sleep(ms: number, rings: number, signal?: AbortSignal): Promise<void> {
    if (this.#rings !== rings || signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        timer.cancel();
        signal?.removeEventListener("abort", wake);
        this.#sleepers.delete(wake);
        resolve();
      };
      const timer = this.#runtime.wakeIn(ms, wake);
      signal?.addEventListener("abort", wake);
      this.#sleepers.add(wake);
    });
  }
}
