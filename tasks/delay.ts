import type { Duration, Task, TaskContext } from "../mod.ts";

/** How long to wait: for a time from now on, or until a date. */
export type DelayInput = { readonly for: Duration } | { readonly until: Date };

/**
 * Lets time pass. The time is fixed when the vertex first runs and survives restarts; a longer one needs no process
 * meanwhile. A date in the past is now.
 *
 * @example
 * ```ts
 * @Graph({ id: "reminder" })
 * class Reminder extends Workflow(z.object({ pause: z.number() })) {}
 *
 * @Vertex({ graph: Reminder, id: "cool_down", entry: true, finish: true, select: (s) => ({ for: s.pause }), reduce: () => {} })
 * class CoolDown extends Delay {}
 *
 * const result = await testRunner(Reminder).run({ pause: 7 * 86_400_000 }); // on virtual time
 * assert.equal(result.status, "completed");
 * ```
 */
export class Delay implements Task<DelayInput, void> {
  /** Sleeps. */
  async execute(input: DelayInput, ctx: TaskContext): Promise<void> {
    await ctx.sleep("delay", "for" in input ? input.for : input.until);
  }
}
