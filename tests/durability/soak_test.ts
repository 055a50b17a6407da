import assert from "node:assert/strict";
import { test } from "node:test";
import { soak } from "../soak/run.ts";
import { HOST } from "../support/runtimes.ts";

test(
  "W1, O1, O2: runs that workers share while they are killed and replaced all end as they should, and nothing is lost, done under two keys, or left behind",
  {
    timeout: 120_000,
  },
  async () => {
    const figures = await soak({
      runtime: HOST,
      workers: 2,
      runs: 28,
      forMs: 2_500,
      settleMs: 60_000,
      speed: 15,
      longestNapMs: 45_000,
      seed: 5,
    });
    assert.deepEqual(figures.filter(({ ok }) => !ok), []);
  },
);
