/**
 * Retries and timeouts. Each failed attempt is recorded with the time of the next one, so both survive restarts. A
 * `FatalError` is never retried.
 *
 *     deno run -A examples/06_retry.ts
 *
 * @module
 */
import { compile, Graph, Retry, type TaskContext, Timeout, Vertex, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { isMain } from "./support/host.ts";

const State = z.object({ city: z.string(), weather: z.string().optional() });

@Graph({ id: "weather", version: 1 })
export class Weather extends Workflow(State) {}

@Vertex({
  graph: Weather,
  id: "ask",
  entry: true,
  finish: true,
  select: (s) => s.city,
  reduce: (s, out: string) => {
    s.weather = out;
  },
})
@Retry({ maxAttempts: 3, backoff: { initial: "20ms", factor: 2, jitter: true } })
@Timeout({ attempt: "5s", total: "1m" })
export class Ask {
  // deno-lint-ignore require-await
  async execute(city: string, ctx: TaskContext) {
    console.log(`attempt ${ctx.attempt}`); // a real one would be fetch(url, { signal: ctx.signal })
    if (ctx.attempt < 3) throw new Error("the service is down");
    return `sunny in ${city}`;
  }
}

if (isMain(import.meta.url)) {
  const runner = compile(Weather, { store: memoryStore() });
  const { status, state } = await runner.run({ city: "Oslo" });
  console.log(status, state.weather);
}
