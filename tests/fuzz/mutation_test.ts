import { test } from "node:test";
import { seedsOf } from "./chance.ts";
import { mutate } from "./mutation.ts";

test("C4: records and mailboxes with one value changed are refused with typed errors, or taken to an end", async () => {
  for (const seed of seedsOf(80)) await mutate(seed);
});
