/** Wakes one waiter, now or as soon as it waits; waking twice is waking once. */
export class Latch {
  #set = false;
  #waiter: (() => void) | undefined;

  set(): void {
    this.#set = true;
    this.#waiter?.();
  }

  /** Whether it was set, which is taken back. */
  take(): boolean {
    const set = this.#set;
    this.#set = false;
    return set;
  }

  async wait(): Promise<void> {
    if (this.take()) return;
    await new Promise<void>((resolve) => this.#waiter = resolve);
    this.#waiter = undefined;
    this.#set = false;
  }
}
