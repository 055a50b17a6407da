// Runs on deno by default: no runtime decides what the source looks like.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import ts from "typescript";
import { filesBelow, sourceFiles, walk } from "../house/source_tree.ts";
import { ROOT } from "../support/paths.ts";

/** Why no test covers a statement: the rule of the specification that holds instead. */
interface Replacement {
  readonly rule: string;
  readonly why: string;
}

type Lists = Readonly<Record<string, readonly string[]>>;

const groups = readJson<Lists>("tests/conformance/statements.json");
const rules = new Set(Object.values(readJson<Lists>("tests/conformance/rules.json")).flat());
const replaced = new Map(
  Object.entries(readJson<Readonly<Record<string, Replacement>>>("tests/conformance/replaced.json")),
);
const cited = citedIds();

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8")) as T;
}

/** The statements named in any string of a test file or of a published suite, with the files that name them. */
function citedIds(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const pattern = new RegExp(`\\b(?:${Object.keys(groups).join("|")})-\\d+\\b`, "g");
  const tests = filesBelow("tests", "_test.ts").filter((path) => !path.startsWith("tests/conformance/table"));
  for (const file of sourceFiles(...tests, "src/testing")) {
    walk(file.ast, (node) => {
      if (!ts.isStringLiteralLike(node) && !ts.isTemplateHead(node)) return;
      for (const id of node.text.match(pattern) ?? []) found.set(id, [...found.get(id) ?? [], file.path]);
    });
  }
  return found;
}

for (const [group, ids] of Object.entries(groups)) {
  test(`every statement of ${group} is cited by a test or replaced by a rule`, () => {
    assert.deepEqual(ids.filter((id) => !cited.has(id) && !replaced.has(id)), []);
  });
}

test("every statement that a test cites exists", () => {
  const known = new Set(Object.values(groups).flat());
  assert.deepEqual([...cited].filter(([id]) => !known.has(id)), []);
});

test("every replaced statement exists and names a rule that exists, and why", () => {
  const known = new Set(Object.values(groups).flat());
  const wrong = [...replaced].filter(([id, { rule, why }]) =>
    !known.has(id) || !rules.has(rule) || why === ""
  );
  assert.deepEqual(wrong, []);
});
