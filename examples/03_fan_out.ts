/**
 * Fan-out: `to` with several targets starts them in the same step, in parallel. Their reducers are applied after the
 * last of them, in ascending vertex id, so the result never depends on who was faster.
 *
 *     deno run -A examples/03_fan_out.ts
 *
 * @module
 */
import { setTimeout as pause } from "node:timers/promises";
import { compile, Graph, Vertex, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { isMain } from "./support/host.ts";

const Text = z.object({ text: z.string(), findings: z.array(z.string()).default([]) });
type Text = z.infer<typeof Text>;

@Graph({ id: "review", version: 1 })
export class Review extends Workflow(Text) {}

/** All three note what they find. */
const add = (s: Text, finding: string) => {
  s.findings.push(finding);
};

@Vertex({
  graph: Review,
  id: "receive",
  entry: true,
  select: (s) => s.text,
  reduce: () => {},
  to: ["length", "tone"],
})
export class Receive {
  execute() {}
}

@Vertex({ graph: Review, id: "length", select: (s) => s.text, reduce: add, to: "report" })
export class CheckLength {
  async execute(text: string) {
    await pause(20); // the slower one
    return `${text.length} characters`;
  }
}

@Vertex({ graph: Review, id: "tone", select: (s) => s.text, reduce: add, to: "report" })
export class CheckTone {
  execute(text: string) {
    return text.includes("!") ? "excited" : "calm";
  }
}

// Both arrive in the same step, so one execution of the report follows them.
@Vertex({ graph: Review, id: "report", finish: true, select: (s) => s.findings, reduce: () => {} })
export class Report {
  execute(findings: readonly string[]) {
    console.log(findings.join(", "));
  }
}

if (isMain(import.meta.url)) {
  const runner = compile(Review, { store: memoryStore() });
  const result = await runner.run({ text: "Buy now!" });
  console.log(result.path.join(" → "));
}
