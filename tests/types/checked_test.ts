// Runs on deno by default: the compiler is the same everywhere.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "../support/paths.ts";
import { executable } from "../support/runtimes.ts";

// Tests run without type checks. What the files of this folder show, the compiler has to say: Deno keeps its answer
// until one of the files changes.
test("the type tests hold: each line that is marked to be an error is one, and no other (FT-G13, D4)", async () => {
  const files = readdirSync(join(ROOT, "tests", "types")).map((name) => join(ROOT, "tests", "types", name));
  const complaints = await promisify(execFile)(executable("deno"), ["check", "--quiet", ...files], {
    cwd: ROOT,
    env: { ...process.env, NO_COLOR: "1" },
    maxBuffer: 1 << 26,
  }).then(() => "", (error: { readonly stderr: string }) => error.stderr);
  assert.equal(complaints, "");
});
