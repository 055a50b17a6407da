/**
 * The state: a schema gives its type, its defaults and its checks. Every vertex of a step reads the same frozen
 * snapshot, and only reducers change it. A conditional edge looks at the state and goes round again.
 *
 *     deno run -A examples/02_state.ts
 *
 * @module
 */
import { compile, Graph, Vertex, Workflow } from "superstep";
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
  route: { targets: ["grow", "report"], pick: (s) => s.balance < s.goal ? "grow" : "report" },
})
export class Grow {
  execute({ balance, rate }: { balance: number; rate: number }) {
    return Math.round(balance * (1 + rate));
  }
}

@Vertex({ graph: Plan, id: "report", finish: true, select: (s) => s.years, reduce: () => {} })
export class Report {
  execute(years: number) {
    console.log(`after ${years} years`);
  }
}

if (isMain(import.meta.url)) {
  const runner = compile(Plan, { store: memoryStore() });
  const { state } = await runner.run({ balance: 1000, goal: 1200 });
  console.log(`${state.balance} of ${state.goal}`);
  // What the schema does not accept never becomes a run.
  await runner.run({ balance: -1, goal: 1200 }).catch((error) => console.log(error.code));
}
