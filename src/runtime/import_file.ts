import { BuildError } from "../errors.ts";
import { host } from "./host.ts";

const TYPESCRIPT = /\.[mc]?tsx?$/;

/**
 * Imports the module of a file by its `file:` URL, anew under each query. Deno and Bun read TypeScript themselves. Node knows no decorators and,
 * before version 22, no types: there `tsx` is put in front of it, where the project of the file or the working directory
 * has that package, and stays so for whatever else the process imports.
 *
 * @throws {BuildError} when this Node cannot read the file for its language; whatever the module itself throws
 */
export async function importFile(url: string): Promise<object> {
  if (host === "node" && TYPESCRIPT.test(new URL(url).pathname)) await readTypeScript(url);
  try {
    return await import(host === "bun" ? await withItsQuery(url) : url);
  } catch (cause) {
    throw host === "node" && failedByLanguage(cause) ? languageFault(cause) : cause;
  }
}

/** Bun takes no notice of the query of a `file:` URL, but of one that stands after a path. */
async function withItsQuery(url: string): Promise<string> {
  const { search } = new URL(url);
  if (search === "") return url;
  const { fileURLToPath } = await import("node:url");
  return fileURLToPath(url) + search;
}

/** Loads `tsx` for the whole process. Loading it again does nothing. */
async function readTypeScript(url: string): Promise<void> {
  const { createRequire } = await import("node:module");
  const { resolve } = await import("node:path");
  for (const from of [url, resolve("package.json")]) {
    let loader: string;
    try {
      loader = createRequire(from).resolve("tsx");
    } catch {
      continue;
    }
    const { pathToFileURL } = await import("node:url");
    await import(pathToFileURL(loader).href);
    return;
  }
}

/** A decorator is a syntax error to Node, whose message does not tell it from another one. */
function failedByLanguage(cause: unknown): boolean {
  const { code, message, name } = cause as { code?: unknown; message?: unknown; name?: unknown };
  if (code === "ERR_UNKNOWN_FILE_EXTENSION") return /"\.[mc]?tsx?"/.test(String(message));
  return String(code).includes("TYPESCRIPT") || String(code).includes("TYPE_STRIPPING") ||
    name === "SyntaxError" && message === "Invalid or unexpected token";
}

function languageFault(cause: unknown): BuildError {
  return new BuildError(
    "import",
    "Node runs no TypeScript and no decorators by itself; install tsx in the project (npm install --save-dev tsx), where " +
      "it is found, or start the program with npx tsx, or give the JavaScript that tsc or another compiler writes",
    {},
    { cause },
  );
}
