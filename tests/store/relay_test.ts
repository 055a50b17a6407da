// Runs on deno by default: it starts processes on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RuntimeName } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";
import { run } from "./ended.ts";

test("what one runtime wrote the others read and go on with, in every order of two (S3)", async () => {
  const folder = await temporaryFolder();
  try {
    const turns: readonly RuntimeName[] = ["deno", "bun", "node", "deno", "node", "bun", "deno"];
    for (const [turn, runtime] of turns.entries()) {
      const { code, output } = await run(runtime, "tests/store/relay.ts", [
        `${folder.path}/store.db`,
        String(turn),
      ]);
      assert.equal(code, 0, `turn ${turn} on ${runtime}: ${output}`);
    }
  } finally {
    await folder.remove();
  }
});
