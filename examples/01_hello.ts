/**
 * Two vertices and a state. A vertex selects its input from the state, its body works, its reducer writes the output
 * into the state; `to` says what comes next.
 *
 *     deno run -A examples/01_hello.ts
 *
 * @module
 */
import { compile, Graph, Vertex, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { isMain } from "./support/host.ts";

const State = z.object({
  name: z.string(),
  greeting: z.string().default(""),
  sent: z.boolean().default(false),
});

@Graph({ id: "hello", version: 1 })
export class Hello extends Workflow(State) {}

@Vertex({
  graph: Hello,
  id: "write",
  entry: true,
  select: (s) => s.name,
  reduce: (s, out: string) => {
    s.greeting = out;
  },
  to: "send",
})
export class Write {
  execute(name: string) {
    return `Hello, ${name}!`;
  }
}

@Vertex({
  graph: Hello,
  id: "send",
  finish: true,
  select: (s) => s.greeting,
  reduce: (s) => {
    s.sent = true;
  },
})
export class Send {
  execute(greeting: string) {
    console.log(greeting);
  }
}

if (isMain(import.meta.url)) {
  const runner = compile(Hello, { store: memoryStore() });
  const result = await runner.run({ name: "Ada" });
  console.log(result.status, result.path.join(" → "));
}
