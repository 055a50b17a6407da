// @ts-check
/**
 * Runs the test files that it is given in one process, on Deno or Node, with one copy of the modules that they import:
 * most of what a small test file costs is to load the package. First it prints how many tests each file has, in the
 * order in which they run.
 */
import { createRequire, syncBuiltinESMExports } from "node:module";
import process from "node:process";
import { pathToFileURL } from "node:url";

const DENO = /** @type {any} */ (globalThis).Deno;
/** @type {(() => void)[]} */
const waiting = [];
let count = 0;
intercept();
// On Deno the file itself is among the arguments.
for (const file of process.argv.slice(2)) {
  count = 0;
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    const { test } = await import("node:test");
    test("the file can be loaded", () => {
      throw error;
    });
  }
  console.log(`${count} tests in ${file}`);
}
for (const begin of waiting) begin();

/** Counts the tests that are registered. Node would begin the first before the last is loaded. */
function intercept() {
  if (DENO !== undefined) {
    const register = DENO.test;
    DENO.test = Object.assign((/** @type {unknown[]} */ ...args) => {
      count++;
      return register(...args);
    }, register);
    return;
  }
  const module = createRequire(import.meta.url)("node:test");
  const register = module.test;
  module.test = Object.assign((/** @type {unknown[]} */ ...args) => {
    count++;
    waiting.push(() => register(...args));
  }, register);
  syncBuiltinESMExports();
}
