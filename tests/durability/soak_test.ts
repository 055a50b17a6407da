// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { soak, type SoakPlan } from "../soak/run.ts";
import { effort } from "../support/effort.ts";
import { HOST } from "../support/runtimes.ts";

/** As `deno task soak` does it, on one runtime where the effort is long. */
const PLAN: SoakPlan = {
  runtime: HOST,
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

test(
  "runs that workers share while they are killed and replaced all end as they should, and nothing is lost, done under two keys, or left behind, while clocks are set by an hour (W1, O1, O2)",
  {
    timeout: effort(120_000, 600_000),
  },
  async () => {
    const figures = await soak(PLAN);
    assert.deepEqual(figures.filter(({ ok }) => !ok), []);
  },
);
