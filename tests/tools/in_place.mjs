// @ts-check
/**
 * Tests that take a store in memory, on another one: modules stand in place of others by an import map, which Deno alone has.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./runtimes.mjs";

/** What stands in place of what; a module that stands in for another may import that one. */
const IN_PLACE = {
  "src/store/memory.ts": "tests/support/in_place/memory.ts",
  "src/testing/virtual_clock.ts": "tests/support/in_place/virtual_clock.ts",
};

/**
 * Writes an import map for tests on PostgreSQL.
 *
 * @returns {string} its path
 */
export function importMapOnPostgres() {
  const url = (/** @type {string} */ path) => pathToFileURL(join(ROOT, path)).href;
  const { imports } = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8"));
  /** @type {{ imports: Record<string, string>, scopes: Record<string, Record<string, string>> }} */
  const map = { imports: {}, scopes: {} };
  for (const [name, target] of Object.entries(imports)) {
    const path = String(target).replace(/^\.\//, "");
    const there = /** @type {Record<string, string>} */ (IN_PLACE)[path] ?? path;
    map.imports[name] = String(target).startsWith("./") ? url(there) : target;
  }
  for (const [original, substitute] of Object.entries(IN_PLACE)) {
    map.imports[url(original)] = url(substitute);
    map.scopes[url(substitute)] = { [url(original)]: url(original) };
  }
  const folder = join(ROOT, ".tmp");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "postgres_import_map.json");
  writeFileSync(path, JSON.stringify(map, null, 2));
  return path;
}
