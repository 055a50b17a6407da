/** A Map that nobody can change: frozen, and its mutators throw. */
export function frozenMap<K, V>(entries: Iterable<readonly [K, V]>): ReadonlyMap<K, V> {
  return sealed(new Map(entries), ["set", "delete", "clear"]);
}

/** A Set that nobody can change: frozen, and its mutators throw. */
export function frozenSet<T>(values: Iterable<T>): ReadonlySet<T> {
  return sealed(new Set(values), ["add", "delete", "clear"]);
}

function sealed<C extends object>(collection: C, mutators: readonly string[]): C {
  // Freezing alone leaves the entries of a collection open, because they are not properties.
  for (const name of mutators) {
    Object.defineProperty(collection, name, {
      value: () => {
        throw new TypeError(
          `superstep: a compiled graph is immutable: ${name}() was called on one of its tables`,
        );
      },
    });
  }
  return Object.freeze(collection);
}
