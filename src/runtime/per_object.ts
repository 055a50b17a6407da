/** Keeps one thing for each object, such as a store, that is made when it is first asked for, as long as the object is. */
export function perObject<K extends object, T, A extends readonly unknown[] = []>(
  make: (key: K, ...args: A) => T,
): (key: K, ...args: A) => T {
  const kept = new WeakMap<K, T>();
  return (key, ...args) => {
    const known = kept.get(key) ?? make(key, ...args);
    kept.set(key, known);
    return known;
  };
}
