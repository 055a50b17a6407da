/** The third version: an order has several items, and what asked is called a review. A migration brings runs of the second. */
import { z } from "zod";
import { defineWait, Graph, Migration, type TaskContext, Vertex, Workflow } from "../../../../mod.ts";

export const Approve = defineWait("approve", z.object({ by: z.string().min(2) }));

@Graph({ id: "order", version: 3 })
export class Order extends Workflow(z.object({
  items: z.array(z.string()),
  by: z.string().optional(),
  sent: z.number().default(0),
})) {}

@Migration({
  graph: Order,
  from: 2,
  state: ({ item, sent, ...rest }: { item: string; sent: boolean }) => ({
    ...rest,
    items: [item],
    sent: sent ? 1 : 0,
  }),
  vertices: { ask: "review" },
})
export class FromSecond {}

@Vertex({
  graph: Order,
  id: "review",
  entry: true,
  waits: [Approve],
  select: (s) => s.items.join(),
  reduce: (s, out: { by: string }) => {
    s.by = out.by;
  },
  to: "send",
})
export class Review {
  execute(items: string, ctx: TaskContext) {
    return ctx.waitFor(Approve, { info: items });
  }
}

@Vertex({
  graph: Order,
  id: "send",
  finish: true,
  select: (s) => s.items,
  reduce: (s, sent: number) => {
    s.sent = sent;
  },
})
export class Send {
  execute(items: readonly string[]): number {
    return items.length;
  }
}
