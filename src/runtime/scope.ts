import { AsyncLocalStorage } from "node:async_hooks";

/** Remembers through every await of a function what it was called within. Costs nothing until it is first entered. */
export class Scope<T> {
  readonly #storage = new AsyncLocalStorage<T>();

  enter<R>(value: T, run: () => R): R {
    return this.#storage.run(value, run);
  }

  get current(): T | undefined {
    return this.#storage.getStore();
  }
}
