/** The second version: what was approved is sent. Runs of the first one fit. */
import { z } from "zod";
import { defineWait, Graph, type TaskContext, Vertex, Workflow } from "../../../../mod.ts";

export const Approve = defineWait("approve", z.object({ by: z.string().min(2) }));

@Graph({ id: "order", version: 2 })
export class Order extends Workflow(z.object({
  item: z.string(),
  by: z.string().optional(),
  sent: z.boolean().default(false),
})) {}

@Vertex({
  graph: Order,
  id: "ask",
  entry: true,
  waits: [Approve],
  select: (s) => s.item,
  reduce: (s, out: { by: string }) => {
    s.by = out.by;
  },
  to: "send",
})
export class Ask {
  execute(item: string, ctx: TaskContext) {
    return ctx.waitFor(Approve, { info: item });
  }
}

@Vertex({
  graph: Order,
  id: "send",
  finish: true,
  select: (s) => s.item,
  reduce: (s, sent: boolean) => {
    s.sent = sent;
  },
})
export class Send {
  execute(_item: string): boolean {
    return true;
  }
}
