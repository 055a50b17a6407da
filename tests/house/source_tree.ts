import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import ts from "typescript";
import { ROOT } from "../support/paths.ts";

/** An import or re-export as written in a file. */
export interface ImportEdge {
  readonly from: string;
  /** A file of the repository for a relative import, else the package or builtin as written. */
  readonly to: string;
  readonly relative: boolean;
  readonly typeOnly: boolean;
}

/** One parsed file of the repository; `path` is relative to its root, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly ast: ts.SourceFile;
}

/** Every TypeScript file below the folders given, and the files given themselves. */
export function sourceFiles(...places: readonly string[]): readonly SourceFile[] {
  return places.flatMap((place) => place.endsWith(".ts") ? [place] : filesBelow(place)).map(parse);
}

/** Every file below a folder with that ending; none when there is no such folder. */
export function filesBelow(folder: string, ending = ".ts"): readonly string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
}

function parse(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), "utf8");
  return { path, text, ast: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) };
}

/** The imports of a file: static, dynamic, `import("…")` types and re-exports. */
export function importsOf(file: SourceFile): readonly ImportEdge[] {
  const edges: ImportEdge[] = [];
  const add = (specifier: ts.Node | undefined, typeOnly: boolean) => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return;
    const isRelative = specifier.text.startsWith(".");
    const to = isRelative ? posix.join(dirname(file.path), specifier.text) : specifier.text;
    edges.push({ from: file.path, to, relative: isRelative, typeOnly });
  };
  walk(file.ast, (node) => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, isTypeOnlyImport(node));
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, isTypeOnlyExport(node));
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal, true);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false);
    }
  });
  return edges;
}

function isTypeOnlyImport(node: ts.ImportDeclaration): boolean {
  const clause = node.importClause;
  if (clause === undefined) return false;
  if (clause.isTypeOnly) return true;
  const named = clause.namedBindings;
  return clause.name === undefined && named !== undefined && ts.isNamedImports(named) &&
    named.elements.length > 0 && named.elements.every((element) => element.isTypeOnly);
}

function isTypeOnlyExport(node: ts.ExportDeclaration): boolean {
  const clause = node.exportClause;
  return node.isTypeOnly || clause !== undefined && ts.isNamedExports(clause) && clause.elements.length > 0 &&
      clause.elements.every((element) => element.isTypeOnly);
}

const STORE_INTERFACE = [
  "store",
  "cells",
  "emits",
  "leases",
  "mailbox",
  "owners",
  "position",
  "wake",
  "call_options",
].map((
  name,
) => `src/store/${name}.ts`);

/** The rooms that every room may import. */
export const OPEN_TO_ALL: readonly string[] = ["model", "errors", "runtime"];

/**
 * The room of a file of `src`: its folder, or the file itself where it lies in `src`. `store` is the interfaces in
 * `store/store.ts` and the parts of that interface alone; everything else there belongs to the adapters.
 */
export function roomOf(path: string): string {
  const [, room = "", ...rest] = path.split("/");
  if (room === "store") return STORE_INTERFACE.includes(path) ? "store" : "adapters";
  return rest.length === 0 ? room.replace(/\.ts$/, "") : room;
}

/** Everything that files pull in: all of it, or what is left when types are erased. */
export function closureOf(entry: string, options: { readonly types: boolean }): readonly ImportEdge[] {
  const seen = new Set<string>();
  const found: ImportEdge[] = [];
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const edge of sourceFiles(path).flatMap(importsOf)) {
      if (edge.typeOnly && !options.types) continue;
      found.push(edge);
      if (edge.relative) visit(edge.to);
    }
  };
  visit(entry);
  return found;
}

/** Edges as readable lines. */
export function show(edges: readonly ImportEdge[]): readonly string[] {
  return edges.map(({ from, to }) => `${from} imports ${to}`);
}

/** Visits a node and everything below it. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/** `path:line`, for messages. */
export function placeOf(file: SourceFile, node: ts.Node): string {
  return `${file.path}:${file.ast.getLineAndCharacterOfPosition(node.getStart(file.ast)).line + 1}`;
}

/** A circle among the edges as a readable chain, or `undefined`. */
export function findCircle(edges: Iterable<readonly [from: string, to: string]>): string | undefined {
  const targets = new Map<string, Set<string>>();
  for (const [from, to] of edges) targets.set(from, (targets.get(from) ?? new Set()).add(to));
  const finished = new Set<string>();
  const trail: string[] = [];
  const visit = (node: string): string | undefined => {
    if (finished.has(node)) return undefined;
    if (trail.includes(node)) return [...trail.slice(trail.indexOf(node)), node].join(" → ");
    trail.push(node);
    for (const target of targets.get(node) ?? []) {
      const circle = visit(target);
      if (circle !== undefined) return circle;
    }
    trail.pop();
    finished.add(node);
    return undefined;
  };
  for (const node of targets.keys()) {
    const circle = visit(node);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

/** Every place in the files whose node matches, as `path:line text`. */
export function placesOf(
  files: readonly SourceFile[],
  matches: (node: ts.Node) => boolean,
): readonly string[] {
  const found: string[] = [];
  for (const file of files) {
    walk(file.ast, (node) => {
      if (matches(node)) found.push(`${placeOf(file, node)} ${node.getText(file.ast).slice(0, 60)}`);
    });
  }
  return found;
}

const CALLS = ["Date.now", "Math.random", "crypto.randomUUID", "crypto.getRandomValues", "performance.now"];
const GLOBALS = ["setTimeout", "setInterval", "setImmediate"];

/** Whether the code reads the clock, starts a timer or draws a random number. */
export function isClockOrChance(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) return CALLS.includes(node.getText().replace(/^globalThis\./, ""));
  if (ts.isIdentifier(node)) return GLOBALS.includes(node.text);
  const isDate = (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
    node.expression.getText() === "Date";
  return isDate && (ts.isCallExpression(node) || (node.arguments?.length ?? 0) === 0);
}
