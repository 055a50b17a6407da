/** What the workload `http` measures: an app with a worker on a Deno KV file, and its memory. Ends with its input. */
import process from "node:process";
import { Hono } from "hono";
import { compile } from "superstep";
import { createApp, listen } from "superstep/http";
import { denoKv } from "superstep/store/deno-kv";
import { serve } from "superstep/worker";
import { approval } from "../http/support.ts";
import { heap } from "./bench.ts";
import { mapGraph } from "./graphs.ts";

const stop = new AbortController();
const store = await denoKv(process.argv[2]!);
const runners = [compile(approval(), { store }), compile(mapGraph("hello", (item) => item), { store })];
const worker = await serve({ runners, signal: stop.signal });
const app = new Hono()
  .get("/heap", async (c) => c.json({ heap: await heap() }))
  .route("/", createApp({ runners, signal: stop.signal }));
const server = await listen(app, { port: 0, signal: stop.signal });
console.log(server.url);
process.stdin.resume().once("end", async () => {
  stop.abort();
  await server.closed;
  await worker.stopped;
  await store.close();
});
