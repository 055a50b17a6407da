// Runs on deno by default: the commands are the same everywhere; they run as processes on all three.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { readValue } from "../../src/cli/input.ts";
import type { Io } from "../../src/cli/io.ts";
import { dangers, DESK, type Ran, Shell } from "./shell.ts";

const POLLUTERS = [
  '{"__proto__":{"admin":true}}',
  '{"a":[{"__proto__":{"admin":true}}]}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '[[{"__proto__":{"admin":true}}]]',
  '{"$map":[["__proto__",{"__proto__":{"admin":true}}]]}',
  '{"$plain":{"__proto__":{"admin":true}}}',
];
const NAMES = [
  "__proto__",
  "toString",
  "../x",
  "x".repeat(3_000),
  "a\0b",
  "constructor",
  "%2e%2e",
  " ",
  "\u001b[2J",
];

function unpolluted(): void {
  assert.equal(({} as { admin?: unknown }).admin, undefined);
  assert.equal(([] as { admin?: unknown }).admin, undefined);
}

/** No stack, nothing that a terminal acts upon, and a code of the table. */
function tame(ran: Ran): void {
  assert.deepEqual(dangers(ran.out + ran.err, "\n"), []);
  assert.doesNotMatch(ran.err, /\n\s+at |should not have happened/);
  assert.ok([0, 1, 2, 3].includes(ran.code), String(ran.code));
}

test("keys that name prototypes change none, through inputs, answers and resumes; they are refused or stay plain keys (FC-29)", () =>
  Shell.with(async (shell) => {
    const waitId = await shell.waiting("r1");
    for (const json of POLLUTERS) {
      const title = json.startsWith('{"$') || json.startsWith("[") ? "" : `"title":"T",`;
      const whole = await shell.run(
        "run",
        DESK,
        "--input",
        title === "" ? json : `{${title}${json.slice(1)}`,
      );
      tame(whole);
      assert.notEqual(whole.code, 0);
      const nested = await shell.run("run", DESK, "--json", "--input", `{"title":"T","extra":${json}}`);
      tame(nested);
      if (json.includes("__proto__")) assert.equal(nested.code, 1, json);
      else assert.deepEqual(JSON.parse(nested.out).state.extra, JSON.parse(json));
      for (
        const argv of [
          ["answer", waitId, DESK, "--value", json],
          ["resume", "r1", DESK, "--value", json],
          ["resume", "r1", DESK, "--answers", json],
        ]
      ) {
        const ran = await shell.run(...argv);
        tame(ran);
        assert.equal(ran.code, 1);
      }
      unpolluted();
    }
    assert.equal((await shell.run("get", "r1", "--exit-status", "--json")).code, 2, "the wait stands");
  }));

test("names that are no ids reach no key: they are refused by every command, in one line (FC-29)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1");
    const input = '{"title":"T"}';
    for (const name of NAMES) {
      const refused = [
        ["get", name],
        ["history", name],
        ["resume", name, DESK],
        ["answer", name, DESK, "--value", "1"],
        ["answer", "r1", name, DESK, "--value", "1"],
        ["run", DESK, "-w", name, "-i", input],
        ["graph", DESK, "--run", name],
      ];
      for (const argv of refused) {
        const ran = await shell.run(...argv);
        tame(ran);
        assert.equal(ran.code, 1, argv.join(" "));
        assert.match(ran.err, /^superstep: [^\n]+\n$/);
      }
      for (const option of ["--run-id", "--tag", "--key"]) {
        tame(await shell.run("run", DESK, "-i", input, option, name));
      }
      for (const option of ["--tag", "--workflow"]) tame(await shell.run("list", option, name));
      for (const option of ["--run", "--name", "--workflow"]) tame(await shell.run("waits", option, name));
    }
    const { out } = await shell.run("list", "--json");
    const ids = out.trim().split("\n").map((row) => JSON.parse(row).runId as string);
    assert.deepEqual(
      ids.filter((id) => NAMES.includes(id)).sort(),
      ["constructor", "toString"],
      "the others are no ids",
    );
    unpolluted();
  }));

test("large inputs are taken up to the ceiling, and refused above it with no run begun (FC-29)", () =>
  Shell.with(async (shell) => {
    const run = (bytes: number) =>
      shell.runIn(
        { stdin: JSON.stringify({ title: "T", extra: "x".repeat(bytes) }) },
        "run",
        DESK,
        "-q",
        "-i",
        "-",
      );
    assert.equal((await run(64 * 1024)).code, 2);
    assert.equal((await run(1024 * 1024)).code, 2);
    const large = await run(50 * 1024 * 1024);
    assert.equal(large.code, 1);
    assert.match(large.err, /^superstep: the state takes \d+ bytes, at most 16777216 are allowed; .*extra/);
    assert.equal((await shell.run("list", "--json")).out.trim().split("\n").length, 2);
  }));

test("no more is read of an input than can be meant (FC-29)", async () => {
  let read = 0;
  const endless = Readable.from((function* () {
    for (;; read++) yield new Uint8Array(1024 * 1024);
  })());
  const io = { stdin: endless } as unknown as Io;
  await assert.rejects(readValue(io, "-", "the input"), /the input is longer than 64 MiB/);
  assert.ok(read < 100);
});

test("malformed texts are refused in one line, and no stack overflows (FC-29)", () =>
  Shell.with(async (shell) => {
    const deep = `{"title":"T","extra":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    const texts: readonly (string | Uint8Array)[] = [
      deep,
      deep.slice(0, -10),
      "[".repeat(100_000),
      Uint8Array.of(0x7b, 0xff, 0xfe, 0x7d),
      "\ufeff{",
      '{"title":"\\ud800"}',
      `{"title":"T","extra":"\\ud800"}`,
      `"${"\\u0000".repeat(10_000)}`,
      "\0",
    ];
    for (const stdin of texts) {
      const ran = await shell.runIn({ stdin }, "run", DESK, "-i", "-");
      assert.equal(ran.code, 1);
      assert.match(ran.err, /^superstep: [^\n]{10,600}\n$/);
      tame(ran);
    }
    const twice = await shell.run("run", DESK, "--json", "-i", '{"title":"first","title":"T"}');
    assert.equal(JSON.parse(twice.out).state.title, "T", "as JSON.parse has it");
  }));

test("what a workflow stores or throws reaches no terminal raw, in any command (W4)", () =>
  Shell.with(async (shell) => {
    const evil = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\r";
    const input = JSON.stringify({
      title: evil,
      extra: { [evil]: evil },
      say: evil,
      labels: { $map: [[evil, 1]] },
    });
    const ran = await shell.runIn(
      { console: globalThis.console },
      "run",
      DESK,
      "-i",
      input,
      "--run-id",
      "r1",
    );
    assert.equal(ran.code, 2);
    await shell.run("run", DESK, "-i", JSON.stringify({ title: "T", broken: true }), "--run-id", "r2");
    const commands = [["list"], ["waits"], ["get", "r1"], ["history", "r1"], ["get", "r2"], [
      "history",
      "r2",
    ]];
    const all = [ran, ...await Promise.all(commands.map((argv) => shell.run(...argv)))];
    all.push(...await Promise.all(commands.map((argv) => shell.run(...argv, "--json"))));
    all.push(await shell.run("graph", DESK, "--run", "r1"), await shell.run("resume", "r2", DESK));
    for (const each of all) tame(each);
    const got = JSON.parse((await shell.run("get", "r1", "--json")).out);
    assert.equal(got.state.title, evil, "machines get it as it is");
  }));
