import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { CommandError, RunCommand } from "../../tasks/run_command.ts";
import { HOST } from "../support/runtimes.ts";
import { contextFor } from "./context.ts";

/** A script for the runtime of the test. */
function script(code: string) {
  return { command: process.execPath, args: [HOST === "deno" ? "eval" : "-e", code] };
}

test("RunCommand answers what the command printed, and hands it its input, environment and key", async () => {
  const code = `
    const { default: process } = await import("node:process");
    let text = "";
    process.stdin.on("data", (chunk) => text += chunk);
    process.stdin.on("end", () => {
      console.log(text + process.env.WHO + process.env.IDEMPOTENCY_KEY);
      console.error("noted");
    });`;
  const input = { ...script(`(async () => {${code}})()`), env: { WHO: "kim " }, stdin: "hello " };
  const { stdout, stderr } = await new RunCommand().execute(input, contextFor("key-1"));
  assert.deepEqual([stdout.trim(), stderr.trim()], ["hello kim key-1", "noted"]);
});

test("RunCommand fails with the exit code and the last line of the errors", async () => {
  const code =
    `console.error("first"); console.error("it broke"); import("node:process").then((p) => p.exit(3))`;
  await assert.rejects(new RunCommand().execute(script(code), contextFor("k")), (error) => {
    assert.ok(error instanceof CommandError);
    assert.equal(error.data.code, 3);
    assert.match(error.message, /ended with 3: it broke$/);
    return true;
  });
});

test("RunCommand fails when there is no such command", async () => {
  await assert.rejects(
    new RunCommand().execute({ command: "/no/such/command" }, contextFor("k")),
    /ENOENT|no such/i,
  );
});

test("RunCommand terminates the command when its signal is aborted", async () => {
  const controller = new AbortController();
  const running = new RunCommand().execute(
    script("setInterval(() => {}, 1000)"),
    contextFor("k", controller.signal),
  );
  controller.abort(new Error("stopped"));
  await assert.rejects(running, (error: Error) => error.name === "AbortError" || error.message === "stopped");
});

test("RunCommand terminates a command that prints more than it may", async () => {
  for (const stream of ["log", "error"]) {
    const endless = script(`setInterval(() => console.${stream}("x".repeat(1000)), 1)`);
    await assert.rejects(
      new RunCommand({ maxBytes: 10_000 }).execute(endless, contextFor("k")),
      /too much output: more than 10000 bytes/,
    );
  }
});

/** Whether a process is there, also one that has ended and is not collected yet. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Resolves when the process has ended; fails, and ends it, when it goes on. */
async function ended(pid: number): Promise<void> {
  try {
    for (let tries = 0; isThere(pid); tries++) {
      assert.ok(tries < 1_000, `the process ${pid} goes on`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  } finally {
    if (isThere(pid)) process.kill(pid, "SIGKILL");
  }
}

for (const stream of ["stdout", "stderr"] as const) {
  test(`the process of a command that prints too much on ${stream} ends, and what it printed before is kept (FT-G6)`, async () => {
    const endless = script(`import("node:process").then(({ default: p }) => {
      p.stdout.write(p.pid + "\\n");
      setInterval(() => p.${stream}.write("x".repeat(1000)), 1);
    })`);
    const running = new RunCommand({ maxBytes: 10_000 }).execute(endless, contextFor("k"));
    const error = await running.then(() => undefined, (e: unknown) => e);
    assert.ok(error instanceof CommandError);
    assert.equal(error.data.code, "too much output");
    assert.ok(error.data[stream].length > 5_000 && error.data[stream].length <= 10_000);
    await ended(Number(error.data.stdout.split("\n")[0]));
  });
}

test("what a command printed is kept up to the last whole character that fits, however it arrives (FT-G6)", async () => {
  const loud = script(`import("node:process").then(({ default: p }) => p.stdout.write("é".repeat(100_000)))`);
  const error = await new RunCommand({ maxBytes: 9_999 }).execute(loud, contextFor("k")).catch((e: unknown) =>
    e
  );
  assert.ok(error instanceof CommandError);
  assert.equal(error.data.stdout, "é".repeat(4_999));
});
