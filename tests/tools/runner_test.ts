// Runs on deno by default: it starts the test command, which runs its files on all three runtimes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, watch } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { ROOT } from "../support/paths.ts";
import { executable, HOST, RUNTIMES } from "../support/runtimes.ts";

/** The test command on files of `fixtures`, as it is on a machine where all is prepared. */
function testCommand(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const prepared = Object.fromEntries(
    RUNTIMES.map((name) => [`SUPERSTEP_${name.toUpperCase()}`, executable(name)]),
  );
  const script = join(ROOT, "tests", "tools", "test.mjs");
  const child = spawn(executable(HOST), [...HOST === "deno" ? ["run", "-A"] : [], script, ...args], {
    env: { ...process.env, ...prepared, SUPERSTEP_TEST_EFFORT: "short", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => printed += text);
  const end = new Promise<{ code: number | null; printed: string; last: string[] }>((resolve) => {
    child.on("close", (code) => resolve({ code, printed, last: printed.trimEnd().split("\n").slice(-4) }));
  });
  return { child, end };
}

function fixtures(...names: readonly string[]): string[] {
  return names.map((name) => `tests/tools/fixtures/${name}.ts`);
}

test("a test that hangs has failed under its own name, a crash costs its own file, and all that ran is counted (FT-F14, FT-G14)", async () => {
  const { code, printed, last } = await testCommand([
    "--limit",
    "10",
    ...fixtures("hangs", "crashes", "cannot_load", "passes"),
  ]).end;
  assert.equal(code, 1);
  assert.deepEqual(last, [
    "deno: 4 passed, 3 failed, 1 skipped",
    "bun: 5 passed, 3 failed, 1 skipped", // Bun goes on after a test that hangs
    "node: 4 passed, 3 failed, 1 skipped",
    "13 passed, 9 failed",
  ], printed);
  const failed = printed.slice(printed.lastIndexOf("\nfailed:\n"));
  for (const name of RUNTIMES) {
    assert.match(failed, new RegExp(`^ {2}${name}: .*this one never ends`, "m"));
    assert.match(
      failed,
      new RegExp(`^ {2}${name}: .*crashes.*(this one ends the process|after one passes before)`, "m"),
    );
  }
});

test("a run that is stopped counts what ran, also of the files at work (FT-F14)", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "superstep-runner-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const mark = join(folder, "at-work");
  const { child, end } = testCommand(["--only", "deno", ...fixtures("passes", "hangs")], { MARK: mark });
  await new Promise<void>((resolve) => {
    const watcher = watch(folder, () => {
      if (!existsSync(mark)) return;
      watcher.close();
      resolve();
    });
  });
  child.kill("SIGTERM");
  const { code, last } = await end;
  assert.notEqual(code, 0);
  assert.deepEqual(last.slice(-2), ["deno: 3 passed, 1 failed, 1 skipped", "3 passed, 1 failed"]);
});

test("a failure that Bun tells again at its end is listed once (FT-F14)", async () => {
  const { RunnerLines } = await import(pathToFileURL(join(ROOT, "tests", "tools", "lines.mjs")).href);
  const lines = new RunnerLines("bun", ["tests/a_test.ts", "tests/b_test.ts"]);
  lines.take(
    "tests/a_test.ts:\n(fail) one [1.00ms]\n(pass) two [1.00ms]\n\ntests/b_test.ts:\n(pass) three\n\n",
  );
  lines.take(
    "1 tests failed:\n(fail) one [1.00ms]\n\n 2 pass\n 1 fail\nRan 3 tests across 2 files. [9.00ms]\n",
  );
  assert.deepEqual(lines.failures, ["tests/a_test.ts: one"]);
  assert.deepEqual(lines.totals, { passed: 2, failed: 1, skipped: 0 });
});

test("a test that Deno calls slow in the middle of its line is counted under its file (FT-F14)", async () => {
  // It is no part of what is built for Node.
  const { RunnerLines } = await import(pathToFileURL(join(ROOT, "tests", "tools", "lines.mjs")).href);
  const lines = new RunnerLines("deno", ["tests/a_test.ts", "tests/b_test.ts"]);
  lines.take("1 tests in tests/a_test.ts\n1 tests in tests/b_test.ts\nrunning 2 tests from ./together.mjs\n");
  lines.take("quick ... ok (1ms)\nslow ...");
  lines.take("'slow' has been running for over (1m0s)\n");
  assert.equal(lines.pending, "slow");
  lines.take(" ok (1m11s)\n\nok | 2 passed | 0 failed (1m12s)\n");
  assert.deepEqual([...lines.ran], ["tests/a_test.ts", "tests/b_test.ts"]);
  assert.deepEqual([lines.totals.passed, lines.last, lines.pending], [2, "slow", undefined]);
});
