/**
 * A join: branches of different length meet in a vertex with `join: "all"`, which waits for every one that can still
 * arrive. Without it the vertex would run whenever one of them arrives.
 *
 *     deno run -A examples/05_join.ts
 *
 * @module
 */
import { compile, Graph, Vertex, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { isMain } from "./support/host.ts";

const Trip = z.object({ to: z.string(), flight: z.string().optional(), visa: z.string().optional() });

@Graph({ id: "trip", version: 1 })
export class Booking extends Workflow(Trip) {}

@Vertex({
  graph: Booking,
  id: "start",
  entry: true,
  select: (s) => s.to,
  reduce: () => {},
  to: ["flight", "form"],
})
export class Start {
  execute() {}
}

@Vertex({
  graph: Booking,
  id: "flight",
  select: (s) => s.to,
  reduce: (s, out: string) => {
    s.flight = out;
  },
  to: "confirm",
})
export class BookFlight {
  execute(to: string) {
    return `flight to ${to}`;
  }
}

// The other branch takes two steps.
@Vertex({ graph: Booking, id: "form", select: (s) => s.to, reduce: () => {}, to: "visa" })
export class FillForm {
  execute() {}
}

@Vertex({
  graph: Booking,
  id: "visa",
  select: (s) => s.to,
  reduce: (s, out: string) => {
    s.visa = out;
  },
  to: "confirm",
})
export class ApplyForVisa {
  execute(to: string) {
    return `visa for ${to}`;
  }
}

@Vertex({
  graph: Booking,
  id: "confirm",
  join: "all",
  finish: true,
  select: (s) => `${s.flight}, ${s.visa}`,
  reduce: () => {},
})
export class Confirm {
  execute(bookings: string) {
    console.log(`booked: ${bookings}`);
  }
}

if (isMain(import.meta.url)) {
  const runner = compile(Booking, { store: memoryStore() });
  const result = await runner.run({ to: "Lima" });
  console.log(result.path.join(" → "));
}
