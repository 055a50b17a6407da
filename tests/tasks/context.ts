import type { TaskContext } from "superstep";

/** As much of a context as a task without waits needs. */
export function contextFor(key: string, signal: AbortSignal = new AbortController().signal): TaskContext {
  return { idempotencyKey: key, signal } as TaskContext;
}
