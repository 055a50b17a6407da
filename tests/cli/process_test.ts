// Runs on deno by default: the commands are the same everywhere; packages are tried on all three.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { commandFor, HOST } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";
import { DESK } from "./shell.ts";

const input = (fields: object = {}) => JSON.stringify({ title: "T", ...fields });

/** The program, as a process on the runtime of this test. */
class Program {
  readonly child: ChildProcess;
  out = "";
  err = "";
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  #listeners: (() => void)[] = [];

  constructor(folder: string, argv: readonly string[]) {
    const { command, args } = commandFor(HOST, "src/cli/main.ts", argv);
    const env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: "1" };
    // What started the tests must not pass for what starts the command line.
    for (const name of ["FORCE_COLOR", "INIT_CWD", "npm_lifecycle_event"]) delete env[name];
    this.child = spawn(command, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    this.child.stdout!.setEncoding("utf8").on("data", (text) => this.#heard(() => this.out += text));
    this.child.stderr!.setEncoding("utf8").on("data", (text) => this.#heard(() => this.err += text));
    this.ended = new Promise((resolve) => {
      this.child.on("close", (code, signal) => this.#heard(() => resolve(code ?? signal ?? -1)));
    });
  }

  /** Waits until the error stream has said something. */
  async said(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.err)) {
      if (this.child.exitCode !== null) throw new Error(`ended with ${this.child.exitCode}: ${this.err}`);
      await new Promise<void>((resolve) => this.#listeners.push(resolve));
    }
  }

  /** Sends a signal. Deno takes a process that it has sent one itself for killed, whatever code it ends with. */
  send(signal: NodeJS.Signals): void {
    process.kill(this.child.pid!, signal);
  }

  #heard(note: () => void): void {
    note();
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

async function inFolder(
  use: (start: (...argv: readonly string[]) => Program, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await temporaryFolder();
  const programs: Program[] = [];
  try {
    await use((...argv) => {
      const program = new Program(folder.path, argv);
      programs.push(program);
      return program;
    }, folder.path);
  } finally {
    for (const { child } of programs) if (child.exitCode === null) child.kill("SIGKILL");
    await Promise.all(programs.map((program) => program.ended));
    await folder.remove();
  }
}

test("Ctrl-C lets the run go in good order with code 130, and it is gone on with at once (W4)", () =>
  inFolder(async (start) => {
    const run = start("run", DESK, "-i", input({ hang: true }), "--run-id", "r1");
    await run.said(/▶ draft/);
    run.send("SIGINT");
    assert.equal(await run.ended, 130);
    assert.match(run.err, /stopping; once more to stop at once\n/);
    assert.match(run.err, /\nstopped; go on with: superstep resume r1 .*desk\.[tj]s\n$/);
    assert.equal(run.out, "");

    const resume = start("resume", "r1", DESK);
    await resume.said(/▶ draft/);
    resume.send("SIGTERM");
    assert.equal(await resume.ended, 143, "nobody owned it, so nothing had to be waited for");
    const get = start("get", "r1", "--json");
    assert.equal(await get.ended, 0);
    const { run: { status, owner } } = JSON.parse(get.out);
    assert.deepEqual([status, owner], ["running", undefined]);
  }));

test("a process that was killed keeps its run while a lease is watched: resume says so, and takes over at once when told to (W4)", () =>
  inFolder(async (start) => {
    const run = start("run", DESK, "-i", input({ hang: true }), "--run-id", "r1");
    await run.said(/▶ draft/);
    run.send("SIGKILL");
    assert.equal(await run.ended, "SIGKILL");
    const busy = start("resume", "r1", DESK);
    await busy.said(/run r1 is taken over unless its process shows within 15 s that it lives/);
    busy.send("SIGKILL");
    await busy.ended;
    const taken = start("resume", "r1", DESK, "--takeover");
    await taken.said(/▶ draft/);
    taken.send("SIGINT");
    assert.equal(await taken.ended, 130);
  }));

test("results go to the standard output and everything else does not, and whoever reads them may stop before the end (W4)", () =>
  inFolder(async (start) => {
    const run = start("run", DESK, "-i", input({ say: "hello" }), "--run-id", "r1", "--json");
    assert.equal(await run.ended, 2);
    assert.equal(JSON.parse(run.out).reason, "awaiting");
    assert.match(run.err, /^hello\n/);
    const fault = start("get", "r9");
    assert.equal(await fault.ended, 1);
    assert.match(fault.err, /^superstep: there is no run r9 in \.\/superstep\.db; see superstep list\n$/);
    const history = start("history", "r1", "--json");
    history.child.stdout!.destroy();
    assert.equal(await history.ended, 0);
    assert.equal(history.err, "");
  }));

test("resume --wait goes on with a run once the process that owns it has let it go (O1)", () =>
  inFolder(async (start, folder) => {
    const db = join(folder, "other.db");
    const run = start("run", DESK, "-i", input({ hang: true }), "--run-id", "r1", "--db", db);
    await run.said(/▶ draft/);
    const waiting = start("resume", "r1", DESK, "--db", db, "--wait");
    await waiting.said(/another process owns the run; waiting until it lets go/);
    run.send("SIGINT");
    assert.equal(await run.ended, 130);
    await waiting.said(/▶ draft/);
    waiting.send("SIGINT");
    assert.equal(await waiting.ended, 130);
  }));

test("a run that is cancelled from another process ends its own with code 4 (O5)", () =>
  inFolder(async (start) => {
    const run = start("run", DESK, "-i", input({ hang: true }), "--run-id", "r1");
    await run.said(/▶ draft/);
    const cancel = start("cancel", "r1", "--reason", "no more");
    assert.equal(await cancel.ended, 0);
    assert.equal(cancel.out, "r1 is cancelled: no more\n");
    assert.equal(await run.ended, 4);
    assert.match(run.out, /^r1 {2}cancelled[^]*because: no more\n$/);
  }));
