// Runs on deno by default: no runtime decides what the source looks like.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import ts from "typescript";
import { ROOT } from "../support/paths.ts";
import { matchesSnapshot } from "../support/snapshots.ts";
import { closureOf, importsOf, OPEN_TO_ALL, roomOf, show, sourceFiles, walk } from "./source_tree.ts";

const SNAPSHOT = "tests/house/exports.json";

type Json = Readonly<Record<string, unknown>>;

const ROOT_MAY_IMPORT = [...OPEN_TO_ALL, "decorators", "scanner", "graph", "engine", "compile", "store"];

const denoExports = readJson("deno.json").exports as Readonly<Record<string, string>>;
const packageExports = readJson("package.json").exports as Readonly<Record<string, Json>>;

function readJson(path: string): Json {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}

/** The names that a module exports, types included; it must name each one. */
function exportedNames(path: string): readonly string[] {
  const names: string[] = [];
  for (const statement of sourceFiles(path)[0]!.ast.statements) {
    if (ts.isExportDeclaration(statement)) {
      assert.ok(
        statement.exportClause && ts.isNamedExports(statement.exportClause),
        `${path} has an export that names nothing`,
      );
      names.push(...statement.exportClause.elements.map((element) => element.name.text));
    } else if (
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword)
    ) {
      if (ts.isVariableStatement(statement)) {
        names.push(
          ...statement.declarationList.declarations.map((declaration) => declaration.name.getText()),
        );
      } else names.push((statement as ts.DeclarationStatement).name?.getText() ?? "default");
    }
  }
  return [...new Set(names)].sort();
}

test("the public root re-exports from the open rooms and the pipeline only, each name by name", () => {
  const root = sourceFiles("mod.ts");
  const edges = root.flatMap(importsOf);
  assert.ok(edges.length > 0);
  assert.deepEqual(
    show(edges.filter((edge) => !edge.relative || !ROOT_MAY_IMPORT.includes(roomOf(edge.to)))),
    [],
  );
  walk(root[0]!.ast, (node) => {
    if (ts.isExportDeclaration(node)) {
      assert.ok(node.exportClause, `mod.ts re-exports all of ${node.getText()}`);
    }
  });
});

test("importing the public root pulls in no HTTP, no command line, no store, no driver and no telemetry", () => {
  const unwanted = closureOf("mod.ts", { types: false }).filter(({ to, relative }) =>
    relative
      ? ["http", "cli", "adapters", "telemetry", "testing"].includes(roomOf(to))
      : /^(hono|@hono|@deno\/kv|@opentelemetry)(\/|$)/.test(to)
  );
  assert.deepEqual(show(unwanted), []);
});

test("both export maps have the same entries and lead to the same sources", () => {
  const built = (source: string, ending: string) => source.replace("./", "./dist/").replace(/\.ts$/, ending);
  const expected = Object.fromEntries(
    Object.entries(denoExports).map(([entry, source]) => [
      entry,
      { types: built(source, ".d.ts"), bun: source, default: built(source, ".js") },
    ]),
  );
  assert.deepEqual(packageExports, expected);
  assert.deepEqual(
    Object.keys(packageExports["."]!),
    ["types", "bun", "default"],
    "the first condition that fits wins, and no compiler is to check the sources",
  );
});

/** What the product imports: its dependencies, and the drivers that whoever needs one installs beside it. */
function packagesOfProduct(): Json {
  const { dependencies, peerDependencies } = readJson("package.json");
  const { tsx: _runsTypeScript, ...drivers } = peerDependencies as Json;
  return { ...dependencies as Json, ...drivers };
}

test("deno.json maps every entry to the name that users import, and every dependency to that of package.json", () => {
  const entries = Object.entries(denoExports).map((
    [entry, source],
  ) => [entry.replace(/^\./, "superstep"), source]);
  const dependencies = Object.entries(packagesOfProduct())
    .map(([name, range]) => [name, `npm:${name}@${range}`]);
  assert.deepEqual(readJson("deno.json").imports, Object.fromEntries([...entries, ...dependencies]));
});

test("every package that the product imports is a dependency, and every dependency is imported", () => {
  const imported = sourceFiles("mod.ts", "src", "tasks").flatMap(importsOf)
    .filter(({ to, relative }) => !relative && !to.startsWith("node:"))
    .map(({ to }) => /^(@[^/]+\/)?[^/]+/.exec(to)![0]);
  const dependencies = Object.keys(packagesOfProduct());
  assert.deepEqual([...new Set(imported)].sort(), dependencies.sort());
});

test("both manifests carry the same version and licence", () => {
  const [deno, node] = [readJson("deno.json"), readJson("package.json")];
  assert.deepEqual([deno.version, deno.license], [node.version, node.license]);
});

test("the exported names are those of exports.json, so that a change of the public API is a decision", () => {
  const names = Object.fromEntries(
    Object.entries(denoExports).map(([entry, source]) => [entry, exportedNames(source.slice(2))]),
  );
  matchesSnapshot(SNAPSHOT, `${JSON.stringify(names, null, 2)}\n`);
});

test("every entry loads under its package name, from the same files, with the values that it declares", async () => {
  const ending = import.meta.url.endsWith(".js") ? ".js" : ".ts";
  for (const [entry, source] of Object.entries(denoExports)) {
    const loaded = await import(entry.replace(/^\./, "superstep"));
    const direct = await import(new URL(`../../${source}`, import.meta.url).href.replace(/\.ts$/, ending));
    assert.equal(loaded, direct, entry);
    const values = Object.keys(loaded);
    assert.ok(values.length > 0, entry);
    assert.deepEqual(values.filter((name) => !exportedNames(source.slice(2)).includes(name)), [], entry);
  }
});
