// Runs on deno by default: the commands are the same everywhere; they run as processes on all three.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fromJson } from "../../src/model/json.ts";
import { DESK, fixture, runMain, Shell } from "./shell.ts";

type Document = Readonly<Record<string, unknown>>;

const input = (fields: object) => JSON.stringify({ title: "T", ...fields });
const lines = (text: string) =>
  text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Document);

test("a run waits with code 2, is answered and resumed, and completes with code 0 (W4)", () =>
  Shell.with(async (shell) => {
    const begun = await shell.run("run", DESK, "-i", input({ pages: ["a", "bb"] }), "--run-id", "r1");
    assert.equal(begun.code, 2);
    assert.match(begun.out, /^r1 {2}awaiting an answer {2}desk, step 2, revision \d+/);
    assert.match(begun.out, /^draft → check → pages$/m);
    const [, waitId = ""] = /review waits for verdict: (w[0-9a-f]{32})/.exec(begun.out) ?? [];
    assert.match(begun.out, new RegExp(`answer with: superstep answer ${waitId} .*desk\\.[tj]s --db `));

    const answered = await shell.run("answer", waitId, DESK, "--value", '{"verdict":"approve","score":9}');
    assert.equal(answered.code, 0);
    assert.match(answered.out, /^accepted; a worker takes it up, or go on with: superstep resume r1 .*desk/);

    const done = await shell.run("resume", "r1", DESK);
    assert.equal(done.code, 0);
    assert.match(done.out, /^r1 {2}completed/);
    assert.match(done.out, /"score": 9/);
    assert.doesNotMatch(done.err, /draft/, "what is done is not done again");
    assert.match(done.err, /✔ review .*\n▶ send\n✔ send/);
  }));

test("the exit code tells errored and halted runs as 3, cancelled ones as 4, sleeping ones as 2 (W4)", () =>
  Shell.with(async (shell) => {
    const errored = await shell.run("run", DESK, "-i", input({ broken: true }));
    assert.equal(errored.code, 3);
    assert.match(errored.out, /✘ draft failed after 1 attempt: FatalError: the pen is broken/);
    const halted = await shell.run("run", DESK, "-i", input({ lost: true }));
    assert.equal(halted.code, 3);
    assert.match(halted.out, /✘ halted \(condition\): nobody knows where to/);
    const sleeping = await shell.run("run", DESK, "-i", input({ sleep: 3_600_000 }));
    assert.equal(sleeping.code, 2);
    assert.match(sleeping.out, /sleeping[^]*⏸ draft sleeps until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(dry\)/);
    const due = await shell.run("run", DESK, "-i", input({}), "--deadline", "2001-01-01T00:00:00Z");
    assert.equal(due.code, 4);
    assert.match(due.out, /cancelled[^]*because: deadline/);
  }));

test("--json prints one document, with what keeps the run, and nothing else (W4)", () =>
  Shell.with(async (shell) => {
    const waiting = await shell.run("run", DESK, "-i", input({}), "--run-id", "r1", "--json");
    assert.equal(waiting.err, "");
    const { waits, ...rest } = JSON.parse(waiting.out);
    assert.deepEqual([rest.runId, rest.status, rest.reason, rest.run.graphId], [
      "r1",
      "interrupted",
      "awaiting",
      "desk",
    ]);
    assert.deepEqual([waits.length, waits[0].name, waits[0].info], [1, "verdict", { text: "T!" }]);

    const failed = JSON.parse((await shell.run("run", DESK, "-i", input({ broken: true }), "--json")).out);
    assert.deepEqual(failed.failures.map((f: Document) => f["vertexId"]), ["draft"]);
    assert.equal(
      failed.failures[0].failure.message,
      "the pen\u001b[31m is\nbroken",
      "machines get it as it is",
    );

    const halted = JSON.parse((await shell.run("run", DESK, "-i", input({ lost: true }), "--json")).out);
    assert.deepEqual(halted.halt, {
      kind: "condition",
      step: 2,
      message: "nobody knows where to",
      vertexId: "review",
    });
  }));

test("bigint, Map and Date go in and come out of JSON without a loss (W4)", () =>
  Shell.with(async (shell) => {
    const given = {
      due: { $date: "2026-11-29T12:00:00.000Z" },
      big: { $bigint: "123456789012345678901234567890" },
      labels: { $map: [["a", 1], ["b", { $number: "Infinity" }]] },
      extra: { $plain: { $date: "no date" } },
    };
    await shell.run("run", DESK, "--run-id", "r1", "-i", input({ ...given, labels: { $map: [["a", 1]] } }));
    const { state } = JSON.parse((await shell.run("get", "r1", "--json")).out);
    assert.deepEqual([state.due, state.big, state.labels, state.extra], [
      given.due,
      given.big,
      { $map: [["a", 1]] },
      given.extra,
    ]);
    const read = fromJson(state, "the state") as Document;
    assert.deepEqual(read["due"], new Date("2026-11-29T12:00:00.000Z"));
    assert.deepEqual(read["labels"], new Map([["a", 1]]));
    assert.deepEqual(read["extra"], { $date: "no date" });
  }));

test("the input comes from an argument, from a file, or from the standard input (W4)", () =>
  Shell.with(async (shell) => {
    const file = join(shell.folder, "input.json");
    await writeFile(file, input({ lost: true }));
    assert.equal((await shell.run("run", DESK, "--input", `@${file}`)).code, 3);
    assert.equal((await shell.runIn({ stdin: input({ lost: true }) }, "run", DESK, "--input", "-")).code, 3);
    assert.equal((await shell.run("run", DESK, "-i", input({ lost: true }))).code, 3);
  }));

test("runs with one key and one input are one run; another input is refused by name (E1)", () =>
  Shell.with(async (shell) => {
    const first = JSON.parse((await shell.run("run", DESK, "-i", input({}), "--key", "k", "--json")).out);
    const second = JSON.parse((await shell.run("run", DESK, "-i", input({}), "--key", "k", "--json")).out);
    assert.equal(second.runId, first.runId);
    const other = await shell.run("run", DESK, "-i", input({ title: "other" }), "--key", "k");
    assert.equal(other.code, 1);
    assert.match(other.err, new RegExp(`^superstep: run ${first.runId} exists already with another input`));
  }));

test("list and waits need no code, filter, and print a row of JSON each (W4)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1");
    await shell.run(
      "run",
      DESK,
      "-i",
      input({ lost: true }),
      "--run-id",
      "r2",
      "--tag",
      "red",
      "--tag",
      "blue",
    );
    const ids = async (...argv: readonly string[]) =>
      lines((await shell.run("list", ...argv, "--json")).out).map((row) => row["runId"]);
    assert.deepEqual(await ids(), ["r2", "r1"]);
    assert.deepEqual(await ids("--reason", "awaiting"), ["r1"]);
    assert.deepEqual(await ids("--status", "completed"), []);
    assert.deepEqual(await ids("--tag", "red"), ["r2"]);
    assert.deepEqual(await ids("--limit", "1"), ["r2"]);
    assert.deepEqual(await ids("--workflow", "other"), []);
    assert.deepEqual(await ids(DESK), ["r2", "r1"]);

    const table = await shell.run("list");
    assert.match(
      table.out,
      /^RUN +WORKFLOW +STATUS +STEP +WAITS +CREATED +TAGS\nr2 +desk +halted +2 +0 .* blue red\nr1 +desk +awaiting an answer/,
    );
    const cut = await shell.run("list", "-n", "1");
    assert.equal(cut.out.trim().split("\n").length, 2);
    assert.match(cut.err, /there are more/);

    const waits = lines((await shell.run("waits", "--json")).out);
    assert.deepEqual(waits.map((w) => [w["runId"], w["name"], w["vertexId"]]), [["r1", "verdict", "review"]]);
    assert.equal((waits[0]!["schema"] as Document)["type"], "object");
    assert.match(
      (await shell.run("waits", "--name", "verdict")).out,
      /^WAIT +NAME .*\nw[0-9a-f]{32} +verdict +review +r1 +desk .*\{"text":"T!"\}/,
    );
    assert.equal((await shell.run("waits", "--name", "other", "--json")).out, "");
    assert.deepEqual(await shell.run("waits", "--run", "r2"), { code: 0, out: "", err: "no open waits\n" });
  }));

test("get shows a run with and without its code; --exit-status ends with the code of its status (W4)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1", { pages: ["abc"] });
    const plain = await shell.run("get", "r1");
    assert.equal(plain.code, 0);
    assert.match(
      plain.out,
      /^run +r1\nworkflow +desk [0-9a-f]{8}:1\nstatus +awaiting an answer\nstep +2, revision \d+\n/,
    );
    assert.match(plain.out, /^path +draft → check → pages$/m);
    assert.match(plain.out, /"read": \[\n +3\n +\]/);
    const bare = JSON.parse((await shell.run("get", "r1", "--json")).out);
    const full = JSON.parse((await shell.run("get", "r1", DESK, "--json")).out);
    assert.deepEqual(full, bare);
    assert.equal((await shell.run("get", "r1", "--exit-status", "--json")).code, 2);
  }));

test("the history is a timeline of records with attempts, durations and bytes (H1)", () =>
  Shell.with(async (shell) => {
    await shell.run(
      "run",
      DESK,
      "-i",
      input({ pages: ["a", "b", "c", "d", "e"], flaky: 1 }),
      "--run-id",
      "r1",
    );
    const { out, code } = await shell.run("history", "r1");
    assert.equal(code, 0);
    assert.match(
      out,
      /^ +REV +TIME +STEP +BYTES +WHAT\n\d{4}-\d\d-\d\d\n +0 +\d\d:\d\d:\d\d\.\d{3} +0 +[\d.]+ K?i?B +created, owner/,
    );
    assert.match(
      out,
      /↻ draft × 1: Error: no ink at attempt 1, at (Draft\.)?execute \(.*desk\.[jt]s:\d+:\d+\); again after \d+ ms/,
    );
    assert.match(out, /✔ draft × 2 {2}\d+ ms/);
    assert.match(out, /pages has 5 items\n/);
    assert.match(out, /✔ pages: 5 items, \d+ ms to \d+ ms\n/);
    assert.match(out, /draft → pages, draft → check/);
    assert.match(out, /⏸ review waits for verdict w[0-9a-f]{32}/);
    assert.match(out, /let go, awaiting\nawaiting an answer {2}\d records, [\d.]+ KiB, \d+ ms\n$/);

    const all = lines((await shell.run("history", "r1", "--json")).out);
    assert.deepEqual(all.map((entry) => entry["revision"]), all.map((_, i) => i));
    const some = lines((await shell.run("history", "r1", "--json", "--from", "1", "-n", "2")).out);
    assert.deepEqual(some, all.slice(1, 3));
    assert.deepEqual(await shell.run("history", "r1", "--from", "99"), {
      code: 0,
      out: "",
      err: "no such records\n",
    });
  }));

test("graph prints Mermaid, JSON or SVG, with the status of a run (H1)", () =>
  Shell.with(async (shell) => {
    const plain = await shell.run("graph", DESK);
    assert.match(plain.out, /^flowchart TD\n/);
    assert.doesNotMatch(plain.out, /class v/);
    assert.equal(JSON.parse((await shell.run("graph", DESK, "--json")).out).id, "desk");

    await shell.waiting("r1");
    assert.match((await shell.run("graph", DESK, "--run", "r1")).out, /class v\d suspended/);
    const file = join(shell.folder, "graph.svg");
    assert.equal((await shell.run("graph", DESK, "--svg", file, "--run", "r1")).code, 0);
    assert.match(await readFile(file, "utf8"), /^<svg [^]*suspended[^]*<\/svg>\s*$/);
    assert.match((await shell.run("graph", DESK, "--svg", "-")).out, /^<svg [^]*<\/svg>\n$/);
  }));

test("resume answers the one open wait, several by id, or all with one value (I3)", () =>
  Shell.with(async (shell) => {
    const value = '{"verdict":"approve","score":1}';
    await shell.waiting("r1");
    assert.equal((await shell.run("resume", "r1", DESK, "--value", value)).code, 0);
    const waitId = await shell.waiting("r2");
    assert.equal((await shell.run("resume", "r2", DESK, "--answers", `{"${waitId}":${value}}`)).code, 0);
    await shell.waiting("r3");
    assert.equal((await shell.run("resume", DESK, "r3", "--value", value, "--all")).code, 0, "in any order");
    await shell.waiting("r4");
    const twice = await shell.run("resume", "r4", DESK, "--value", '{"verdict":"refine","score":1}');
    assert.equal(twice.code, 2, "the run goes round once more");
    assert.equal((await shell.run("resume", "r4", DESK)).code, 2, "and nothing changes what it waits for");
  }));

test("--provide names the module that makes tasks; without it, tasks that take something are named (D10)", () =>
  Shell.with(async (shell) => {
    const services = fixture("services.ts");
    const bare = await shell.run("run", services, "--run-id", "r1");
    assert.equal(bare.code, 3);
    assert.match(
      bare.err,
      /^! Say takes 1 argument; give a module that makes it with --provide\n▶ say\n✘ say/,
    );
    const given = await shell.run("resume", "r1", services, "--provide", services);
    assert.equal(given.code, 0);
    assert.match(given.out, /"said": "HELLO"/);
    assert.match(given.err, /^▶ say\n/);
  }));

test("what workflows print goes to the error stream, and no control character with it (W4)", () =>
  Shell.with(async (shell) => {
    const { console } = globalThis;
    const { log } = console;
    const json = await shell.runIn(
      { console },
      "run",
      DESK,
      "--json",
      "-i",
      input({ say: "\u001b[2Jhello" }),
    );
    assert.match(json.err, /^hello\n· said something {2}.*what=.*hello/);
    assert.equal(JSON.parse(json.out).status, "interrupted");
    const plain = await shell.runIn({ console }, "run", DESK, "-i", input({ say: "hello" }));
    assert.match(plain.err, /▶ draft\nhello\n· draft {2}said "hello"\n/);
    assert.equal(console.log, log, "the console is as it was");
  }));

test("a second request to stop ends the process at once; before anything is started nothing has to be let go (W4)", () =>
  Shell.with(async (shell) => {
    const exits: number[] = [];
    let begun = false;
    const ran = await shell.runIn(
      {
        exit: (code) => void exits.push(code),
        watch: (text, send) => {
          if (text.includes("▶ draft") && !begun) {
            begun = true;
            send("SIGINT");
            send("SIGTERM");
          }
        },
      },
      "run",
      DESK,
      "-i",
      input({ hang: true }),
      "--run-id",
      "r1",
    );
    assert.deepEqual([exits, ran.code], [[143], 130]);
  }));

test("--help tells every command and the exit codes; --version the version (W4)", async () => {
  const help = await runMain(["--help"]);
  assert.equal(help.code, 0);
  for (
    const command of [
      "run",
      "resume",
      "answer",
      "waits",
      "list",
      "get",
      "history",
      "graph",
      "cancel",
      "fork",
      "update",
      "purge",
      "retain",
      "serve",
    ]
  ) {
    assert.match(help.out, new RegExp(`^  ${command} `, "m"));
    const own = await runMain([command, "--help"]);
    assert.deepEqual([own.code, own.err], [0, ""]);
    assert.match(own.out, new RegExp(`^Usage: superstep ${command} `));
  }
  assert.match(help.out, /0 completed or done, 2 awaiting or sleeping, 3 errored or halted, 4 cancelled/);
  assert.match((await runMain(["--version"])).out, /^\d+\.\d+\.\d+\n$/);
  const bare = await runMain([]);
  assert.equal(bare.code, 1);
  assert.match(bare.err, /^Usage: superstep /);
});
