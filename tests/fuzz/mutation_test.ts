// Runs on deno by default: the random runs find faults of the engine, which no runtime decides.
import { test } from "node:test";
import { seedsOf } from "./chance.ts";
import { mutate } from "./mutation.ts";
import { effort } from "../support/effort.ts";

test("records and mailboxes with one value changed are refused with typed errors, or taken to an end (C4)", async () => {
  for (const seed of seedsOf(effort(40, 800))) await mutate(seed);
});
