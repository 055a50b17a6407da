import type { Runtime } from "../runtime/runtime.ts";

/**
 * Hands recorded results to a body.
 *
 * 1. In the order of their numbers, each in a macrotask of its own, so that whatever one sets off in the body is done
 *    before the next one comes.
 * 2. One that the body has not asked for yet holds back those after it, until the body is quiet.
 */
export class Deliveries {
  readonly #runtime: Runtime;
  /** Called before each delivery. */
  readonly #delivering: () => void;
  /** Keys of the results that the body has not got, in the order of their numbers. */
  readonly #left: string[];
  readonly #asked = new Map<string, () => void>();
  #scheduled = false;

  constructor(runtime: Runtime, recorded: readonly string[], delivering: () => void) {
    this.#runtime = runtime;
    this.#left = [...recorded];
    this.#delivering = delivering;
  }

  /** Whether there is a result that the body has asked for and not got. */
  get arePending(): boolean {
    return this.#asked.size > 0 && this.#left.some((key) => this.#asked.has(key));
  }

  has(key: string): boolean {
    return this.#left.includes(key);
  }

  /** A result was recorded while the body is at work. */
  add(key: string): void {
    this.#left.push(key);
    this.#schedule();
  }

  /** Has `deliver` called when it is the turn of this result. */
  ask(key: string, deliver: () => void): void {
    this.#asked.set(key, deliver);
    this.#schedule();
  }

  /** The result will not come. */
  forget(key: string): void {
    this.#asked.delete(key);
  }

  /** The body is quiet and will not ask for what comes first: the first of what it has asked for is delivered. */
  deliverOutOfTurn(): void {
    const key = this.#left.find((each) => this.#asked.has(each));
    if (key !== undefined && !this.#scheduled) this.#deliver(key);
  }

  /** Nothing is delivered any more. */
  end(): void {
    this.#left.length = 0;
    this.#asked.clear();
  }

  #schedule(): void {
    const first = this.#left[0];
    if (this.#scheduled || first === undefined || !this.#asked.has(first)) return;
    this.#scheduled = true;
    this.#runtime.macrotask(() => {
      this.#scheduled = false;
      const key = this.#left[0];
      if (key !== undefined && this.#asked.has(key)) this.#deliver(key);
    });
  }

  #deliver(key: string): void {
    const deliver = this.#asked.get(key)!;
    this.#asked.delete(key);
    this.#left.splice(this.#left.indexOf(key), 1);
    this.#delivering();
    deliver();
    this.#schedule();
  }
}
