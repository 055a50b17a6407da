/** What `tests/bench/http.ts` measures: an app with a worker on a Deno KV file, and its memory. Ends with its input. */
import process from "node:process";
import { Hono } from "hono";
import { compile } from "superstep";
import { createApp, listen } from "superstep/http";
import { denoKv } from "superstep/store/deno-kv";
import { serve } from "superstep/worker";
import { approval } from "../http/support.ts";

const stop = new AbortController();
const store = await denoKv(process.argv[2]!);
const runner = compile(approval(), { store });
const worker = await serve({ runners: [runner], signal: stop.signal });
const app = new Hono()
  .get("/heap", async (c) => c.json({ heap: await heap() }))
  .route("/", createApp({ runners: [runner], signal: stop.signal }));
const server = await listen(app, { port: 0, signal: stop.signal });
console.log(server.url);
process.stdin.resume().once("end", async () => {
  stop.abort();
  await server.closed;
  await worker.stopped;
  await store.close();
});

async function heap(): Promise<number> {
  const { Bun, gc } = globalThis as { Bun?: { gc(full: boolean): void }; gc?: () => void };
  for (let i = 0; i < 5; i++) {
    await new Promise<void>((resolve) => setTimeout(resolve, 50));
    if (Bun === undefined) gc?.();
    else Bun.gc(true);
  }
  return process.memoryUsage().heapUsed;
}
