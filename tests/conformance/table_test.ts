// Runs on deno by default: no runtime decides what the source looks like.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { ROOT } from "../support/paths.ts";
import { executable } from "../support/runtimes.ts";

/** Why no test covers a statement: the rule of the specification that holds instead. */
interface Replacement {
  readonly rule: string;
  readonly why: string;
}

type Lists = Readonly<Record<string, readonly string[]>>;

/** Why no test cites a rule of `docs/spec.md`. */
const UNCITED: Readonly<Record<string, string>> = {
  N2: "measured by the benchmarks",
  N3: "measured by the benchmarks",
  N4: "measured by the benchmarks",
  N6: "measured by the benchmarks",
  N7: "measured by the benchmarks",
  N8: "measured by the benchmarks",
};

const groups = readJson<Lists>("tests/conformance/statements.json");
const conformanceRules = new Set(Object.values(readJson<Lists>("tests/conformance/rules.json")).flat());
const replaced = new Map(
  Object.entries(readJson<Readonly<Record<string, Replacement>>>("tests/conformance/replaced.json")),
);
const rules = [...readFileSync(join(ROOT, "docs/spec.md"), "utf8").matchAll(/^- \*\*([A-Z]\d+)\*\* /gm)]
  .map(([, id]) => id!);
let found: Promise<readonly (readonly [file: string, title: string])[]> | undefined;

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8")) as T;
}

/** The files and titles of all tests that Deno would run. */
function registered() {
  return found ??= (async () => {
    const folder = join(ROOT, ".tmp", `registered-${process.pid}`);
    await mkdir(folder, { recursive: true });
    try {
      const { imports } = readJson<{ readonly imports: Readonly<Record<string, string>> }>("deno.json");
      const file = (path: string) => pathToFileURL(join(ROOT, path)).href;
      const map = Object.entries(imports).map(([name, to]) => [name, to.startsWith("./") ? file(to) : to]);
      const path = join(folder, "import_map.json");
      const all = { ...Object.fromEntries(map), "node:test": file("tests/support/registering.ts") };
      writeFileSync(path, JSON.stringify({ imports: all }));
      const args = ["run", "-A", "--no-check", "--unstable-kv", `--import-map=${path}`];
      const program = join(ROOT, "tests/support/registered_tests.ts");
      const options = { cwd: ROOT, maxBuffer: 1 << 26 };
      const { stdout } = await promisify(execFile)(executable("deno"), [...args, program], options);
      return JSON.parse(stdout.slice(stdout.lastIndexOf("\n") + 1));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  })();
}

/** The statements that titles name, with the files of these tests. */
async function citedStatements(): Promise<ReadonlyMap<string, readonly string[]>> {
  const pattern = new RegExp(`\\b(?:${Object.keys(groups).join("|")})-\\d+\\b`, "g");
  return await cited((title) => title.match(pattern) ?? []);
}

/** The rules that titles name, `E5-E9` all five of them, with the files of these tests. */
async function citedRules(): Promise<ReadonlyMap<string, readonly string[]>> {
  return await cited((title) =>
    [...title.matchAll(/(?<![\w-])([ACDEHINOQSTVW])(\d+)(?:[-–]\1(\d+))?(?![\w-])/g)].flatMap(
      ([, letter, from, to = from]) =>
        Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => `${letter}${Number(from) + i}`),
    )
  );
}

async function cited(
  idsOf: (title: string) => readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const files = new Map<string, string[]>();
  for (const [file, title] of await registered()) {
    for (const id of idsOf(title)) files.set(id, [...files.get(id) ?? [], file]);
  }
  return files;
}

for (const [group, ids] of Object.entries(groups)) {
  test(`every statement of ${group} stands in the title of a test, or is replaced by a rule (FT-G16)`, async () => {
    const titles = await citedStatements();
    assert.deepEqual(ids.filter((id) => !titles.has(id) && !replaced.has(id)), []);
  });
}

test("every statement that a test cites exists", async () => {
  const known = new Set(Object.values(groups).flat());
  assert.deepEqual([...await citedStatements()].filter(([id]) => !known.has(id)), []);
});

test("every replaced statement exists and names a rule that exists, and why", () => {
  const known = new Set(Object.values(groups).flat());
  const wrong = [...replaced].filter(([id, { rule, why }]) =>
    !known.has(id) || !conformanceRules.has(rule) || why === ""
  );
  assert.deepEqual(wrong, []);
});

test("every rule of docs/spec.md stands in the title of a test, or a reason says why it does not (FT-G16)", async () => {
  const titles = await citedRules();
  assert.ok(rules.length > 60, "the rules are found");
  assert.deepEqual(rules.filter((id) => !titles.has(id) && !(id in UNCITED)), []);
  assert.deepEqual(Object.keys(UNCITED).filter((id) => titles.has(id) || !rules.includes(id)), []);
});

test("every rule that a test cites exists (FT-G16)", async () => {
  assert.deepEqual([...await citedRules()].filter(([id]) => !rules.includes(id)), []);
});
