/** A bounded number of places; whoever waits for one gets it in the order of asking. */
export class Slots {
  readonly #waiting = new Set<(free: boolean) => void>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
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
    });
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else next(true);
  }
}
