/** The first version: somebody approves an order. */
import { z } from "zod";
import { defineWait, Graph, type TaskContext, Vertex, Workflow } from "../../../../mod.ts";

export const Approve = defineWait("approve", z.object({ by: z.string() }));

@Graph({ id: "order", version: 1 })
export class Order extends Workflow(z.object({ item: z.string(), by: z.string().optional() })) {}

@Vertex({
  graph: Order,
  id: "ask",
  entry: true,
  finish: true,
  waits: [Approve],
  select: (s) => s.item,
  reduce: (s, out: { by: string }) => {
    s.by = out.by;
  },
})
export class Ask {
  execute(item: string, ctx: TaskContext) {
    return ctx.waitFor(Approve, { info: item });
  }
}
