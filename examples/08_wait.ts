/**
 * A wait: the run is stored and nothing of it stays in memory until somebody answers, whenever and from whichever
 * process that is. The answer is checked by the schema and accepted once.
 *
 *     deno run -A examples/08_wait.ts
 *
 * @module
 */
import { rm } from "node:fs/promises";
import { compile, defineWait, Graph, type TaskContext, Vertex, Workflow } from "superstep";
import { denoKv } from "superstep/store/deno-kv";
import { z } from "zod";
import { isMain } from "./support/host.ts";

const State = z.object({ amount: z.number(), approvedBy: z.string().optional() });
export const Approval = defineWait("approval", z.object({ by: z.string(), approve: z.boolean() }));

@Graph({ id: "expense", version: 1 })
export class Expense extends Workflow(State) {}

@Vertex({
  graph: Expense,
  id: "approve",
  entry: true,
  finish: true,
  waits: [Approval],
  select: (s) => s.amount,
  reduce: (s, by: string | undefined) => {
    s.approvedBy = by;
  },
})
export class Approve {
  async execute(amount: number, ctx: TaskContext) {
    const { approve, by } = await ctx.waitFor(Approval, { info: `May I spend ${amount}?` });
    return approve ? by : undefined;
  }
}

if (isMain(import.meta.url)) {
  const file = `expense-${Date.now()}.db`;

  const store = await denoKv(file);
  const asked = await compile(Expense, { store }).run({ amount: 120 });
  console.log(asked.status, asked.run.reason);
  await store.close();

  // Next week, in another process:
  const again = await denoKv(file);
  const runner = compile(Expense, { store: again });
  const { rows } = await runner.waits();
  console.log(rows[0]?.info);
  await runner.answer(asked.run.runId, Approval, { by: "Kim", approve: true });
  const done = await runner.resume(asked.run.runId);
  console.log(done.status, done.state.approvedBy);
  await again.close();
  for (const end of ["", "-wal", "-shm"]) await rm(file + end, { force: true });
}
