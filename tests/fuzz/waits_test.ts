// Runs on deno by default: the random runs find faults of the engine, which no runtime decides.
import { test } from "node:test";
import { seedsOf } from "./chance.ts";
import { wait } from "./waiting_runs.ts";
import { effort } from "../support/effort.ts";

test("random bodies of waits, answered from elsewhere while processes die, see each result once and in one order (T1, T2, I1, I2, E13)", async () => {
  for (const seed of seedsOf(effort(8, 500))) await wait(seed);
});
