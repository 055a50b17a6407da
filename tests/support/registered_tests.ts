/**
 * Prints the titles of all tests that the test files register, as JSON `[file, title][]`, without running one. To be run
 * with an import map in which `node:test` is `registering.ts`.
 */
import process from "node:process";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { filesBelow } from "../house/source_tree.ts";
import { ROOT } from "./paths.ts";
import { cleanUp, titles } from "./registering.ts";

const found: [string, string][] = [];
for (const file of filesBelow("tests", "_test.ts")) {
  await import(pathToFileURL(join(ROOT, file)).href);
  found.push(...titles.splice(0).map((title): [string, string] => [file, title]));
}
await cleanUp();
process.stdout.write(JSON.stringify(found), () => process.exit(0));
