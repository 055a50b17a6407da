import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "./paths.ts";

/**
 * Fails unless the text is that of a file of the repository. Where `UPDATE_SNAPSHOTS` is set, a file that differs is
 * written anew, which is reported. Nothing is written under CI.
 */
export function matchesSnapshot(
  path: string,
  actual: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
  root = ROOT,
): void {
  const update = Boolean(env.UPDATE_SNAPSHOTS);
  if (update && env.CI) {
    throw new Error("UPDATE_SNAPSHOTS is set under CI, where snapshots are compared alone");
  }
  const file = join(root, path);
  if (update && readFileSync(file, "utf8") !== actual) {
    writeFileSync(file, actual);
    console.log(`UPDATE_SNAPSHOTS: ${path} is written anew; look at the difference before you commit it`);
  }
  assert.equal(actual, readFileSync(file, "utf8"), "meant so? Run this test once with UPDATE_SNAPSHOTS=1");
}
