// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { soak, type SoakPlan } from "../soak/run.ts";
import { effort } from "../support/effort.ts";
import { HOST } from "../support/runtimes.ts";

const KILLED =
  "runs that workers share while they are killed and replaced all end as they should, and nothing is lost, done under two keys, or left behind, while clocks are set by an hour (W1, O1, O2)";
const DEPLOYED =
  "a rolling deploy of three versions with migrations, while workers are killed: nothing is lost, refused, taken back, or done under two keys, and no wait gets another id (V3, V5)";
const BOTH =
  "runs that workers share while they are killed and replaced by workers with newer versions all end as they should: nothing is lost, refused, taken back, or done under two keys, while clocks are set by an hour (W1, O1, O2, V3, V5)";

/** As `deno task soak` does it, on one runtime where the effort is long. */
const PLAN: SoakPlan = {
  runtimes: [HOST],
  workers: 2,
  runs: 28,
  forMs: 2_500,
  settleMs: 60_000,
  speed: 15,
  stepsEveryMs: 700,
  longestNapMs: 45_000,
  seed: 5,
  ...(HOST === "deno"
    ? effort({}, { workers: 4, runs: 500, forMs: 60_000, settleMs: 180_000, speed: 1, longestNapMs: 60_000 })
    : {}),
};

// What is short shows both at once.
const plans: readonly [title: string, plan: SoakPlan][] = effort([[BOTH, { ...PLAN, versions: 3 }]], [
  [KILLED, PLAN],
  [DEPLOYED, { ...PLAN, versions: 3, seed: 7 }],
]);

for (const [title, plan] of plans) {
  test(title, { timeout: effort(120_000, 600_000) }, async () => {
    const figures = await soak(plan);
    assert.deepEqual(figures.filter(({ ok }) => !ok), []);
  });
}
