/**
 * The state: a schema gives its type, its defaults and its checks. Every vertex of a step reads the same frozen
 * snapshot, and only reducers change it. A conditional edge looks at the state and goes round again, or ends the run.
 *
 *     deno run -A examples/02_state.ts
 *
 * @module
 */
import { compile, END, Graph, Vertex, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { isMain } from "./support/host.ts";

const Savings = z.object({
  balance: z.number().positive(),
  rate: z.number().default(0.05),
  goal: z.number(),
  years: z.number().int().default(0),
});

@Graph({ id: "savings", version: 1 })
export class Plan extends Workflow(Savings) {}

@Vertex({
  graph: Plan,
  id: "grow",
  entry: true,
  select: (s) => ({ balance: s.balance, rate: s.rate }),
  reduce: (s, balance: number) => {
    s.balance = balance;
    s.years += 1;
  },
  route: { targets: ["grow", END], pick: (s) => s.balance < s.goal ? "grow" : END },
})
export class Grow {
  execute({ balance, rate }: { balance: number; rate: number }) {
    return Math.round(balance * (1 + rate));
  }
}

if (isMain(import.meta.url)) {
  const runner = compile(Plan, { store: memoryStore() });
  const { state } = await runner.run({ balance: 1000, goal: 1200 });
  console.log(`after ${state.years} years`);
  console.log(`${state.balance} of ${state.goal}`);
  // What the schema does not accept never becomes a run.
  await runner.run({ balance: -1, goal: 1200 }).catch((error) => console.log(error.code));
}
