/** A process that serves deeds, told by its argument how; it reports in lines of JSON. */
import { appendFileSync, readFileSync, writeSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { isSuperstepError } from "../../mod.ts";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import { serve } from "../../src/worker/mod.ts";
import { fastClock } from "../soak/fast_clock.ts";
import { type Deed, deedRunner } from "./deeds.ts";

/** What a server is told. */
export interface ServerOrders {
  readonly db: string;
  /** The file that bodies are noted in. */
  readonly ledger: string;
  /** When the clock began to run fast, and how fast it is. */
  readonly start: number;
  readonly speed: number;
  /** In milliseconds of that clock. */
  readonly grace?: number;
  readonly maxRecoveries?: number;
}

const orders = JSON.parse(process.argv[2]!) as ServerOrders;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`);
const aborts: string[] = [];
const deed: Deed = async (ctx) => {
  if (ctx.runId.startsWith("poison")) {
    // At first it takes all beside it along. Would it always, they were halted as it is: where a process starts slower
    // than pauses grow, all are due again at once.
    const times = readFileSync(orders.ledger, "utf8").split(`${ctx.runId}/deed\n`).length - 1;
    if (times > 2) await pause(400);
    process.exit(3);
  }
  if (ctx.runId.startsWith("slow")) await pause(50);
  if (!ctx.runId.startsWith("held")) return;
  ctx.signal.addEventListener("abort", () => {
    const { reason } = ctx.signal;
    aborts.push(isSuperstepError(reason) ? reason.code : String(reason));
    say({ at: "aborted", code: aborts.at(-1) });
  });
  say({ at: "held" });
  await lines.next();
};
const store = await denoKv(orders.db);
const runtime = fastClock(orders.start, orders.speed);
const note = (line: string) => appendFileSync(orders.ledger, `${line}\n`);
const runner = deedRunner(store, runtime, note, deed, orders.maxRecoveries);
const worker = await serve({
  runners: [runner],
  runtime,
  handleSignals: true,
  grace: orders.grace ?? 0,
  logger: { info: () => {}, warn: () => {} },
});
say({ at: "ready" });
await worker.stopped;
say({ at: "end", aborts });
await store.close();
process.exit(0);
