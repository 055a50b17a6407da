/** A bounded number of places; whoever waits for one gets it in the order of asking. */
export class Slots {
  readonly #waiting = new Set<(free: boolean) => void>();
  readonly #wanted: () => void;
  #free: number;

  /** `wanted` is called whenever somebody begins to wait for a place. */
  constructor(count: number, wanted: () => void) {
    this.#free = count;
    this.#wanted = wanted;
  }

  /** Whether somebody waits for a place. */
  get areWanted(): boolean {
    return this.#waiting.size > 0;
  }

  /** Takes a place as soon as there is one; false when the signal is aborted before. */
  async take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.#free > 0) {
      this.#free--;
      return true;
    }
    return await new Promise<boolean>((resolve) => {
      const end = (taken: boolean) => {
        signal.removeEventListener("abort", abort);
        this.#waiting.delete(end);
        resolve(taken);
      };
      const abort = () => end(false);
      signal.addEventListener("abort", abort);
      this.#waiting.add(end);
      this.#wanted();
    });
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else next(true);
  }
}
