/**
 * Workers: `submit` stores a run and works on nothing; any worker that serves its graph takes it, in whatever process,
 * with everything that becomes due later: answers, timers, retries, deadlines, and runs whose process died.
 *
 *     deno run -A examples/12_worker.ts
 *
 * @module
 */
import { compile, Graph, Schedule, type TaskContext, Vertex, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { serve } from "superstep/worker";
import { z } from "zod";
import { isMain } from "./support/host.ts";

const Job = z.object({ page: z.string(), words: z.number().optional() });

// One more run every working day at nine, however many workers there are.
@Schedule("0 9 * * 1-5", { timezone: "Europe/Berlin", input: { page: "/news" } })
@Graph({ id: "index", version: 1 })
export class Index extends Workflow(Job) {}

@Vertex({
  graph: Index,
  id: "count",
  entry: true,
  finish: true,
  select: (s) => s.page,
  reduce: (s, words: number) => {
    s.words = words;
  },
})
export class Count {
  async execute(page: string, ctx: TaskContext) {
    await ctx.sleep("politeness", "20ms");
    return page.length;
  }
}

if (isMain(import.meta.url)) {
  const store = memoryStore(); // a file, so that other processes see it: await denoKv("./superstep.db")
  await using worker = await serve({ store, workflows: [Index], poll: "50ms" });
  console.log(`serving ${worker.keys.map((key) => key.graphId).join(", ")}`);

  const runner = compile(Index, { store });
  const runs = await Promise.all(["/", "/about"].map((page) => runner.submit({ page })));
  for (const { runId } of runs) {
    // A start under the same id is that run, and its handle follows it wherever it is worked on.
    const page = (await runner.get(runId)).state.page;
    const handle = await runner.start({ page }, { runId });
    const { status, state } = await handle.result();
    console.log(status, state.page, state.words);
  }
}
