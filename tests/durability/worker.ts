/** A process that works on errands, told by its argument what to do; it reports in lines of JSON. */
import { existsSync, writeSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { isSuperstepError } from "../../mod.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import { type Conduct, errandRunner, KEEPSAKES, Ledger } from "./errand.ts";

/** What a worker is told. */
export interface Orders {
  readonly db: string;
  readonly ledger: string;
  readonly generation: number;
  /** How far its clock is ahead, in milliseconds. @default 0 */
  readonly ahead?: number;
  readonly task:
    /** Work on errands from `first` on until `last` is done, taking over what others left. */
    | { readonly kind: "churn"; readonly first: number; readonly last: number }
    /**
     * Start one and report what it came to; `hold` keeps its slow body at work until a line comes in, `block` keeps the
     * whole process from doing anything until that file exists.
     */
    | { readonly kind: "start"; readonly runId: string; readonly hold?: boolean; readonly block?: string }
    /** Answer the open wait of one and resume it. */
    | { readonly kind: "answer"; readonly runId: string; readonly by: string }
    /** When a line comes in, recover what is left and report; with `patience`, again until there is something. */
    | { readonly kind: "recover"; readonly patience?: boolean };
}

const orders = JSON.parse(process.argv[2]!) as Orders;
const { ahead = 0, task } = orders;
const ledger = new Ledger(orders.ledger, orders.generation);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const store = await denoKv(orders.db);

function say(line: Readonly<Record<string, unknown>>): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

const aborts: string[] = [];
const conduct: Conduct = {
  ledger,
  ...(task.kind === "start" && task.hold === true ? { slow: hold } : {}),
  ...(task.kind === "start" && task.block !== undefined ? { slow: (ctx) => block(ctx, task.block!) } : {}),
};

/** What a body does that computes and never lets anybody else have the thread. */
async function block(ctx: TaskContext, file: string): Promise<void> {
  ctx.signal.addEventListener("abort", () => aborts.push(codeOf(ctx.signal.reason)));
  say({ at: "slow" });
  while (!existsSync(file));
  await ctx.once("late", () => ledger.write("begin", "late"));
}

async function hold(ctx: TaskContext): Promise<void> {
  ctx.signal.addEventListener("abort", () => aborts.push(codeOf(ctx.signal.reason)));
  say({ at: "slow" });
  await lines.next();
}

function codeOf(error: unknown): string {
  return isSuperstepError(error) ? error.code : String(error);
}

const runner = errandRunner(store, conduct, ahead);
say({ at: "ready" });
try {
  await work();
} catch (error) {
  // The body that was held notes its effect and ends before the report.
  await pause(50);
  say({ at: "end", error: codeOf(error), aborts });
}
await store.close();
process.exit(0);

async function work(): Promise<void> {
  if (task.kind === "start") {
    const { status, run, path } = await runner.run({}, { runId: task.runId });
    say({ at: "end", status, path, owner: run.owner ?? null });
  } else if (task.kind === "answer") {
    const { rows } = await runner.waits({ runId: task.runId });
    await runner.answer(task.runId, rows[0]!.waitId, { by: task.by });
    const { status, path, state } = await runner.resume(task.runId);
    say({ at: "end", status, path, log: state.log, kept: isKept(state.keep) });
  } else if (task.kind === "recover") {
    await lines.next();
    let handles = await runner.recover();
    while (task.patience === true && handles.length === 0) {
      await pause(250);
      handles = await runner.recover();
    }
    const results = await Promise.all(handles.map((handle) => handle.result()));
    say({ at: "end", claimed: handles.length, statuses: results.map((r) => r.status) });
  } else {
    const left = await runner.recover();
    say({ at: "work", left: left.length });
    await Promise.all(left.map((handle) => handle.result()));
    for (let n = task.first; n <= task.last; n++) await churn(`r${n}`);
    say({ at: "end" });
  }
}

/** Carries one errand to its end, wherever it stands. */
async function churn(runId: string): Promise<void> {
  let result = await (await runner.start({}, { runId })).result();
  while (result.status === "interrupted") {
    for (const wait of (await runner.waits({ runId })).rows) {
      const by = wait.vertexId === "ask" ? "first" : "second";
      await runner.answer(runId, wait.waitId, { by });
    }
    result = await runner.resume(runId);
  }
}

/** Whether every value came back as it was put in; `Object.is` tells -0 from 0. */
function isKept(keep: typeof KEEPSAKES | undefined): boolean {
  if (keep === undefined) return false;
  const { big, date, map, bytes, set, zero, long } = keep;
  const [key, numbers = []] = [...map][0] ?? [];
  return big === KEEPSAKES.big && date.getTime() === KEEPSAKES.date.getTime() && key === "π" &&
    numbers.length === 3 && Object.is(numbers[1], -0) && numbers[2] === 0.1 &&
    Object.getPrototypeOf(bytes) === Uint8Array.prototype &&
    bytes.length === 300 && bytes.every((byte, i) => byte === i % 256) &&
    [...set].join() === [...KEEPSAKES.set].join() && Object.is(zero, -0) && long === KEEPSAKES.long;
}
