/**
 * What happens when a vertex has failed for good: by default the run pauses until somebody resumes it. With an error
 * route it goes on elsewhere; `record` writes down why. Several `@OnError` stack, the first that matches wins.
 *
 *     deno run -A examples/07_error_route.ts
 *
 * @module
 */
import { compile, Graph, OnError, Vertex, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { isMain } from "./support/host.ts";

const State = z.object({
  card: z.string(),
  paid: z.boolean().default(false),
  problem: z.string().optional(),
});

@Graph({ id: "payment", version: 1 })
export class Payment extends Workflow(State) {}

class CardDeclined extends Error {
  override name = "CardDeclined";
}

@Vertex({
  graph: Payment,
  id: "charge",
  entry: true,
  finish: true,
  select: (s) => s.card,
  reduce: (s) => {
    s.paid = true;
  },
})
@OnError({
  graph: Payment,
  match: CardDeclined,
  route: "invoice",
  record: (s, failure) => {
    s.problem = failure.message;
  },
})
@OnError("pause") // anything else waits for a person and a resume
export class Charge {
  execute(card: string) {
    if (card === "expired") throw new CardDeclined("the card has expired");
    if (card === "") throw new Error("there is no card");
  }
}

@Vertex({ graph: Payment, id: "invoice", finish: true, select: (s) => s.problem, reduce: () => {} })
export class SendInvoice {
  execute(problem: string | undefined) {
    console.log(`an invoice instead: ${problem}`);
  }
}

if (isMain(import.meta.url)) {
  const runner = compile(Payment, { store: memoryStore() });
  const routed = await runner.run({ card: "expired" });
  console.log(routed.status, routed.path.join(" → "));

  const paused = await runner.run({ card: "" });
  if (paused.status === "interrupted") console.log(paused.run.reason, paused.failures[0]?.failure.message);
}
