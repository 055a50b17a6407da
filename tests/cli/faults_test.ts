// Runs on deno by default: the commands are the same everywhere; they run as processes on all three.
import assert from "node:assert/strict";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { DESK, fixture, type Ran, runMain, Shell } from "./shell.ts";

const INPUT = '{"title":"T"}';
const OTHER = fixture("other.ts");

/** A fault is told in one line on the error stream, with code 1 and no stack. */
function oneLine(ran: Ran, message: RegExp): void {
  assert.match(ran.err, message);
  assert.match(ran.err, /^superstep: [^\n]+\n$/, `one line, not ${ran.err}`);
  assert.doesNotMatch(ran.err, /\n\s+at |\.ts:\d|Error: /, "no stack, no name of a class");
  assert.deepEqual([ran.code, ran.out], [1, ""]);
}

test("wrong arguments are told in one line each, with code 1 (W4)", async () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["rnu"], /unknown command 'rnu' \(Did you mean run\?\)/],
    [["run"], /run needs <sources\.\.\.>, such as: superstep run flow\.ts$/m],
    [["resume"], /resume needs <run> <sources\.\.\.>, such as: superstep resume r1 flow\.ts$/m],
    [["get"], /get needs <run> \[sources\.\.\.\], such as: superstep get r1$/m],
    [["answer"], /answer needs \[wait\|run\] <sources\.\.\.>, such as: superstep answer flow\.ts$/m],
    [
      ["graph", DESK, "--svg"],
      /'--svg <file>' argument missing: write a picture to this file instead; - for/,
    ],
    [["run", DESK, "--inptu", "{}"], /unknown option '--inptu' \(Did you mean --input\?\)/],
    [["run", DESK, "--input"], /option '-i, --input <json>' argument missing/],
    [["run", DESK, "--concurrency", "0"], /argument '0' is invalid\. Give a whole number from 1/],
    [["run", DESK, "--max-steps", "-1"], /argument '-1' is invalid/],
    [["run", DESK, "--deadline", "soon"], /argument 'soon' is invalid\. Give a span such as "2h"/],
    [["run", DESK, "--checkpoint-every", "day"], /Allowed choices are vertex, step/],
    [["list", "--status", "dead"], /Allowed choices are running, completed, interrupted, cancelled/],
    [["list", "-n", "many"], /argument 'many' is invalid/],
    [["history"], /history needs <run> \[sources\.\.\.\], such as: superstep history r1$/m],
    [["history", "r1", "--from", "x"], /argument 'x' is invalid\. Give a whole number from 0/],
    [["resume", "r1"], /no source is given; name the file, folder or glob/],
    [["resume", DESK], /no run id is given/],
    [
      ["resume", "r1", "desk.tz"],
      /one run id is expected, but r1 and desk\.tz are no files or folders; check the path/,
    ],
    [["resume", "r1", DESK, "--value", "1", "--answers", "{}"], /give --value or --answers, not both/],
    [["resume", "r1", DESK, "--all"], /--all needs --value/],
    [["resume", "r1", DESK, "--answers", "[]"], /the answers are no object/],
    [["answer", "w1", "w2", "w3", DESK, "--value", "1"], /w1 and w2 and w3 are no files or folders/],
    [["answer", "w1", DESK], /no answer is given, and there is no terminal to ask on; give it with --value/],
    [["list", "--db", ""], /--db is empty/],
  ];
  for (const [argv, message] of cases) oneLine(await runMain(argv), message);
});

test("sources that hold no workflow, several, or cannot be loaded are told with what to do (W4)", () =>
  Shell.with(async (shell) => {
    const folder = dirname(DESK);
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [["./no/such.ts"], /no\/such\.ts/],
      [["no_such.ts"], /no_such\.ts/],
      [[join(shell.folder, "*.ts")], /\*\.ts/],
      [[fixture("nothing.ts")], /nothing\.[tj]s"? .*workflow/],
      [[fixture("throws.ts")], /throws\.[tj]s cannot be imported: the module/],
      [[DESK, OTHER], /2 workflows are found; name one with --workflow: desk, other/],
      [[DESK, OTHER, "--workflow", "deks"], /there is no workflow "deks"; did you mean desk\?/],
      [[DESK, "--workflow", "elephant"], /there is no workflow "elephant"; found: desk/],
      [[DESK, "--provide", "nowhere.ts"], /--provide: there is no file nowhere\.ts/],
      [[DESK, "--provide", fixture("nothing.ts")], /nothing\.[tj]s exports no function `provide`/],
      [[DESK, "--provide", fixture("throws.ts")], /throws\.[tj]s cannot be loaded: the module fails/],
    ];
    for (const [argv, message] of cases) oneLine(await shell.run("run", "-i", INPUT, ...argv), message);
    const all = await shell.run("run", "-i", INPUT, folder);
    assert.equal(all.code, 1);
    assert.match(all.err, /throws\.[tj]s/);
    await assert.rejects(stat(shell.db), "nothing was written");
  }));

test("input that is no JSON is told with its place, a refused one with the path of every issue (W4)", () =>
  Shell.with(async (shell) => {
    const file = join(shell.folder, "input.json");
    await writeFile(file, '{\n  "title": "T",\n}');
    const latin = join(shell.folder, "latin.json");
    await writeFile(latin, Uint8Array.of(0x22, 0xe9, 0x22));
    const cases: readonly (readonly [string, RegExp])[] = [
      ['{"title":', /the input is no JSON: line 1, column 10: the text ends where a value is expected/],
      [
        `@${file}`,
        /the input \(.*input\.json\) is no JSON: line 3, column 1: a key in double quotes is expected, not "}"/,
      ],
      [file, /is no JSON: line 1, column 1: .*; to read that file write @.*input\.json/],
      ["@", /the input is "@"; name the file after it/],
      ["@no/such.json", /the input cannot be read: there is no file no\/such\.json/],
      [`@${shell.folder}`, /the input cannot be read: .* is a folder/],
      [`@${latin}`, /the input is no UTF-8 text/],
      ["", /the input is empty; give JSON/],
      ['{"title":""}', /the input does not satisfy its schema: title: /],
      ['{"title":1,"pages":["a",2],"flaky":0.5}', /title: [^;]+; pages\[1\]: [^;]+; flaky: /],
      ["[]", /the input does not satisfy its schema/],
      [
        '{"title":"T","due":{"$date":"soon"}}',
        /the input: due\.\$date is "soon"; it must be an ISO 8601 time/,
      ],
    ];
    for (const [input, message] of cases) oneLine(await shell.run("run", DESK, "--input", input), message);
    oneLine(await shell.runIn({ stdin: "{" }, "run", DESK, "-i", "-"), /no JSON: line 1, column 2/);
    assert.equal((await shell.run("list")).err, "no runs\n");
  }));

test("unknown runs and waits are told by every command (W4)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1");
    const unknown = /there is no run r9 in .*runs\.db; see superstep list/;
    for (const argv of [["get"], ["history"], ["resume", DESK], ["get", DESK], ["waits", "--run"]]) {
      const [command = "", ...rest] = argv;
      const ran = await shell.run(command, ...rest, "r9");
      if (command === "waits") assert.deepEqual(ran, { code: 0, out: "", err: "no open waits\n" });
      else oneLine(ran, unknown);
    }
    oneLine(await shell.run("graph", DESK, "--run", "r9"), unknown);
    oneLine(
      await shell.run("resume", "r1", OTHER),
      /run r1 belongs to workflow desk, which .*other\.[tj]s does not hold \(found: other\)/,
    );
    oneLine(
      await shell.run("answer", "w1", DESK, "--value", "1"),
      /no wait w1 is open, and no run has that id; see superstep waits/,
    );
    oneLine(
      await shell.run("answer", "r1", "w1", DESK, "--value", "1"),
      /the answer to wait w1 of run r1 was not accepted/,
    );
    oneLine(await shell.run("answer", OTHER, "--value", "1"), /no wait of other is open/);
  }));

test("an answer that is refused is told with its reason, and changes nothing (I2)", () =>
  Shell.with(async (shell) => {
    const waitId = await shell.waiting("r1");
    const answer = (value: string) => shell.run("answer", waitId, DESK, "--value", value);
    oneLine(await answer('{"verdict":"maybe","score":11}'), /not accepted: .*verdict: [^;]+; score: /);
    oneLine(await answer("{"), /the answer is no JSON: line 1, column 2/);
    assert.equal((await answer('{"verdict":"approve","score":1}')).code, 0);
    oneLine(await answer('{"verdict":"approve","score":1}'), /no wait w[0-9a-f]+ is open/);
    oneLine(
      await shell.run("answer", "r1", waitId, DESK, "--value", '{"verdict":"approve","score":1}'),
      /another answer was accepted at revision \d+/,
    );
    assert.equal((await shell.run("resume", "r1", DESK)).code, 0);
    oneLine(
      await shell.run("resume", "r1", DESK),
      /run r1 is completed and cannot be resumed; see superstep get r1/,
    );
    oneLine(
      await shell.run("answer", "r1", DESK, "--value", "1"),
      /run r1 has no open wait; it is completed/,
    );
  }));

test("with several open waits an answer needs the id of one, and they are listed (W4)", () =>
  Shell.with(async (shell) => {
    const [first, second] = [await shell.waiting("r1"), await shell.waiting("r2")];
    const value = '{"verdict":"approve","score":1}';
    const ran = await shell.run("answer", DESK, "--value", value);
    assert.equal(ran.code, 1);
    assert.match(ran.err, /^superstep: 2 waits are open; give the id of one, see superstep waits --db /);
    assert.match(ran.err, new RegExp(`\\n {2}${first} {2}verdict of review, run r1 {2}.*\\n {2}${second} `));
    assert.equal(
      (await shell.run("answer", "r2", DESK, "--value", value)).code,
      0,
      "the one of a run is found",
    );
    assert.equal(
      (await shell.run("answer", DESK, "--value", value)).code,
      0,
      "and the only one that is left",
    );
  }));

test("a database that is missing, of another kind or a folder is told, and not written to (W4)", () =>
  Shell.with(async (shell) => {
    for (const command of [["list"], ["waits"], ["get", "r1"], ["history", "r1"], ["resume", "r1", DESK]]) {
      oneLine(
        await shell.run(...command),
        /there is no database .*runs\.db; start a run first, or name another/,
      );
    }
    const run = (db: string) => runMain(["run", DESK, "-i", INPUT, "--db", db]);
    const text = join(shell.folder, "text.db");
    await writeFile(text, "not a database ".repeat(100));
    oneLine(await run(text), /text\.db is no superstep database; name another file with --db/);
    const foreign = join(shell.folder, "foreign.db");
    await writeFile(foreign, `SQLite format 3\0${"create table customers".padEnd(4_000)}`);
    oneLine(await run(foreign), /foreign\.db is no superstep database/);
    assert.match(await readFile(text, "utf8"), /^not a database/);
    const folder = join(shell.folder, "folder.db");
    await mkdir(folder);
    oneLine(await run(folder), /the database .*folder\.db is a folder/);
    oneLine(
      await run(join(shell.folder, "no", "such.db")),
      /store open failed: .* the folder of the file does not exist/,
    );
    oneLine(await run(join(text, "x.db")), /a part of .* is no folder/);
  }));

test("under --json a fault is one line of JSON with its code (W4)", () =>
  Shell.with(async (shell) => {
    const waitId = await shell.waiting("r1");
    const error = async (...argv: readonly string[]) => {
      const { code, out, err } = await shell.run(...argv, "--json");
      assert.deepEqual([code, out, err.trimEnd().split("\n").length], [1, "", 1]);
      return JSON.parse(err).error;
    };
    assert.equal((await error("list", "--nonsense")).code, "USAGE");
    assert.match(
      (await error("graph", DESK, "--svg", "x.svg")).message,
      /it goes with neither --svg nor --run/,
    );
    assert.equal((await error("get", "r9")).code, "CHECKPOINT_NOT_FOUND");
    const refused = await error("answer", waitId, DESK, "--value", '{"verdict":"no","score":99}');
    assert.deepEqual([refused.code, refused.reason], ["ANSWER", "invalid"]);
    assert.deepEqual(refused.issues.map((i: { path: string }) => i.path), ["verdict", "score"]);
  }));

test("--debug adds where a fault comes from (W4)", async () => {
  const { err } = await runMain(["list", "--db", "no/such.db", "--debug"]);
  assert.match(err, /^superstep: there is no database no\/such\.db[^\n]*\n.*\n\s+at /);
});

test("several faults of workflows are told in a line each (W4)", () =>
  Shell.with(async (shell) => {
    const { code, err } = await shell.run("run", "./no/a.ts", "./no/b.ts");
    assert.equal(code, 1);
    assert.match(err, /^superstep: 2 faults:\n {2}- [^\n]*a\.ts[^\n]*\n {2}- [^\n]*b\.ts[^\n]*\n$/);
  }));
