/**
 * The approval workflow as a service: a worker, the HTTP interface and the dashboard in one process, on one file.
 *
 *     deno task serve        bun run serve        npm run serve
 *
 * It serves this machine, at the port in `PORT` or 8000, until Ctrl-C or SIGTERM. With `SUPERSTEP_TOKEN` in the
 * environment it asks for that token, and may be reached from elsewhere: `--host 0.0.0.0`, behind a proxy that ends TLS.
 *
 * @module
 */
import process from "node:process";
import { parseArgs } from "node:util";
import type { Store } from "superstep";
import { createApp, listen } from "superstep/http";
import { denoKv } from "superstep/store/deno-kv";
import { serve, type ServeOptions } from "superstep/worker";
import { Approval } from "./approval.ts";
import { localDesk } from "./approval/desk.ts";
import { Ledger } from "./support/ledger.ts";
import { tokenAuth } from "./support/token.ts";

const { PORT = "8000", SUPERSTEP_TOKEN: token } = process.env;

async function main(): Promise<void> {
  const { db, host } = parseArgs({
    options: {
      db: { type: "string", default: "./superstep.db" },
      host: { type: "string", default: "127.0.0.1" },
    },
  }).values;
  const store = await denoKv(db);
  try {
    await serveOn(store, db, host);
  } finally {
    await store.close();
  }
}

async function serveOn(store: Store, db: string, host: string): Promise<void> {
  const ledger = new Ledger(`${db}-ledger.jsonl`);
  const desk = localDesk(ledger, { thinkMs: 1_000 }); // needs no network: mails go to the ledger
  const served = {
    store,
    workflows: [Approval],
    compile: { provide: (cls) => ledger.watch(new cls(desk)), hooks: ledger.hooks },
  } satisfies ServeOptions;

  const app = createApp({
    ...served,
    expose: { causes: true }, // whoever is let in may see what was thrown
    ...(token ? { auth: tokenAuth(token) } : {}),
  });
  await using server = await listen(app, { hostname: host, port: Number(PORT) });
  await using worker = await serve({ ...served, handleSignals: true });

  console.log(`approval on ${db}, for ${token ? "whoever has the token" : "this machine"}; stop with Ctrl-C`);
  console.log(`  dashboard  ${server.url}/ui`);
  console.log(`  API        ${server.url}/v1`);
  console.log(`  OpenAPI    ${server.url}/v1/openapi.json`);

  await worker.stopped; // by a signal; then the server closes, and the streams of its readers end
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
