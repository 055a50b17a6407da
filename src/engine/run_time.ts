import type { RunRecord } from "../model/run.ts";
import type { Runtime } from "../runtime/runtime.ts";

/**
 * The time of a run: it never goes back, also when the clock was set back. What a run records, when its timers open, and
 * whether they are due is told by this alone.
 */
export function runTime(runtime: Runtime, { updatedAt }: Pick<RunRecord, "updatedAt">): number {
  return Math.max(runtime.now(), updatedAt);
}
