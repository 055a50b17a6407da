// Runs on deno by default: no runtime decides what the source looks like.
import assert from "node:assert/strict";
import { test } from "node:test";
import ts from "typescript";
import { filesBelow, isClockOrChance, placesOf, type SourceFile, sourceFiles } from "./source_tree.ts";

const MAX_LINES = 400;
/** Clock, timers and chance reach the engine through the runtime seam, so that tests can replace them. */
const BEHIND_THE_SEAM = ["src/runtime/", "src/testing/", "src/cli/", "src/http/"];
/** The driver of the KV adapter is a global on Deno. */
const MAY_NAME_A_RUNTIME = [...BEHIND_THE_SEAM, "src/store/deno_kv/"];

const source = sourceFiles("src");
const product = [...source, ...sourceFiles("tasks")];

function outside(folders: readonly string[]): readonly SourceFile[] {
  return source.filter((file) => !folders.some((folder) => file.path.startsWith(folder)));
}

/** `Deno`, `Bun` or `process` as a value of its own; `wait.process` or a key of that name is none. */
function namesARuntime(node: ts.Node): boolean {
  if (!ts.isIdentifier(node) || !["Deno", "Bun", "process"].includes(node.text)) return false;
  if (ts.isPropertyAccessExpression(node.parent) && node.parent.name === node) {
    return node.parent.expression.getText().includes("globalThis");
  }
  return !ts.isPropertyAssignment(node.parent) || node.parent.name !== node;
}

test("clock, timers and chance are named behind the runtime seam only", () => {
  assert.ok(placesOf(source, isClockOrChance).length > 0, "the seam itself has them");
  assert.deepEqual(placesOf(outside(BEHIND_THE_SEAM), isClockOrChance), []);
});

test("Deno, Bun and process are named behind the runtime seam and in the KV adapter only", () => {
  assert.deepEqual(placesOf(outside(MAY_NAME_A_RUNTIME), namesARuntime), []);
});

test("no any in the product", () => {
  assert.deepEqual(placesOf(product, (node) => node.kind === ts.SyntaxKind.AnyKeyword), []);
});

test("no compiler complaint is silenced in the product", () => {
  const silenced = product.filter((file) => /@ts-(ignore|expect-error|nocheck)/.test(file.text));
  assert.deepEqual(silenced.map((file) => file.path), []);
});

test("nothing is left open in the code", () => {
  const open = [...product, ...sourceFiles("examples")].filter((file) =>
    /\b(TODO|FIXME|XXX|HACK)\b/.test(file.text)
  );
  assert.deepEqual(open.map((file) => file.path), []);
});

test(`no file has more than ${MAX_LINES} lines`, () => {
  const long = sourceFiles("src", "tasks", "examples", "tests").map((file) => ({
    path: file.path,
    lines: file.text.trimEnd().split("\n").length,
  })).filter((file) => file.lines > MAX_LINES);
  assert.deepEqual(long, []);
});

test("files are named in snake_case", () => {
  const paths = ["src", "tasks", "examples", "tests"].flatMap((folder) => filesBelow(folder));
  assert.deepEqual(paths.filter((path) => !/^[a-z0-9_/]+(\.d)?\.ts$/.test(path)), []);
});

test("no test is focused, skipped or left to do", () => {
  const marks = /\b(test|it|describe)\.(only|skip|todo)\(|\b(only|skip|todo): *true/;
  const marked = sourceFiles("tests", "src/testing").filter((file) => marks.test(file.text));
  assert.deepEqual(marked.map((file) => file.path), []);
});
