// Runs on deno by default: the random runs find faults of the engine, which no runtime decides.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { test } from "node:test";
import { effort } from "../../support/effort.ts";
import { commandFor, HOST } from "../../support/runtimes.ts";

// What can be set, and how, stands in `main.ts`.
const { env } = process;
const count = Number(env["SUPERSTEP_FUZZ_BODIES"] ?? effort(80, 2_000));
const first = Number(env["SUPERSTEP_FUZZ_FIRST"] ?? 0);
const onKv = Math.ceil(count / Number(env["SUPERSTEP_FUZZ_KV"] ?? 10));

test("random bodies come to the same on the memory store and as plain JavaScript (T1, T2, T8, T9)", async () => {
  const half = count > 1_000 ? Math.ceil(count / 2) : count;
  const halves = [
    run("memory", first, half),
    ...(half < count ? [run("memory", first + half, count - half)] : []),
  ];
  assert.deepEqual((await Promise.all(halves)).join(""), "");
});

test("random bodies come to the same on a Deno KV file and as plain JavaScript (T1, T2, T8, T9)", async () => {
  assert.equal(await run("deno-kv", first, onKv), "");
});

/**
 * What is printed of bodies that fail. They run in a process of their own: in a test, every rejection that is handled
 * late would fail the test, whoever looks after it.
 */
async function run(store: string, from: number, bodies: number): Promise<string> {
  const { command, args } = commandFor(HOST, "tests/fuzz/bodies/main.ts", [store, `${from}`, `${bodies}`]);
  return await new Promise((resolve) => {
    execFile(command, args, { maxBuffer: 64 << 20 }, (error, out, err) => {
      resolve(error === null ? "" : `${out}${err}${error.code ?? error.signal}`);
    });
  });
}
