// Runs on deno by default: the commands are the same everywhere; they run as processes on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Shell } from "../cli/shell.ts";

/** The folders with the versions of the workflow `order`. */
const FLOWS = fileURLToPath(new URL("./flows/", import.meta.url));
const v1 = `${FLOWS}v1`;
const v2 = `${FLOWS}v2`;
const v3 = `${FLOWS}v3`;

const jsonLines = (text: string) => text.trim().split("\n").map((row) => JSON.parse(row));

/** Starts an order that waits; answers the id of the wait. */
async function waiting(shell: Shell, source: string, runId: string): Promise<string> {
  const ran = await shell.run("run", source, "--json", "--run-id", runId, "-i", '{"item":"tea"}');
  assert.equal(ran.code, 2, ran.err);
  return JSON.parse(ran.out).waits[0].waitId;
}

test("migrate --dry-run says what would become of every open run and ends with 1 when one is refused; --apply moves those that wait (V4)", () =>
  Shell.with(async (shell) => {
    const mailed = await waiting(shell, v1, "r1");
    await waiting(shell, v2, "r2");
    const plain = await shell.run("migrate", v2, "--dry-run");
    assert.equal(plain.code, 1);
    assert.match(
      plain.out,
      /^r1 +order +\w{8}:1 +\w{8}:2 +awaiting an answer +refused +vertex send was added; it fits/m,
    );
    assert.match(plain.out, /^1 loads, 1 is refused$/m);
    const adopting = await shell.run("migrate", v2, "--adopt", "--dry-run", "--json");
    assert.equal(adopting.code, 0);
    assert.deepEqual(
      jsonLines(adopting.out).map(({ runId, verdict, moved }) => [runId, verdict, moved]),
      [["r2", "loads", undefined], ["r1", "fits", undefined]],
    );
    assert.match(
      (await shell.run("migrate", v3, "--dry-run")).out,
      /r1 .* no migration leads from version 1 to 2/,
    );
    const both = await shell.run("migrate", v2, v3, "--dry-run");
    assert.match(both.out, /^1 loads, 1 is refused$/m, "its own version goes on with r2");
    const applied = await shell.run("migrate", v3, "--adopt", "--apply");
    assert.match(applied.out, /^2 migrate; 2 moved$/m);
    assert.equal(applied.code, 0);
    assert.match((await shell.run("migrate", v2, "--adopt", "--dry-run")).out, /2 are refused/, "never back");
    const answered = await shell.run("answer", mailed, v3, "--value", '{"by":"ann"}', "--resume", "--json");
    assert.equal(answered.code, 0, answered.err);
    assert.deepEqual(JSON.parse(answered.out).state, { items: ["tea"], by: "ann", sent: 1 });
    const neither = await shell.run("migrate", v3);
    assert.deepEqual([neither.code, neither.out], [1, ""]);
    assert.match(neither.err, /give --dry-run .*or --apply/);
  }));

test("several versions stand side by side: starts go to the newest, runs to their own, and versions says which nobody serves (V5)", () =>
  Shell.with(async (shell) => {
    const w1 = await waiting(shell, v1, "r1");
    const both = [v1, v2];
    const named = await shell.run(
      "run",
      ...both,
      "-w",
      "order@1",
      "--json",
      "--run-id",
      "r2",
      "-i",
      '{"item":"a"}',
    );
    assert.match(JSON.parse(named.out).run.graphVersion, /:1$/);
    const newest = await shell.run("run", ...both, "--json", "--run-id", "r3", "-i", '{"item":"b"}');
    assert.match(JSON.parse(newest.out).run.graphVersion, /:2$/);
    const unknown = await shell.run("run", ...both, "-w", "order@9", "-i", '{"item":"b"}');
    assert.match(unknown.err, /workflow order has no version 9; found: 1, 2/);
    const answered = await shell.run("answer", w1, FLOWS, "--value", '{"by":"a"}', "--resume", "--json");
    assert.equal(answered.code, 0, answered.err);
    assert.match(JSON.parse(answered.out).run.graphVersion, /:1$/);
    const versions = jsonLines((await shell.run("versions", v2, "--json")).out);
    assert.deepEqual(
      versions.map(({ graphVersion, open, stranded, servedBy, isHere }) => [
        graphVersion.slice(-2),
        open,
        stranded,
        servedBy,
        isHere,
      ]),
      [[":1", 1, 1, [], false], [":2", 1, 1, [], true]],
    );
    assert.match((await shell.run("versions")).out, /^order +\w{8}:1 +1 +nobody +1: r2$/m);
  }));
