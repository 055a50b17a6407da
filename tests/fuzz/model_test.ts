import { test } from "node:test";
import { seedsOf } from "./chance.ts";
import { compare } from "./compare.ts";

for (const concurrency of [1, 2, 64]) {
  for (const checkpointEvery of ["step", "vertex"] as const) {
    test(`E3, E5-E9, D5-D7: random workflows do what the model says, ${concurrency} at once, checkpoints every ${checkpointEvery}`, async () => {
      for (const seed of seedsOf(45)) await compare(seed, concurrency, checkpointEvery);
    });
  }
}
