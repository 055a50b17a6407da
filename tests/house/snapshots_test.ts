// Runs on deno by default: no runtime decides what a file holds.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { matchesSnapshot } from "../support/snapshots.ts";

test("a snapshot that differs fails, is written anew when that is asked for, and never under CI (FT-G17)", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "superstep-snapshots-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const kept = () => readFileSync(join(folder, "kept"), "utf8");
  writeFileSync(join(folder, "kept"), "old");
  matchesSnapshot("kept", "old", {}, folder);
  assert.throws(() => matchesSnapshot("kept", "new", {}, folder), /UPDATE_SNAPSHOTS=1/);
  assert.throws(
    () => matchesSnapshot("kept", "new", { UPDATE_SNAPSHOTS: "1", CI: "true" }, folder),
    /UPDATE_SNAPSHOTS is set under CI/,
  );
  assert.equal(kept(), "old");
  matchesSnapshot("kept", "new", { UPDATE_SNAPSHOTS: "1" }, folder);
  assert.equal(kept(), "new");
});
