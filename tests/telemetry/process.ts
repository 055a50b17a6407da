/** A process that works on one run of a questionnaire until it pauses or ends, and says which spans it finished. */
import { writeSync } from "node:fs";
import process from "node:process";
import { z } from "zod";
import { compile, defineWait, GraphBuilder, type TaskContext } from "../../mod.ts";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import { tracing } from "../../src/telemetry/mod.ts";
import { recording } from "./otel.ts";

const Answer = defineWait("answer", z.string());

const ask = {
  execute: async (question: string, ctx: TaskContext) => {
    tracer.startActiveSpan("look up", (span) => span.end());
    return await ctx.waitFor(Answer, { info: question });
  },
};
const { tracer, spans } = recording();

const graph = new GraphBuilder({
  id: "questionnaire",
  schema: z.object({ name: z.string().default(""), age: z.string().default("") }),
})
  .addVertex({
    id: "name",
    waits: [Answer],
    task: ask,
    select: () => "name?",
    reduce: (s, answer: string) => void (s.name = answer),
  })
  .addVertex({
    id: "age",
    waits: [Answer],
    task: ask,
    select: (s) => `age of ${s.name}?`,
    reduce: (s, answer: string) => void (s.age = answer),
  })
  .addEdge("name", "age")
  .build({ entry: "name", finish: "age" });

const [db = "", answer] = process.argv.slice(2);
const store = await denoKv(db);
const runner = compile(graph, { store, hooks: tracing({ tracer }) });
const runId = "q";
const result = answer === undefined
  ? await runner.run({}, { runId })
  : await runner.resume(runId, { payload: answer });
writeSync(1, JSON.stringify({ status: result.status, state: result.state, spans: await spans() }));
await store.close();
process.exit(0);
