import { ContextError } from "../errors.ts";

/** Whether a value would be awaited: what pure functions must not return. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return value instanceof Promise ||
    (typeof value === "object" && value !== null && Object.hasOwn(value, "then") &&
      typeof (value as { then?: unknown }).then === "function");
}

/** Refuses to wait for `value`: whatever becomes of it, it must not surface as an unhandled rejection. */
export function ignore(value: PromiseLike<unknown>): void {
  value.then(undefined, () => {});
}

/** A value that user code returned; a promise is refused with `problem`, and whatever becomes of it is ignored. */
export function synchronous<T>(value: T, problem: string): T {
  if (!isThenable(value)) return value;
  ignore(value);
  throw new ContextError(problem);
}
