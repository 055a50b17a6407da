import { test } from "node:test";
import { seedsOf } from "./chance.ts";
import { wait } from "./waiting_runs.ts";

test("T1, T2, I1, I2, E13: random bodies of waits, answered from elsewhere while processes die, see each result once and in one order", async () => {
  for (const seed of seedsOf(50)) await wait(seed);
});
