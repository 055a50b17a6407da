// Runs on deno by default: no runtime decides what the source looks like.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "./support/paths.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const readme = read("README.md");

test("the serialization table of the README is the one of the contract in the source (C3)", () => {
  const cells = (row: string) => row.split("|").map((cell) => cell.trim());
  const rows = (text: string, first: RegExp) => {
    const lines = text.split("\n").map((line) => line.replace(/^ \* ?/, ""));
    const from = lines.findIndex((line) => first.test(line));
    const end = lines.findIndex((line, i) => i > from && !line.startsWith("|"));
    return lines.slice(from, end).filter((line) => !/^\| *-/.test(line)).map(cells);
  };
  const documented = rows(readme, /^\| value +\| stored as/);
  assert.ok(documented.length > 10);
  assert.deepEqual(documented, rows(read("src/checkpoint/canonical.ts"), /^\| value +\| stored as/));
});

test("the README's first example has at most 30 lines, and its commands are tasks of deno.json and scripts of package.json", () => {
  const example = readme.split("```ts\n")[1]!.split("```")[0]!;
  assert.ok(example.trimEnd().split("\n").length <= 30);
  const tasks = Object.keys(JSON.parse(read("deno.json")).tasks);
  const scripts = Object.keys(JSON.parse(read("package.json")).scripts);
  for (const [, name] of readme.matchAll(/deno(?:@2)? task (\w+)/g)) assert.ok(tasks.includes(name!), name);
  for (const [, name] of readme.matchAll(/bun run (\w+)/g)) assert.ok(scripts.includes(name!), name);
});
