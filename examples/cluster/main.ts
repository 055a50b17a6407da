/**
 * Two kinds of processes on one PostgreSQL, on as many machines as you like: workers, and the HTTP interface with the dashboard.
 * `docker compose -f examples/cluster/compose.yaml up` starts a database, two workers and one of HTTP. By hand:
 *
 *     export DATABASE_URL=postgres://superstep:secret@localhost/superstep
 *     deno run -A examples/cluster/main.ts worker
 *     deno run -A examples/cluster/main.ts http
 *
 * @module
 */
import process from "node:process";
import { defineWait, Graph, type TaskContext, Vertex, Workflow } from "superstep";
import { createApp, listen } from "superstep/http";
import { postgres } from "superstep/store/postgres";
import { serve } from "superstep/worker";
import { z } from "zod";
import { tokenAuth } from "../support/token.ts";

const Order = z.object({
  item: z.string(),
  packedBy: z.string().default(""),
  shipped: z.boolean().default(false),
});
const Release = defineWait("release", z.object({ ship: z.boolean() }));

@Graph({ id: "order", version: 1 })
class OrderFlow extends Workflow(Order) {}

@Vertex({
  graph: OrderFlow,
  id: "pack",
  entry: true,
  to: "release",
  select: (s) => s.item,
  reduce: (s, by: string) => {
    s.packedBy = by;
  },
})
class Pack {
  async execute(item: string, ctx: TaskContext): Promise<string> {
    await ctx.sleep("packing", "2s");
    ctx.log(`packed ${item}`);
    return `process ${process.pid}`;
  }
}

@Vertex({
  graph: OrderFlow,
  id: "release",
  finish: true,
  waits: [Release],
  select: (s) => s.item,
  reduce: (s, shipped: boolean) => {
    s.shipped = shipped;
  },
})
class Ship {
  async execute(item: string, ctx: TaskContext): Promise<boolean> {
    return (await ctx.waitFor(Release, { info: { item } })).ship;
  }
}

/** The vertices note themselves on their graph; naming them keeps tools from dropping them. */
export const vertices: readonly unknown[] = [Pack, Ship];

const { DATABASE_URL, PORT = "8000", HOST = "127.0.0.1", SUPERSTEP_TOKEN: token } = process.env;
const [role] = process.argv.slice(2);
if (DATABASE_URL === undefined || (role !== "worker" && role !== "http")) {
  console.error("usage: DATABASE_URL=postgres://… main.ts worker|http");
  process.exit(1);
}
const store = await postgres(DATABASE_URL);
if (role === "worker") {
  await using worker = await serve({ store, workflows: [OrderFlow], handleSignals: true });
  console.log(`process ${process.pid} works`);
  await worker.stopped;
} else {
  const app = createApp({ store, workflows: [OrderFlow], ...(token ? { auth: tokenAuth(token) } : {}) });
  await using server = await listen(app, { hostname: HOST, port: Number(PORT) });
  console.log(`listening at ${server.url}`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => resolve());
  });
}
await store.close();
