import { perObject } from "../runtime/per_object.ts";
import type { Store } from "../store/store.ts";

/** Tells readers in this process that a run was appended to. A hint: appends of other processes are not heard. */
export class AppendHints {
  readonly #listeners = new Map<string, Set<() => void>>();

  /** Calls `listener` after every append to the run, until the function returned is called. */
  listen(runId: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(runId) ?? new Set();
    this.#listeners.set(runId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(runId) === listeners) this.#listeners.delete(runId);
    };
  }

  tell(runId: string): void {
    if (this.#listeners.size === 0) return;
    for (const listener of this.#listeners.get(runId) ?? []) listener();
  }
}

/** The hints of a store: one object for all who write to it or read it through the same handle. */
export const appendHints: (store: Store) => AppendHints = perObject(() => new AppendHints());
