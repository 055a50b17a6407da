/** Wakes one waiter, now or as soon as it waits; waking twice is waking once. */
export class Latch {
  #set = false;
  #waiter: (() => void) | undefined;

  set(): void {
    this.#set = true;
    this.#waiter?.();
  }

  async wait(): Promise<void> {
    if (!this.#set) await new Promise<void>((resolve) => this.#waiter = resolve);
    this.#waiter = undefined;
    this.#set = false;
  }
}
