/** One process of a soak, told by its argument what it is; it reports in lines of JSON. */
import { writeSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { isSuperstepError } from "../../mod.ts";
import { serve } from "../../src/worker/mod.ts";
import { Chance } from "../fuzz/chance.ts";
import { fastClock, hourSteps } from "./fast_clock.ts";
import { openSoakStore } from "./store.ts";
import { kindOf, KINDS, soakRunner } from "./workflow.ts";

/** What a process of a soak is told. */
export interface SoakOrders {
  readonly db: string;
  readonly ledger: string;
  readonly process: number;
  /** When the clock began to run fast, and how fast it is. */
  readonly start: number;
  readonly speed: number;
  /** How often the clock of this process is set by an hour, in real milliseconds. @default never */
  readonly stepsEveryMs?: number;
  readonly task:
    | { readonly kind: "work"; readonly concurrency: number; readonly version: number }
    /** Submits runs, answers and cancels those that are to be, until a line comes in. */
    | {
      readonly kind: "people";
      readonly runs: number;
      readonly seed: number;
      readonly forMs: number;
      readonly longestNapMs: number;
    };
}

const orders = JSON.parse(process.argv[2]!) as SoakOrders;
const { db, ledger, task } = orders;
const { stepsEveryMs } = orders;
const steps = stepsEveryMs && hourSteps(new Chance("steps", orders.process), stepsEveryMs);
const runtime = fastClock(orders.start, orders.speed, steps || undefined);
const store = await openSoakStore(db);
const runner = soakRunner(store, runtime, ledger, orders.process, task.kind === "work" ? task.version : 1);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

function say(line: Readonly<Record<string, unknown>>): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

if (task.kind === "work") {
  const warnings: string[] = [];
  const note = (message: string) => void warnings.push(message);
  const worker = await serve({
    runners: [runner],
    runtime,
    concurrency: task.concurrency,
    handleSignals: true,
    logger: { info: () => {}, warn: note },
  });
  say({ at: "ready" });
  await worker.stopped;
  say({ at: "end", warnings });
} else {
  await people(task);
}
await store.close();
process.exit(0);

/** Whoever uses the workflow: starts runs, answers, and changes their mind. */
async function people(
  { runs, seed, forMs, longestNapMs }: Extract<typeof task, { kind: "people" }>,
): Promise<void> {
  const chance = new Chance("people", seed);
  say({ at: "ready" });
  const done = { answered: 0, cancelled: 0, tooLate: 0 };
  // The ids that were mailed: a run asks once, whatever becomes of its code.
  const mailed = new Map<string, string>();
  const otherIds = new Set<string>();
  let over = false;
  void lines.next().then(() => over = true);
  let submitted = 0;
  const begun = performance.now();
  while (!over) {
    // Most of them at once, the rest as time goes by.
    const share = 0.6 + 0.4 * Math.min(1, (performance.now() - begun) / forMs);
    for (; submitted < runs * share; submitted++) {
      const kind = KINDS[submitted % KINDS.length]!;
      const nap = chance.below(longestNapMs);
      await runner.submit({ kind, nap }, { runId: `${kind}-${submitted}` });
    }
    let cursor: string | undefined;
    for (;;) {
      const page = await runner.waits(cursor === undefined ? {} : { cursor });
      for (const { runId, waitId } of page.rows) {
        if (over) break;
        if ((mailed.get(runId) ?? waitId) !== waitId) otherIds.add(runId);
        mailed.set(runId, waitId);
        if (chance.percent(50)) continue;
        if (kindOf(runId) === "answered") {
          try {
            await runner.answer(runId, waitId, { by: "people" });
            done.answered++;
          } catch (error) {
            if (!isSuperstepError(error, "ANSWER")) throw error;
            done.tooLate++;
          }
        } else if (kindOf(runId) === "doomed") {
          const { status } = await runner.cancel(runId, "no longer needed");
          if (status === "cancelled") done.cancelled++;
        }
      }
      cursor = page.cursor;
      if (cursor === undefined || over) break;
    }
    await pause(50);
  }
  say({ at: "end", submitted, ...done, otherIds: [...otherIds] });
}
