// Runs on deno by default: the random runs find faults of the engine, which no runtime decides.
import { test } from "node:test";
import { seedsOf } from "./chance.ts";
import { disturb } from "./interrupted_runs.ts";
import { effort } from "../support/effort.ts";

test("random workflows whose processes die and whose calls are aborted end as if nothing had happened (E4, E8, E9, E11, O1, O2)", async () => {
  for (const seed of seedsOf(effort(40, 800))) await disturb(seed);
});
