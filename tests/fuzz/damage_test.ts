import { test } from "node:test";
import { seedsOf } from "./chance.ts";
import { harm, type Target, victim } from "./damage.ts";

for (const target of ["records", "mailbox", "parts"] as const satisfies readonly Target[]) {
  test(`C4: ${target} with damaged bytes are refused with typed errors; nothing runs and nothing is written`, async () => {
    const run = await victim();
    for (const seed of seedsOf(250)) await harm(run, target, seed);
  });
}
