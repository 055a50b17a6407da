// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../support/stores.ts";
import { run } from "./processes.ts";

const PROGRAM = "examples/approval.ts";

test("approval by hand: start, waits, answer, resume and history, each in a process of its own", async (t) => {
  const folder = await temporaryFolder();
  t.after(() => folder.remove());
  const question = join(folder.path, "my question.json");
  await writeFile(
    question,
    JSON.stringify({ customer: "kim@example.com", question: "Is there a discount?" }),
  );
  const approval = (...args: string[]) => run(PROGRAM, [...args, "--db", join(folder.path, "a.db")]);

  const started = await approval("start", question, "--id", "by-hand");
  assert.deepEqual(started.errors, []);
  assert.equal(started.end, 2, "it waits");
  assert.equal(started.lines.at(-1), "run by-hand is awaiting: draft → legal → price");

  const [first = ""] = (await approval("waits")).lines;
  const waitId = first.split(" ", 1)[0]!;
  assert.match(first, /verdict, asked by review of run by-hand/);

  const refused = await approval("answer", waitId, '{"verdict":"perhaps"}');
  assert.equal(refused.end, 1);
  assert.equal(refused.errors.length, 1, "one clear line");
  assert.equal((await approval("answer", waitId, '{"verdict":"approve"}')).end, 0);
  assert.equal((await approval("answer", waitId, '{"verdict":"approve"}')).end, 1, "it is no longer open");

  const resumed = await approval("resume", "by-hand");
  assert.deepEqual([resumed.end, resumed.errors], [0, []]);
  assert.equal(
    resumed.lines.at(-1),
    "run by-hand is completed: draft → legal → price → review → send",
  );
  const history = await approval("history", "by-hand");
  assert.match(history.lines[0]!, /^ +0 .* created, begins at draft$/);
  assert.equal(history.lines.filter((line) => line.includes("send did mail once")).length, 1);
  assert.equal(history.lines.at(-1), "completed: draft → legal → price → review → send");
});

test("approval by hand: what cannot be done is told in one line, and the exit code is 1", async (t) => {
  const folder = await temporaryFolder();
  t.after(() => folder.remove());
  const db = ["--db", join(folder.path, "a.db")];
  const notJson = join(folder.path, "not.json");
  await writeFile(notJson, "{");
  const cases: readonly (readonly [args: readonly string[], said: RegExp])[] = [
    [[], /^usage: approval start/],
    [["dance", "r"], /^usage: approval start/],
    [["start", join(folder.path, "none.json")], /none\.json/],
    [["start", notJson], /JSON/],
    [["answer", "w0", "{}"], /no wait w0 is open/],
    [["resume", "nobody"], /nobody/],
    [["history", "nobody"], /nobody/],
    [["waits", "--colour"], /--colour/],
  ];
  for (const [args, said] of cases) {
    const { end, errors, lines } = await run(PROGRAM, [...args, ...db]);
    assert.deepEqual([end, lines], [1, []], args.join(" "));
    assert.match(errors[0]!, said);
    assert.equal(errors.length, 1, errors.join("\n"));
  }
});
