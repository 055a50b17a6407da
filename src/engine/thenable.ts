/** Whether a value would be awaited: what pure functions must not return. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return value instanceof Promise ||
    (typeof value === "object" && value !== null && Object.hasOwn(value, "then") &&
      typeof (value as { then?: unknown }).then === "function");
}
