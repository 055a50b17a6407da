// @ts-check
/**
 * Runs the same test files on Deno, Bun and Node and adds up the results.
 *
 *     test.mjs [--only deno|bun|node] [part of a file's path …]
 *
 * A runtime that is missing, that crashes or that runs no test counts as a failure. The last line is
 * `N passed, N failed`.
 *
 * @typedef {import("./runtimes.mjs").RuntimeName} RuntimeName
 * @typedef {{ passed: number, failed: number, skipped: number, note?: string }} Totals
 */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { buildForNode, installDependencies, locate, ROOT, RUNTIMES } from "./runtimes.mjs";

/** What a runtime prints: held back until it is its turn. */
class Voice {
  /** @param {RuntimeName} name */
  constructor(name) {
    this.name = name;
    this.ended = false;
    this.speaking = false;
    /** @type {["stdout" | "stderr", string][]} */
    this.held = [];
  }

  /**
   * @param {"stdout" | "stderr"} stream
   * @param {string} text
   */
  print(stream, text) {
    if (this.speaking) process[stream].write(text);
    else this.held.push([stream, text]);
  }

  speak() {
    if (this.speaking) return;
    this.speaking = true;
    console.log(`\n── ${this.name}`);
    for (const [stream, text] of this.held.splice(0)) process[stream].write(text);
  }
}

/** No runtime may hang for longer than this; it is then a failure. */
const LIMIT_MS = 12 * 60_000;
/** Of one test. Bun's own default of 5 s is too short for tests that start processes. */
const TEST_LIMIT_MS = 120_000;

const { values, positionals } = parseArgs({
  options: { only: { type: "string", multiple: true } },
  allowPositionals: true,
});
const wanted = RUNTIMES.filter((name) => values.only?.includes(name) ?? true);
const unknown = values.only?.find((name) => !RUNTIMES.some((known) => known === name));
if (unknown !== undefined) throw new Error(`--only ${unknown}: expected deno, bun or node`);

const files = testFiles().filter((file) =>
  positionals.length === 0 || positionals.some((part) => file.includes(part))
);
if (files.length === 0) throw new Error(`no test file has ${positionals.join(" or ")} in its path`);
const paths = prepare();
/** @type {Map<RuntimeName, Totals>} */
const results = new Map();
await runAll();
report();

/** Runs all runtimes at the same time; what they print comes out one after the other, live for the first that is at work. */
async function runAll() {
  const voices = /** @type {const} */ (["node", "deno", "bun"]).filter((name) => wanted.includes(name))
    .map((name) => new Voice(name));
  const speak = () => {
    for (const voice of voices) {
      voice.speak();
      if (!voice.ended) return;
    }
  };
  speak();
  await Promise.all(voices.map(async (voice) => {
    results.set(voice.name, await runTests(voice.name, voice));
    voice.ended = true;
    speak();
  }));
}

/** Every test file, relative to the repository and with forward slashes. */
function testFiles() {
  return readdirSync(join(ROOT, "tests"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith("_test.ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath ?? entry.path, entry.name)).split(sep).join("/"))
    .sort();
}

/**
 * Dependencies, all three runtimes and the Node build: also for a run on one of them, because tests start processes
 * on the others.
 *
 * @returns {Map<RuntimeName, string | Error>}
 */
function prepare() {
  installDependencies();
  /** @type {Map<RuntimeName, string | Error>} */
  const found = new Map();
  for (const name of RUNTIMES) {
    try {
      const path = locate(name);
      process.env[`SUPERSTEP_${name.toUpperCase()}`] = path;
      if (name === "node") buildForNode(path);
      found.set(name, path);
    } catch (error) {
      found.set(name, error instanceof Error ? error : new Error(String(error)));
    }
  }
  return found;
}

/**
 * @param {RuntimeName} name
 * @param {Voice} voice
 * @returns {Promise<Totals>}
 */
async function runTests(name, voice) {
  const path = paths.get(name);
  if (typeof path !== "string") return { passed: 0, failed: 1, skipped: 0, note: path?.message ?? "missing" };
  const { stdout, stderr, code } = await stream(path, testArguments(name), voice);
  // Bun alone reports on stderr; its other stream holds what tests print, in no order to the report.
  const totals = totalsOf(name, name === "bun" ? stderr : stdout);
  if (totals.passed + totals.failed === 0) return { ...totals, failed: 1, note: "no test ran" };
  if (code !== 0 && totals.failed === 0) return { ...totals, failed: 1, note: `ended with ${code}` };
  return totals;
}

/**
 * @param {RuntimeName} name
 * @returns {string[]}
 */
function testArguments(name) {
  if (name === "deno") return ["test", "-A", "--no-check", ...files];
  if (name === "bun") return ["test", `--timeout=${TEST_LIMIT_MS}`, ...files.map((file) => `./${file}`)];
  const built = files.map((file) => `dist/${file.replace(/\.ts$/, ".js")}`);
  return [
    "--test",
    "--test-concurrency=2",
    "--test-reporter=spec",
    `--test-timeout=${3 * TEST_LIMIT_MS}`,
    ...built,
  ];
}

/**
 * Runs a command, showing what it prints.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {Voice} voice
 * @returns {Promise<{ stdout: string, stderr: string, code: string | number }>}
 */
function stream(command, args, voice) {
  return new Promise((resolve) => {
    const printed = { stdout: "", stderr: "" };
    const child = spawn(command, args, {
      cwd: ROOT,
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const name of /** @type {const} */ (["stdout", "stderr"])) {
      child[name].setEncoding("utf8").on("data", (text) => {
        printed[name] += text;
        voice.print(name, text);
      });
    }
    const limit = setTimeout(() => {
      console.error(`\nstopped: still running after ${LIMIT_MS / 60_000} minutes`);
      child.kill("SIGTERM");
      setTimeout(() => child.kill("SIGKILL"), 5_000).unref();
    }, LIMIT_MS);
    child.on("error", (error) => console.error(error.message));
    child.on("close", (code, signal) => {
      clearTimeout(limit);
      resolve({ ...printed, code: code ?? signal ?? 1 });
    });
  });
}

/**
 * What a runner says at its end.
 *
 * @param {RuntimeName} name
 * @param {string} output
 * @returns {Totals}
 */
function totalsOf(name, output) {
  /** @param {RegExp} pattern */
  const last = (pattern) => Number([...output.matchAll(pattern)].at(-1)?.[1] ?? 0);
  if (name === "deno") {
    return {
      passed: last(/^(?:ok|FAILED) \| (\d+) passed/gm),
      failed: last(/^(?:ok|FAILED) \| .*\| (\d+) failed/gm),
      skipped: last(/^(?:ok|FAILED) \| .*\| (\d+) ignored/gm),
    };
  }
  if (name === "bun") {
    return {
      passed: last(/^ *(\d+) pass$/gm),
      failed: last(/^ *(\d+) fail$/gm),
      skipped: last(/^ *(\d+) skip$/gm) + last(/^ *(\d+) todo$/gm),
    };
  }
  // A file without a test is reported as a test that is named like the file.
  const emptyFiles = output.match(/^✔ \S*_test\.js \(/gm)?.length ?? 0;
  return {
    passed: last(/^ℹ pass (\d+)$/gm) - emptyFiles,
    failed: last(/^ℹ fail (\d+)$/gm) + last(/^ℹ cancelled (\d+)$/gm),
    skipped: last(/^ℹ skipped (\d+)$/gm) + last(/^ℹ todo (\d+)$/gm),
  };
}

function report() {
  let passed = 0;
  let failed = 0;
  console.log();
  for (const name of wanted) {
    const totals = results.get(name);
    if (totals === undefined) continue;
    passed += totals.passed;
    failed += totals.failed;
    const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : "";
    const note = totals.note === undefined ? "" : ` (${totals.note})`;
    console.log(`${name}: ${totals.passed} passed, ${totals.failed} failed${skipped}${note}`);
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
