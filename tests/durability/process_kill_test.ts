// Runs on deno and bun by default: Node has the driver of Bun, and its processes die alike.
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import type { Store } from "../../src/store/store.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { VirtualClock } from "../../src/testing/mod.ts";
import { HOST } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";
import { Child } from "./child.ts";
import { effectsOf, errandRunner, Ledger, type Line, LOG, PATH } from "./errand.ts";
import { effort } from "../support/effort.ts";

/** Bun starts fastest, so the hundred rounds are there; the others show that their processes die as well as live. */
const ROUNDS = { bun: effort(6, 100), deno: effort(3, 20), node: effort(3, 20) }[HOST];
const MOST_ROUNDS = 100;
const SEED = Number(process.env.SUPERSTEP_KILL_SEED ?? Date.now() % 1_000_000);

/** The longest life of a process that is at work, as a part of what a whole errand takes. */
const LONGEST_LIFE = 0.8;
/** More than any delay of a recovery: the clock of each process is that much ahead of the one before. */
const AHEAD = 400_000;
/** More errands than the rounds can finish. */
const PLENTY = 10_000;

const TITLE =
  `${ROUNDS} processes killed at random times lose nothing and do nothing twice (SPEC 11, E4, O1)`;

test(TITLE, { timeout: 300_000 }, async () => {
  console.log(`SUPERSTEP_KILL_SEED=${SEED} replays the times of the kills`);
  const folder = await temporaryFolder();
  const db = join(folder.path, "store.db");
  const path = join(folder.path, "ledger.jsonl");
  const store = await denoKv(db);
  const chance = new VirtualClock({ seed: SEED });
  new Ledger(path, -1).write("owner", "none");
  let midRun = 0;
  let child: Child | undefined;
  const begin = (generation: number, last: number) =>
    child = new Child(HOST, {
      db,
      ledger: path,
      generation,
      ahead: generation * AHEAD,
      task: { kind: "churn", first: newest(Ledger.read(path)), last },
    });
  try {
    const first = begin(0, 0);
    await first.until("work");
    const atWork = systemRuntime.now();
    await first.until("end");
    const life = systemRuntime.now() - atWork;
    await first.ended;
    let round = 1;
    // Where everything is slow, few kills may all come too early.
    for (; round <= ROUNDS || (midRun === 0 && round <= MOST_ROUNDS); round++) {
      const victim = begin(round, PLENTY);
      // Some die while they take over what the one before has left, most of them at work.
      await victim.until(chance.random() < 0.2 ? "ready" : "work");
      await pause(chance.random() * LONGEST_LIFE * life);
      await victim.dispose();
      assert.equal(victim.heard("end"), undefined, "it was killed, and did not end by itself");
      if (await isOwned(store, `r${newest(Ledger.read(path))}`)) midRun++;
    }
    const last = newest(Ledger.read(path));
    const survivor = begin(round, last);
    const { error } = await survivor.until("end");
    assert.equal(error, undefined);
    await survivor.ended;

    const lines = Ledger.read(path);
    for (let n = 0; n <= last; n++) await checkErrand(store, path, `r${n}`, lines);
    console.log(
      `${round - 1} kills, ${midRun} of them in the middle of a run; ${last + 1} runs of ${life} ms`,
    );
    assert.ok(midRun > 0, "no kill landed in the middle of a run");
  } finally {
    await child?.dispose();
    await store.close();
    await folder.remove();
  }
});

/** The number of the newest errand that has begun. */
function newest(lines: readonly Line[]): number {
  return Math.max(0, ...lines.map((line) => Number(/run=r(\d+)/.exec(line.key)?.[1] ?? 0)));
}

/** Whether the newest record of a run names an owner: it was at work when its process was killed. */
async function isOwned(store: Store, runId: string): Promise<boolean> {
  const tail = await store.tail(runId);
  return tail !== undefined && tail.owner !== null;
}

/** The run is complete; each effect happened, under its one key; nothing ran once its result had been recorded. */
async function checkErrand(store: Store, path: string, runId: string, lines: readonly Line[]): Promise<void> {
  const runner = errandRunner(store, { ledger: new Ledger(path, -1) });
  const result = await runner.get(runId);
  assert.equal(result.status, "completed");
  assert.deepEqual(result.state.log, LOG);
  assert.deepEqual(result.path, PATH);
  const own = lines.filter((line) => line.key.includes(`/run=${runId}/`));
  const effects = new Set(own.filter((line) => line.kind === "effect").map((line) => line.key));
  assert.deepEqual([...effects].sort(), effectsOf(runId));

  const generations = new Map(lines.filter((l) => l.kind === "owner").map((l) => [l.key, l.generation]));
  let step = 0;
  let owner: string | undefined;
  for (const entry of (await runner.history(runId, { limit: 1_000 })).rows) {
    owner = entry.owner ?? owner;
    const generation = generations.get(owner ?? "");
    assert.ok(
      generation !== undefined,
      `revision ${entry.revision} of ${runId} has the unknown owner ${owner}`,
    );
    for (const event of entry.events) {
      if (event.type === "done" || event.type === "once") {
        const item = event.item === undefined ? "" : `/item=${event.item}`;
        const once = event.type === "once" ? `/once=${event.name}` : "";
        const key = `graph=errand/run=${runId}/step=${step}/vertex=${event.vertexId}${item}${once}`;
        const again: readonly Line[] = own.filter((l) => l.key === key && l.generation > generation);
        assert.deepEqual(again, [], `recorded at revision ${entry.revision} by process ${generation}`);
      }
      if (event.type === "routed") step++;
    }
  }
}
