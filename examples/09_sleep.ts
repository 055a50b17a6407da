/**
 * Time: a sleep is a stored moment, so it lasts as long as it says however often the process restarts. A race of a wait
 * against a sleep is a deadline or a reminder; it has one winner for ever.
 *
 *     deno run -A examples/09_sleep.ts
 *
 * @module
 */
import { compile, defineWait, Graph, type TaskContext, Vertex, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { isMain } from "./support/host.ts";

const State = z.object({ guest: z.string(), coming: z.boolean().optional() });
export const Reply = defineWait("reply", z.object({ coming: z.boolean() }));

@Graph({ id: "invitation", version: 1 })
export class Invitation extends Workflow(State) {}

@Vertex({
  graph: Invitation,
  id: "invite",
  entry: true,
  finish: true,
  waits: [Reply],
  select: (s) => s.guest,
  reduce: (s, coming: boolean) => {
    s.coming = coming;
  },
})
export class Invite {
  async execute(guest: string, ctx: TaskContext) {
    const reply = ctx.waitFor(Reply); // opened once, so that its id stays the same
    for (const day of [1, 2]) {
      const first = await Promise.race([reply, ctx.sleep(`day-${day}`, "30ms")]); // "1d" in real life
      if (first !== undefined) return first.coming;
      await ctx.once(`remind-${day}`, () => console.log(`reminder ${day} for ${guest}`));
    }
    return false;
  }
}

if (isMain(import.meta.url)) {
  const runner = compile(Invitation, { store: memoryStore() });
  const { status, state } = await runner.run({ guest: "Sam" }); // short sleeps are waited out in the process
  console.log(status, state.coming ? "coming" : "not coming");
}
