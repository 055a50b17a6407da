// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { effort } from "../../support/effort.ts";
import { seedsOf } from "../chance.ts";
import { compareFrontiers, compareJoins } from "./compare.ts";

test("random graphs with cycles and several joins run as the sentence on joins says, under any names (D6, E6, E7, FT-D1)", async () => {
  const seeds = seedsOf(effort(60, 2_000));
  const ends = new Set<string>();
  for (const seed of seeds) ends.add((await compareJoins(seed, effort(2, 3))).end);
  if (seeds.length > 100) {
    assert.deepEqual([...ends].sort(), ["completed", "halted dead_end", "halted max_steps"]);
  }
});

test("whatever edges are taken and have arrived, the same joins run under any names and in any order (D6)", () => {
  for (const seed of seedsOf(effort(80, 2_000))) compareFrontiers(seed, effort(4, 10));
});
