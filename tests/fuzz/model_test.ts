// Runs on deno by default: the random runs find faults of the engine, which no runtime decides.
import { test } from "node:test";
import { seedsOf } from "./chance.ts";
import { compare } from "./compare.ts";
import { effort } from "../support/effort.ts";

for (const concurrency of [1, 2, 64]) {
  for (const checkpointEvery of ["step", "vertex"] as const) {
    test(`random workflows do what the model says, ${concurrency} at once, checkpoints every ${checkpointEvery} (E3, E5-E9, D5-D7)`, async () => {
      for (const seed of seedsOf(effort(15, 300))) await compare(seed, concurrency, checkpointEvery);
    });
  }
}
