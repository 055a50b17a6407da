import type { Duration, Task, TaskContext } from "../mod.ts";

/** How long to wait: for a time from now on, or until a date. */
export type DelayInput = { readonly for: Duration } | { readonly until: Date };

/**
 * Lets time pass. The time is fixed when the vertex first runs and survives restarts; meanwhile the run needs no process.
 *
 * @example
 * ```ts ignore
 * @Vertex({ graph: Reminder, id: "cool_down", select: () => ({ for: "2h" }), reduce: () => {}, to: "remind" })
 * class CoolDown extends Delay {}
 * ```
 */
export class Delay implements Task<DelayInput, void> {
  async execute(input: DelayInput, ctx: TaskContext): Promise<void> {
    await ctx.sleep("delay", "for" in input ? input.for : input.until);
  }
}
