import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { BuildError } from "../errors.ts";
import { closestId } from "../graph/closest.ts";
import { compareIds } from "../model/ids.ts";

/** The modules that a text or a `file:` URL given to `scan` stands for. */
interface FoundFiles {
  /** What was looked at, for messages: `the folder "flows"`. */
  readonly place: string;
  /** In ascending order of their paths, one per file however many links lead to it. */
  readonly urls: readonly string[];
}

const MODULE = /\.(?:ts|mts|tsx|js|mjs)$/;
const PASSED_OVER = [
  "**/node_modules/**",
  "**/.*/**",
  "**/*.d.{ts,mts}",
  "**/*.{test,spec}.*",
  "**/*_test.*",
];
const TAKEN =
  "modules are .ts, .mts, .tsx, .js and .mjs files outside of node_modules and of folders that begin with a dot, but no " +
  "declarations and no tests (*_test, *.test, *.spec)";
const SPECIAL = /[*?{}()[\]!+@|]/;

/**
 * Finds the files.
 *
 * @throws {BuildError} when there is no such place, or no module in it
 */
export async function findFiles(source: string | URL): Promise<FoundFiles> {
  const { path, text, search } = located(String(source));
  const kind = await kindOf(path);
  if (kind === "file") {
    return { place: `the file ${quoted(text)}`, urls: [pathToFileURL(path).href + search] };
  }
  if (kind === "folder") {
    const place = `the folder ${quoted(text)}`;
    return { place, urls: await modulesIn(place, path, "**") };
  }
  if (!SPECIAL.test(text)) throw await notFound(text, path);
  const place = `the pattern ${quoted(text)}`;
  const parts = path.split(sep);
  const first = parts.findIndex((part) => SPECIAL.test(part));
  // What is fixed of a pattern is the folder to search, so that a dot in it hides nothing.
  const folder = parts.slice(0, first).join(sep) || sep;
  if (await kindOf(folder) !== "folder") throw await notFound(folder, folder);
  return { place, urls: await modulesIn(place, folder, parts.slice(first).join("/")) };
}

async function modulesIn(place: string, folder: string, pattern: string): Promise<readonly string[]> {
  const { glob } = await import("tinyglobby");
  const paths = await glob(pattern, {
    cwd: folder,
    absolute: true,
    expandDirectories: false,
    ignore: PASSED_OVER,
  });
  const byFile = new Map<string, string>();
  for (const path of paths.filter((path) => MODULE.test(path)).sort(compareIds)) {
    const file = await realpath(path);
    if (!byFile.has(file)) byFile.set(file, pathToFileURL(path).href);
  }
  if (byFile.size > 0) return [...byFile.values()];
  throw new BuildError(
    "scan",
    `${place} holds no module (looked for ${pattern} in ${folder}); ${TAKEN}`,
    { place, folder, pattern },
  );
}

/** The absolute path of a text, and what stands after it in a URL. */
function located(text: string): { readonly path: string; readonly text: string; readonly search: string } {
  // One letter before the colon is a drive.
  if (!/^[a-z][a-z0-9+.-]+:/i.test(text)) return { path: resolve(text), text, search: "" };
  const url = new URL(text);
  if (url.protocol === "file:") return { path: fileURLToPath(url), text, search: url.search };
  throw new BuildError(
    "scan",
    `${quoted(text)} is no file, folder or pattern; import it yourself: scan(import(${quoted(text)}))`,
    { source: text },
  );
}

async function kindOf(path: string): Promise<"file" | "folder" | undefined> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "file";
  } catch {
    return undefined;
  }
}

async function notFound(text: string, path: string): Promise<BuildError> {
  const neighbours = await readdir(dirname(path)).catch((): string[] => []);
  const closest = closestId(basename(path), neighbours.sort(compareIds));
  return new BuildError(
    "scan",
    `there is no file or folder ${quoted(text)} (looked for ${path})` +
      (closest === undefined
        ? "; give a path from the working directory, or a file: URL"
        : `; did you mean ${quoted(closest)}?`),
    { source: text, path, ...(closest === undefined ? {} : { closest }) },
  );
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
