/** What servers serve: runs whose bodies do what the test wants. */
import { z } from "zod";
import { compile, GraphBuilder, type Store, type TaskContext } from "../../mod.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";

/** What a body does is said by the id of its run. */
export type Deed = (ctx: TaskContext) => Promise<void>;

/** first → deed → last; every body that begins is noted. */
export function deedRunner(
  store: Store,
  runtime: Runtime,
  note: (line: string) => void,
  deed: Deed,
  maxRecoveries = 10,
) {
  const body = (work: (ctx: TaskContext) => Promise<void>) => ({
    execute: async (_: null, ctx: TaskContext) => {
      note(`${ctx.runId}/${ctx.vertexId}`);
      await work(ctx);
      return null;
    },
  });
  const rest = { select: () => null, reduce: () => {} };
  const graph = new GraphBuilder({ id: "deeds", schema: z.object({}) })
    .addVertex({ id: "first", task: body(() => Promise.resolve()), ...rest })
    .addVertex({ id: "deed", task: body(deed), ...rest })
    .addVertex({ id: "last", task: body(() => Promise.resolve()), ...rest })
    .addEdge("first", "deed").addEdge("deed", "last")
    .build({ entry: "first", finish: "last" });
  return compile(graph, { store, runtime, maxRecoveries, logger: { info: () => {}, warn: () => {} } });
}
