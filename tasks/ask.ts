import type { Task, TaskContext, WaitDefinition } from "../mod.ts";

/**
 * A base class for tasks that ask: they show their input with an open wait, and their output is the answer. When the
 * wait has a deadline and it passes, the task fails with `WaitExpiredError`.
 *
 * @example
 * ```ts ignore
 * const Approved = defineWait("approved", z.object({ by: z.string() }), { deadline: "7d" });
 *
 * @Vertex({
 *   graph: Order, id: "approve", waits: [Approved], to: "ship",
 *   select: (s) => ({ items: s.items }),
 *   reduce: (s, answer: { by: string }) => { s.approvedBy = answer.by; },
 * })
 * class Approve extends Ask(Approved) {}
 * ```
 */
export function Ask<T>(wait: WaitDefinition<T>): AskClass<T> {
  return class implements Task<unknown, T> {
    execute(info: unknown, ctx: TaskContext): Promise<T> {
      return ctx.waitFor(wait, { info });
    }
  };
}

/** What {@link Ask} returns, to be extended. */
export type AskClass<T> = new () => Task<unknown, T>;
