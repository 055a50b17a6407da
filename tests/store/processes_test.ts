import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import { text } from "../../src/testing/store_suite/support.ts";
import { commandFor, HOST, type RuntimeName } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a process to its end. */
function run(runtime: RuntimeName, file: string, args: readonly string[]): Promise<Ended> {
  const { command, args: all } = commandFor(runtime, file, args);
  return new Promise((resolve, reject) => {
    const child = spawn(command, all, { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (data) => output += String(data));
    child.stderr.on("data", (data) => output += String(data));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}

const PROCESSES = ["a", "b", "c", "d"];
const EACH = 250;

test("4 processes append 500 records each to one file, shared and separate, and all are accounted for (S4, STR-05)", async () => {
  const folder = await temporaryFolder();
  try {
    const path = `${folder.path}/store.db`;
    const ended = await Promise.all(
      PROCESSES.map((id) => run(HOST, "tests/store/appender.ts", [path, id, String(EACH)])),
    );
    for (const { code, output } of ended) {
      assert.doesNotMatch(output, /database is locked/);
      assert.equal(code, 0, output);
    }
    const store = await denoKv(path);
    const expected = (id: string) => Array.from({ length: EACH }, (_, i) => `${id}/${i}`);
    const shared = (await store.range("shared", 0, 10_000)).map(({ bytes }) => text(bytes));
    assert.equal(shared.length, PROCESSES.length * EACH);
    for (const id of PROCESSES) {
      assert.deepEqual(shared.filter((record) => record.startsWith(`${id}/`)), expected(id));
      const own = await store.range(`own-${id}`, 0, 10_000);
      assert.deepEqual(own.map(({ bytes }) => text(bytes)), expected(id));
    }
    await store.close();
  } finally {
    await folder.remove();
  }
});

test("what one runtime wrote the others read and go on with, in every order of two (S3)", async () => {
  const folder = await temporaryFolder();
  try {
    const turns: readonly RuntimeName[] = ["deno", "bun", "node", "deno", "node", "bun", "deno"];
    for (const [turn, runtime] of turns.entries()) {
      const { code, output } = await run(runtime, "tests/store/relay.ts", [
        `${folder.path}/store.db`,
        String(turn),
      ]);
      assert.equal(code, 0, `turn ${turn} on ${runtime}: ${output}`);
    }
  } finally {
    await folder.remove();
  }
});
