const { then } = Promise.prototype;
const mapForEach = Map.prototype.forEach;
const setForEach = Set.prototype.forEach;

/**
 * Handles every promise in a value that was refused: whatever becomes of it, nobody awaits it, and it must not end the
 * process as an unhandled rejection. No getter and no method of the value is called.
 */
export function ignorePromises(value: unknown): void {
  const seen = new Set<unknown>();
  const left: unknown[] = [value];
  while (left.length > 0 && seen.size < MAX_VALUES) {
    const next = left.pop();
    if (typeof next !== "object" || next === null || ArrayBuffer.isView(next) || seen.has(next)) continue;
    seen.add(next);
    try {
      if (next instanceof Promise) then.call(next, undefined, () => {});
      else if (next instanceof Map) mapForEach.call(next, (v, k) => left.push(k, v));
      else if (next instanceof Set) setForEach.call(next, (v) => left.push(v));
      for (const key of Reflect.ownKeys(next)) left.push(Reflect.getOwnPropertyDescriptor(next, key)?.value);
    } catch {
      // A proxy that throws.
    }
  }
}

const MAX_VALUES = 1_000_000;
