// Runs on deno by default: the random runs find faults of the engine, which no runtime decides.
import { test } from "node:test";
import { seedsOf } from "./chance.ts";
import { harm, type Target, victim } from "./damage.ts";
import { effort } from "../support/effort.ts";

for (const target of ["records", "mailbox", "parts"] as const satisfies readonly Target[]) {
  test(`${target} with damaged bytes are refused with typed errors; nothing runs and nothing is written (C4)`, async () => {
    const run = await victim();
    for (const seed of seedsOf(effort(50, 1000))) await harm(run, target, seed);
  });
}
