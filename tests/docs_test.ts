// Runs on deno by default: no runtime decides what the source looks like.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { test } from "node:test";
import ts from "typescript";
import { sourceFiles, walk } from "./house/source_tree.ts";
import { ROOT } from "./support/paths.ts";
import { commandFor, HOST } from "./support/runtimes.ts";
import { temporaryFolder } from "./support/stores.ts";

/** A fenced block that is marked `ts` and nothing else: it runs as it stands. */
const FENCE = /^```ts\n(.*?)^```$/gms;

interface Example {
  /** `path:line` of the block. */
  readonly place: string;
  readonly code: string;
}

const EXAMPLES: readonly Example[] = [
  ...["README.md", "docs/flow-control.md", "docs/encryption.md", "docs/changing-workflows.md"].flatMap((
    path,
  ) => examplesIn(path, readFileSync(join(ROOT, path), "utf8"), 1)),
  ...sourceFiles("mod.ts", "src", "tasks").flatMap(({ path, text }) =>
    [...text.matchAll(/^ *\/\*\*\n(?: *\*.*\n)*? *\*\//gm)].flatMap((comment) =>
      examplesIn(path, comment[0].replace(/^ *\* ?/gm, ""), lineAt(text, comment.index))
    )
  ),
];

function examplesIn(path: string, text: string, firstLine: number): readonly Example[] {
  return [...text.matchAll(FENCE)].map((block) => ({
    place: `${path}:${firstLine + lineAt(text, block.index)}`,
    code: block[1]!,
  }));
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

/** Every value that a reader would know where to import from, by name. */
function importable(): ReadonlyMap<string, string> {
  const names = JSON.parse(readFileSync(join(ROOT, "tests/house/exports.json"), "utf8"));
  const found = new Map([["z", `import { z } from "zod";`], [
    "assert",
    `import assert from "node:assert/strict";`,
  ]]);
  for (const [entry, exported] of Object.entries<readonly string[]>(names)) {
    for (const name of exported) {
      found.set(name, `import { ${name} } from "${entry.replace(".", "superstep")}";`);
    }
  }
  return found;
}

/** The example as a module, with the imports that it leaves out. */
function moduleOf(code: string, known: ReadonlyMap<string, string>): string {
  const ast = ts.createSourceFile("example.ts", code, ts.ScriptTarget.Latest, true);
  const used = new Set<string>();
  const declared = new Set<string>();
  walk(ast, (node) => {
    if (!ts.isIdentifier(node)) return;
    const { parent } = node;
    const isName = "name" in parent && parent.name === node && !ts.isPropertyAccessExpression(parent);
    if (isName || ts.isImportSpecifier(parent)) declared.add(node.text);
    else used.add(node.text);
  });
  const imports = [...used].filter((name) => !declared.has(name) && known.has(name));
  return [...imports.map((name) => known.get(name)!), code, "export {};"].join("\n");
}

/** The module without types. */
function transpiled(module: string): string {
  return ts.transpileModule(module, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  }).outputText;
}

/** Runs every example in one process of this runtime, in an empty folder; what went wrong, by place. */
async function runExamples(): Promise<ReadonlyMap<string, string | null>> {
  const known = importable();
  const folder = join(ROOT, ".tmp", `docs-${HOST}`);
  const { path: cwd, remove } = await temporaryFolder();
  mkdirSync(folder, { recursive: true });
  try {
    const modules = EXAMPLES.map(({ place, code }, i) => {
      const file = join(folder, `example_${i}.mjs`);
      writeFileSync(file, transpiled(moduleOf(code, known)));
      return [place, pathToFileURL(file).href];
    });
    const main = join(folder, "main.mjs");
    writeFileSync(
      main,
      `const found = [];
for (const [place, url] of ${JSON.stringify(modules)}) {
  try {
    await import(url);
    found.push([place, null]);
  } catch (error) {
    found.push([place, String(error?.stack ?? error)]);
  }
}
process.stdout.write("\\n" + JSON.stringify(found) + "\\n", () => process.exit(0));
`,
    );
    const { command, args } = commandFor(HOST, "mod.ts");
    const own = HOST === "deno" ? [...args.slice(0, -1), "--config", join(ROOT, "deno.json")] : [];
    const { stdout } = await promisify(execFile)(command, [...own, main], { cwd, maxBuffer: 1 << 26 });
    return new Map(JSON.parse(stdout.trimEnd().split("\n").at(-1)!));
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await remove();
  }
}

/** What this Deno says of files of the repository; an empty text when it has nothing to say. */
async function denoSays(...args: readonly string[]): Promise<string> {
  const options = { cwd: ROOT, maxBuffer: 1 << 26, env: { ...process.env, NO_COLOR: "1" } };
  return await promisify(execFile)(process.execPath, args, options).then(
    () => "",
    (error: { readonly stdout: string; readonly stderr: string }) => `${error.stdout}${error.stderr}`,
  );
}

/** The entry points of the package, and the ready-made tasks. */
function entryFiles(): readonly string[] {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8"));
  const tasks = readdirSync(join(ROOT, "tasks")).filter((name) => name.endsWith(".ts"));
  return [...new Set([...Object.values<string>(exports), ...tasks.map((name) => `./tasks/${name}`)])];
}

/** Whether a complaint is about a type of another package, which is documented there. */
function isForeign(complaint: string): boolean {
  const [, name, path] = /references private type '(\w+)[^]*?--> (\S+?):\d/.exec(complaint) ?? [];
  if (name === undefined || path === undefined) return false;
  const source = readFileSync(path, "utf8");
  return new RegExp(`import [^;]*\\b${name}\\b[^;]* from "[^.]`).test(source);
}

let results: Promise<ReadonlyMap<string, string | null>> | undefined;

// Deno brings the tool, and what it says does not depend on who runs the tests.
if (HOST === "deno") {
  test("every public symbol of every entry point and of the ready-made tasks is documented", async () => {
    const complaints = (await denoSays("doc", "--lint", ...entryFiles())).split(/^(?=error\[)/m)
      .filter((text) => text.startsWith("error[") && !isForeign(text));
    assert.deepEqual(complaints.map((text) => text.trim()), []);
  });

  test("the examples of the documentation type-check as they stand", async () => {
    const known = importable();
    const folder = join(ROOT, ".tmp", "docs-types");
    mkdirSync(folder, { recursive: true });
    try {
      const files = EXAMPLES.map(({ code }, i) => {
        const file = join(folder, `example_${i}.ts`);
        writeFileSync(file, moduleOf(code, known));
        return file;
      });
      const said = await denoSays("check", "--quiet", "--config", join(ROOT, "deno.json"), ...files);
      assert.equal(said.replace(/example_(\d+)\.ts/g, (_, i) => EXAMPLES[i]!.place), "");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

test("the documentation has examples to run, the README among them", () => {
  assert.ok(EXAMPLES.length >= 8);
  assert.ok(EXAMPLES.some(({ place }) => place.startsWith("README.md")));
});

for (const [i, { place }] of EXAMPLES.entries()) {
  test(`example ${i + 1} of the documentation runs: ${place.replace(/:\d+$/, "")}`, async () => {
    results ??= runExamples();
    assert.equal((await results).get(place), null);
  });
}
