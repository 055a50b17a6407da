// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { Ledger } from "../../examples/support/ledger.ts";
import { temporaryFolder } from "../support/stores.ts";
import { type Ended, run, signalAfter } from "./processes.ts";

/** A folder with files, and the program at work on it. */
async function place(t: TestContext, files: Readonly<Record<string, string | Uint8Array>>) {
  const temporary = await temporaryFolder();
  t.after(() => temporary.remove());
  const folder = join(temporary.path, "a folder");
  const out = join(temporary.path, "report.md");
  const db = join(temporary.path, "state.db");
  await mkdir(folder);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return {
    folder,
    ledger: new Ledger(`${db}-ledger.jsonl`),
    report: () => readFile(out, "utf8"),
    start: (args: readonly string[] = [], options: Parameters<typeof run>[2] = {}) =>
      run("examples/folder_report.ts", [folder, "--out", out, "--db", db, ...args], options),
  };
}

function manyFiles(count: number): Record<string, string> {
  const names = Array.from({ length: count }, (_, i) => `file ${String(i).padStart(4, "0")}.txt`);
  return Object.fromEntries(names.map((name) => [name, `${name}\n`]));
}

/** The files that a process said it did this with. */
function files({ lines }: Ended, word: string): string[] {
  return lines.filter((line) => line.startsWith(`${word.padEnd(8)} `)).map((line) => line.slice(9));
}

/** The row of a file as the report should have it. */
function row(name: string, content: string | Uint8Array, lines: number | string, words: number | string) {
  const hash = createHash("sha256").update(content).digest("hex");
  return `| ${name} | ${Buffer.byteLength(content)} | ${lines} | ${words} | \`${hash}\` |`;
}

test("folder report: every file is in the table, whatever it is called and holds", async (t) => {
  const binary = Uint8Array.from({ length: 70_000 }, (_, i) => i % 256);
  const contents = {
    "data.bin": binary,
    "empty": "",
    "größe/наш файл |x|.md": "ein wort 字\n",
    "no end.txt": "a\tb\r\nc",
    "plain.txt": "one two\nthree\n",
  };
  const { folder, report, start } = await place(t, {
    ...contents,
    ".hidden/secret.txt": "no",
    "sub/node_modules/x.js": "no",
  });
  await symlink(join(folder, "nowhere"), join(folder, "dangling"));
  const { end, errors, lines } = await start();
  assert.deepEqual([end, errors], [0, []]);
  const bytes = Object.values(contents).reduce((sum, content) => sum + Buffer.byteLength(content), 0);
  assert.deepEqual((await report()).split("\n").slice(4, -1), [
    row("data.bin", binary, "binary", ""),
    row("empty", "", 0, 0),
    row("größe/наш файл \\|x\\|.md", contents["größe/наш файл |x|.md"], 1, 3),
    row("no end.txt", contents["no end.txt"], 2, 3),
    row("plain.txt", contents["plain.txt"], 2, 3),
    `| **5 files** | ${bytes} | 5 | 9 | |`,
  ]);
  assert.deepEqual(lines.slice(-4), ["vertex × executions", "list   × 1", "read   × 5", "write  × 1"]);

  const again = await start();
  assert.equal(again.end, 0);
  assert.deepEqual(files(again, "read"), []);
  assert.equal(files(again, "skipped").length, 5);
});

test("folder report: stopped with Ctrl-C it goes on, and a finished file may be gone by then", async (t) => {
  const all = Object.keys(manyFiles(60));
  const { folder, ledger, report, start } = await place(t, manyFiles(60));
  const slowly = ["--pace", "20", "--concurrency", "4"];
  const stopped = await start(slowly, { onLine: signalAfter(10, "read ", "SIGINT") });
  assert.deepEqual([stopped.end, stopped.errors], [2, ["stopped; start the program again to go on"]]);
  const finished = files(stopped, "read");
  assert.ok(finished.length >= 10 && finished.length < 60, `${finished.length} files`);
  await rm(join(folder, finished[0]!));

  const resumed = await start();
  assert.deepEqual([resumed.end, resumed.errors], [0, []]);
  assert.deepEqual(files(resumed, "skipped").sort(), finished.sort());
  assert.deepEqual([...finished, ...files(resumed, "read")].sort(), all);
  for (const name of all) assert.ok((await report()).includes(row(name, `${name}\n`, 1, 2)), name);
  assert.deepEqual(ledger.repeated(), []);
});

test("folder report: killed in the middle, the next start takes over once the lease has run out", async (t) => {
  const all = Object.keys(manyFiles(60));
  const { folder, ledger, report, start } = await place(t, manyFiles(60));
  const killed = await start(["--pace", "20", "--concurrency", "4"], {
    onLine: signalAfter(10, "read ", "SIGKILL"),
  });
  assert.equal(killed.end, "SIGKILL");
  const finished = files(killed, "read");
  await rm(join(folder, finished[0]!));

  const resumed = await start();
  assert.deepEqual([resumed.end, resumed.errors], [0, []]);
  const skipped = files(resumed, "skipped");
  assert.deepEqual(finished.filter((name) => !skipped.includes(name)), [], "what was finished is skipped");
  assert.deepEqual([...skipped, ...files(resumed, "read")].sort(), all);
  for (const name of all) assert.ok((await report()).includes(row(name, `${name}\n`, 1, 2)), name);
  assert.deepEqual(ledger.repeated(), []);
});

test("folder report: a file that is gone before its turn is a line of the report, and no fault", async (t) => {
  const { folder, report, start } = await place(t, manyFiles(8));
  const stopped = await start(["--pace", "20", "--concurrency", "1"], {
    onLine: signalAfter(2, "read ", "SIGINT"),
  });
  assert.equal(stopped.end, 2);
  await rm(join(folder, "file 0007.txt"));
  const resumed = await start();
  assert.deepEqual([resumed.end, files(resumed, "failed")], [0, ["file 0007.txt"]]);
  assert.match(await report(), /## 1 could not be read\n\n- file 0007\.txt: .*ENOENT|no such file/i);
});

test("folder report: more than a thousand files, read once each", async (t) => {
  const { report, start } = await place(t, manyFiles(1_200));
  const first = await start();
  assert.equal(first.end, 0);
  assert.equal(new Set(files(first, "read")).size, 1_200);
  assert.match(await report(), /\| \*\*1200 files\*\* \|/);
});

for (const event of ["started", "read"]) {
  test(`folder report: a finished file whose ledger says ${event} again makes the program fail`, async (t) => {
    const { ledger, start } = await place(t, { "a.txt": "a", "b.txt": "b" });
    assert.equal((await start()).end, 0);
    const { at: _, pid: __, ...entry } = ledger.entries().findLast((entry) => entry.event === event)!;
    const name = event === "read" ? entry.detail : "write";
    ledger.write(entry);
    const audited = await start();
    assert.deepEqual([audited.end, audited.errors], [1, [`${name} was finished and had its turn again`]]);
  });
}

test("folder report: what cannot be done is told in one line, and the exit code is 1", async (t) => {
  const { folder, start } = await place(t, { "a.txt": "a" });
  const cases: readonly (readonly [args: readonly string[], said: RegExp])[] = [
    [[], /^usage: folder_report <folder>/],
    [[folder, folder], /^usage: folder_report <folder>/],
    [[join(folder, "missing")], /^there is no folder .*missing$/],
    [[join(folder, "a.txt")], /a\.txt is no folder$/],
    [[folder, "--out", join(folder, "no", "report.md")], /^there is no folder .*no$/],
    [[folder, "--concurrency", "none"], /concurrency is NaN/],
    [[folder, "--pace", "fast"], /pace is fast/],
  ];
  for (const [args, said] of cases) {
    const db = args.length === 0 ? [] : ["--db", join(folder, "state.db")];
    const { end, errors, lines } = await run("examples/folder_report.ts", [...args, ...db]);
    assert.deepEqual([end, lines, errors.length], [1, [], 1], errors.join("\n"));
    assert.match(errors[0]!, said);
  }
  assert.equal((await start()).end, 0);
});
