/**
 * A map vertex: `each` instead of `select` runs the body once per item, in parallel. Every item has its own durable
 * outcome, so after a crash only the unfinished ones run again. The reducer gets the outputs in the order of the items.
 *
 *     deno run -A examples/04_map.ts
 *
 * @module
 */
import { compile, Graph, type TaskContext, Vertex, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { isMain } from "./support/host.ts";

const Order = z.object({
  lines: z.array(z.object({ product: z.string(), count: z.number().int() })),
  total: z.number().default(0),
});

@Graph({ id: "order", version: 1 })
export class Pricing extends Workflow(Order) {}

const prices: Readonly<Record<string, number>> = { apple: 2, pear: 3, quince: 5 };

@Vertex({
  graph: Pricing,
  id: "price",
  entry: true,
  finish: true,
  each: (s) => [...s.lines],
  reduce: (s, prices: readonly number[]) => {
    s.total = prices.reduce((sum, price) => sum + price, 0);
  },
})
export class Price {
  execute(line: { product: string; count: number }, ctx: TaskContext) {
    console.log(`item ${ctx.item}: ${line.count} × ${line.product}`);
    return line.count * (prices[line.product] ?? 0);
  }
}

if (isMain(import.meta.url)) {
  const runner = compile(Pricing, { store: memoryStore() });
  const { state } = await runner.run({
    lines: [{ product: "pear", count: 4 }, { product: "quince", count: 2 }],
  });
  console.log(`total ${state.total}`);
}
