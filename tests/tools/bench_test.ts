// Runs on deno by default: what is measured has tests of its own on every runtime.
import assert from "node:assert/strict";
import { PassThrough, Writable } from "node:stream";
import { test } from "node:test";
import { bench } from "../bench/command.ts";
import { linesOf } from "../bench/lines.ts";
import { measureHere } from "../bench/process.ts";
import type { Line } from "../bench/types.ts";

/** What the command prints, measuring in this process. */
async function printed(...args: readonly string[]): Promise<string> {
  let text = "";
  const io = {
    stdin: new PassThrough(),
    stdout: new Writable({ write: (chunk, _, done) => (text += String(chunk), done()) }),
    stderr: new Writable({ write: (_chunk, _, done) => done() }),
    env: {},
    onStop: () => () => {},
    exit: () => {},
  };
  const code = await bench(["--quick", ...args], {
    io,
    measure: measureHere,
    prepare: () => Promise.resolve(),
  });
  assert.equal(code, 0);
  return text;
}

test("a benchmark prints a line of JSON for each figure, cold and warm told apart", async () => {
  const lines = (await printed("--only", "N2", "--json")).trimEnd().split("\n").map((line) =>
    JSON.parse(line) as Line
  );
  assert.deepEqual(lines.map(({ id, mode, unit, target }) => [id, mode, unit, target]), [
    ["N2", "cold", "ms", "value <= 0.05"],
    ["N2", "warm", "ms", "value <= 0.015"],
  ]);
  for (const { value, low, high, ok } of lines) {
    assert.ok(value > 0 && low <= value && value <= high);
    assert.equal(typeof ok, "boolean");
  }
});

test("a benchmark prints which keys each operation writes: two for a step (N1)", async () => {
  const table = (await printed("--only", "keys")).split("\n");
  const columns = table.find((row) => row.includes("head"))!;
  const step = table.find((row) => row.startsWith("step"))!;
  const cell = (name: string) => step.slice(columns.indexOf(name)).split(" ")[0];
  assert.deepEqual(["all", "head", "record", "mailbox", "index"].map(cell), ["2", "+1", "+1", "", ""]);
});

test("figures are medians of their repeats, judged by the ratios to the bounds of the same repeats", () => {
  const times = [[9, 3], [4, 4], [10, 5]] as const;
  const target = { of: "ratio", max: 2 } as const;
  const samples = times.map(([value, bound]) => ({
    id: "N1",
    name: "a step",
    unit: "ms",
    value,
    bound,
    target,
  }));
  assert.deepEqual(linesOf(samples, "deno", "warm"), [{
    id: "N1",
    name: "a step",
    on: "deno",
    mode: "warm",
    unit: "ms",
    value: 9,
    low: 6.5,
    high: 9.5,
    repeats: 3,
    bound: 4,
    ratio: 2,
    target: "ratio <= 2",
    ok: true,
  }]);
});
