import type { Store } from "../../store/store.ts";

/** Changes of one cell wait for each other in a process: they would only refuse each other in the store. */
class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Waits until nobody else in this process has these names, and takes them; what it answers gives them back. */
  async take(names: readonly string[]): Promise<() => void> {
    const ends: (() => void)[] = [];
    for (const name of [...new Set(names)].sort()) ends.push(await this.#take(name));
    return () => {
      for (const end of ends) end();
    };
  }

  async #take(name: string): Promise<() => void> {
    const before = this.#last.get(name);
    let end!: () => void;
    const own = new Promise<void>((resolve) => end = resolve);
    this.#last.set(name, own);
    await before;
    return () => {
      if (this.#last.get(name) === own) this.#last.delete(name);
      end();
    };
  }
}

const turns = new WeakMap<Store, Turns>();

/** The turns of this process in a store. */
export function turnsOf(store: Store): Pick<Turns, "take"> {
  const known = turns.get(store);
  if (known !== undefined) return known;
  const made = new Turns();
  turns.set(store, made);
  return made;
}
