// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { LedgerEntry } from "../../examples/support/ledger.ts";
import { temporaryFolder } from "../support/stores.ts";
import { run } from "./processes.ts";

test("the demo lives a run through many processes, one killed while it drafts (FC-01, FC-03)", async (t) => {
  const folder = await temporaryFolder();
  t.after(() => folder.remove());
  const { end, lines, errors } = await run("examples/demo.ts", [], { env: { TMPDIR: folder.path } });
  assert.deepEqual(errors, []);
  assert.equal(end, 0, lines.join("\n"));
  const said = lines.join("\n");
  assert.equal(said.match(/└ killed with SIGKILL/g)?.length, 1);
  assert.match(said, /taken over from a dead process/);
  assert.match(said, /another process owns the run/, "nobody told it that the owner was dead");
  assert.match(
    said,
    /completed: draft → legal → price → review → draft → legal → price → review → send$/m,
  );
  assert.match(said, /completed: draft → ticket → send$/m);
  assert.equal(lines.at(-1), "No finished vertex ran twice.");

  const [first = ""] = lines;
  const ledger = await readFile(`${first.replace(/^.* is in /, "")}-ledger.jsonl`, "utf8");
  const entries = ledger.trimEnd().split("\n").map((line) => JSON.parse(line) as LedgerEntry);
  const of = (event: string) => entries.filter((entry) => entry.event === event);
  for (const finish of of("finished")) {
    const after = entries.slice(entries.indexOf(finish) + 1);
    assert.deepEqual(after.filter((entry) => entry.execution === finish.execution), [], finish.vertex);
  }
  assert.deepEqual([of("mail").length, of("ticket").length], [2, 1]);
  const effects = [...of("mail"), ...of("ticket")].map((entry) => entry.key);
  assert.equal(new Set(effects).size, effects.length);
  const drafts = of("started").filter((entry) => entry.vertex === "draft");
  const processes = [...new Set(drafts.map((draft) => draft.execution))].map((execution) =>
    new Set(drafts.filter((draft) => draft.execution === execution).map((draft) => draft.pid)).size
  );
  assert.deepEqual(processes.sort(), [1, 1, 2], "the second draft was killed, and drafted again elsewhere");
  for (const [vertex, executions] of [["draft", 3], ["review", 2], ["ticket", 1], ["send", 2]] as const) {
    assert.match(said, new RegExp(`^  ${vertex} +× ${executions} `, "m"));
  }
});
