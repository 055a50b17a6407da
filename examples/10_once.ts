/**
 * Effects: a body runs again from its start after a wait, a retry or a crash. What must not happen twice goes into
 * `ctx.once`: its result is durable before it returns. Hand its idempotency key to whatever you call, for the crash
 * between the effect and the record.
 *
 *     deno run -A examples/10_once.ts
 *
 * @module
 */
import { compile, Graph, Retry, type TaskContext, Vertex, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { isMain } from "./support/host.ts";

const State = z.object({ order: z.string(), receipt: z.string().optional() });

@Graph({ id: "checkout", version: 1 })
export class Checkout extends Workflow(State) {}

@Vertex({
  graph: Checkout,
  id: "pay",
  entry: true,
  finish: true,
  select: (s) => s.order,
  reduce: (s, receipt: string) => {
    s.receipt = receipt;
  },
})
@Retry({ maxAttempts: 3, backoff: { initial: 1 } })
export class Pay {
  async execute(order: string, ctx: TaskContext) {
    const receipt = await ctx.once("charge", ({ idempotencyKey }) => charge(order, idempotencyKey));
    console.log(`attempt ${ctx.attempt} has ${receipt}`);
    if (ctx.attempt === 1) throw new Error("the mail server is down"); // the charge is not repeated
    return receipt;
  }
}

function charge(order: string, idempotencyKey: string): string {
  console.log(`charging ${order} under a key that ends with ${idempotencyKey.split("/").slice(2).join("/")}`);
  return `receipt for ${order}`;
}

if (isMain(import.meta.url)) {
  const runner = compile(Checkout, { store: memoryStore() });
  const { status, state } = await runner.run({ order: "A-7" });
  console.log(status, state.receipt);
}
