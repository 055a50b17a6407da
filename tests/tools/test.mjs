// @ts-check
/**
 * Runs the same test files on Deno, Bun and Node and adds up the results.
 *
 *     test.mjs [--only deno|bun|node] [--limit <seconds>] [a file, or part of a file's path …]
 *
 * The files go in batches, each a process of its own, to two workers for each core, for many tests wait: a
 * crash costs the file that crashed. Nothing limits the whole; a batch in which no test begins or ends for the limit is
 * stopped, and the test that is at work has failed. A runtime that is missing, that crashes or that runs no test counts
 * as a failure. The last line is `N passed, N failed`, also when the run is stopped by a signal.
 *
 * A file may say that not every runtime needs it: `// Runs on bun: <why>`, or, for what shows the same everywhere,
 * `// Runs on deno and bun by default: <why>`, which holds unless `SUPERSTEP_TEST_EFFORT` is `long`, the file is named
 * or others are asked for by `--only`.
 *
 * With `SUPERSTEP_TEST_STORE=postgres` Deno runs the files that take a store in memory on PostgreSQL instead.
 *
 * @typedef {import("./runtimes.mjs").RuntimeName} RuntimeName
 * @typedef {{ runtime: RuntimeName, files: string[] }} Batch
 * @typedef {{ batch: Batch, lines: RunnerLines, kill: () => void }} Work
 */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism, constants } from "node:os";
import { join, relative, sep } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { importMapOnPostgres } from "./in_place.mjs";
import { RunnerLines } from "./lines.mjs";
import { buildForNode, installDependencies, locate, ROOT, RUNTIMES } from "./runtimes.mjs";

const LONG = process.env.SUPERSTEP_TEST_EFFORT === "long";
/** Whether Deno runs what takes a store in memory on PostgreSQL instead. */
const ON_POSTGRES = process.env.SUPERSTEP_TEST_STORE === "postgres";
/** Tests are long where the effort is. */
const DEFAULT_LIMIT_S = LONG ? 900 : 300;
/** Files per process: what most of them cost is to load the package. */
const BATCH = 24;
/**
 * Files that start processes, browsers and compilers, or stop at every write. They come first and few to a process, so
 * that the workers end together.
 */
const SLOW =
  /^tests\/(dashboard|durability|examples|fuzz|packages|tools)\/|\/(\w*(crash|random|process(es)?)|deno_kv|layout_1|checked|table|hostile|fc3\d)_test\.ts$/;
const SLOW_BATCH = 3;
/** More at once would be too many processes for tests that start processes themselves. */
const MAX_WORKERS = 4;
/** Variables that let a runner print less than every test. */
const QUIETING = ["CLAUDECODE", "AGENT", "REPL_ID", "FORCE_COLOR"];

const { values, positionals } = parseArgs({
  options: { only: { type: "string", multiple: true }, limit: { type: "string" } },
  allowPositionals: true,
});
const wanted = RUNTIMES.filter((name) => values.only?.includes(name) ?? true);
const unknown = values.only?.find((name) => !RUNTIMES.some((known) => known === name));
if (unknown !== undefined) throw new Error(`--only ${unknown}: expected deno, bun or node`);
const limitMs = 1000 * Number(values.limit ?? DEFAULT_LIMIT_S);
if (!(limitMs > 0)) throw new Error(`--limit ${values.limit}: expected a number of seconds`);

const files = testFiles();
if (files.length === 0) throw new Error(`no test file has ${positionals.join(" or ")} in its path`);

/** @type {Map<RuntimeName, { passed: number, failed: number, skipped: number }>} */
const totals = new Map(wanted.map((name) => [name, { passed: 0, failed: 0, skipped: 0 }]));
/** What failed, as it is listed at the end. @type {string[]} */
const failures = [];
/** @type {Set<Work>} */
const atWork = new Set();
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
  process.on(signal, () => stop(signal));
}

const paths = prepare();
const queue = batches();
let ended = 0;
await Promise.all(
  Array.from({ length: Math.min(2 * availableParallelism(), MAX_WORKERS) }, async () => {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) await runBatch(batch);
  }),
);
for (const name of wanted) {
  const { passed, failed } = counted(name);
  if (passed + failed === 0) fail(name, "no test ran");
}
report();

/** The test files that are asked for, relative to the repository and with forward slashes. */
function testFiles() {
  const all = readdirSync(join(ROOT, "tests"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith("_test.ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath ?? entry.path, entry.name)).split(sep).join("/"))
    .sort();
  if (positionals.length === 0) return all;
  const named = positionals.filter((path) => path.endsWith(".ts") && existsSync(join(ROOT, path)));
  const parts = positionals.filter((part) => !named.includes(part));
  return [...new Set([...named, ...all.filter((file) => parts.some((part) => file.includes(part)))])];
}

/**
 * Dependencies, all three runtimes and the Node build: also for a run on one of them, because tests start processes
 * on the others.
 *
 * @returns {Map<RuntimeName, string>}
 */
function prepare() {
  /** @type {Map<RuntimeName, string>} */
  const found = new Map();
  for (const name of RUNTIMES) {
    const path = process.env[`SUPERSTEP_${name.toUpperCase()}`];
    if (path !== undefined) found.set(name, path);
  }
  // A test of this command runs under it: everything is there.
  if (found.size === RUNTIMES.length) return found;
  installDependencies();
  for (const name of RUNTIMES) {
    try {
      const path = locate(name);
      process.env[`SUPERSTEP_${name.toUpperCase()}`] = path;
      if (name === "node") buildForNode(path);
      found.set(name, path);
    } catch (error) {
      fail(name, error instanceof Error ? error.message : String(error));
    }
  }
  return found;
}

/**
 * What there is to run.
 *
 * @returns {Batch[]}
 */
function batches() {
  const slow = files.filter((file) => SLOW.test(file));
  const quick = files.filter((file) => !SLOW.test(file));
  // What Node builds for a package is there when Bun comes to it.
  const runtimes = (/** @type {const} */ (["node", "deno", "bun"])).filter((name) =>
    wanted.includes(name) && paths.has(name)
  );
  return [{ of: slow, size: SLOW_BATCH }, { of: quick, size: BATCH }].flatMap(({ of, size }) =>
    runtimes.flatMap((runtime) => {
      const own = of.filter((file) => runsOn(file, runtime));
      const count = Math.ceil(own.length / size);
      // Neighbours are alike: dealt out, long files of one room do not meet in one batch.
      return Array.from({ length: count }, (_, i) => ({
        runtime,
        files: own.filter((_, at) => at % count === i),
      }));
    })
  );
}

/**
 * @param {string} file
 * @param {RuntimeName} runtime
 */
function runsOn(file, runtime) {
  const said = /^\/\/ Runs on ((?:deno|bun|node| and )+)( by default)?: /m.exec(
    readFileSync(join(ROOT, file), "utf8"),
  );
  if (said?.[1] === undefined) return true;
  const own = said[1].split(" and ");
  if (own.includes(runtime)) return true;
  // Whoever asks for a file or for a runtime gets it.
  return said[2] !== undefined &&
    (LONG || positionals.length > 0 || !wanted.some((name) => own.includes(name)));
}

/** @param {Batch} batch */
async function runBatch(batch) {
  const { runtime } = batch;
  const began = performance.now();
  const { lines, output, code, silent } = await run(batch);
  const tookMs = performance.now() - began;
  ended++;
  const own = counted(runtime);
  for (const verdict of /** @type {const} */ (["passed", "failed", "skipped"])) {
    own[verdict] += lines.totals[verdict];
  }
  for (const name of lines.failures) failures.push(`${runtime}: ${name}`);
  console.log(
    `\n── ${runtime}, ${Math.round(tookMs / 1000)} s: ${batch.files.join(" ")}\n${output.trimEnd()}`,
  );
  if (silent) fail(runtime, `${blame(lines)}, no end within ${limitMs / 1000} s`);
  const left = batch.files.filter((file) => !lines.files.includes(file));
  if (!lines.ended && left.length > 0 && batch.files.length > 1) {
    // Without a word the runner could not begin, for the sake of one of them.
    const again = left.length < batch.files.length ? [left] : left.map((file) => [file]);
    for (const some of again) queue.unshift({ runtime, files: some });
    if (!silent && left.length < batch.files.length) fail(runtime, `${blame(lines)}, ended with ${code}`);
  } else if (!silent && !lines.ended) {
    fail(runtime, `${blame(lines)}, ended with ${code}`);
  } else if (!silent && lines.totals.failed === 0 && code !== 0) {
    fail(runtime, `${batch.files.join(" ")}: ended with ${code} after ${lines.last ?? "no test"}`);
  } else if (lines.failures.length < lines.totals.failed) {
    failures.push(`${runtime}: ${batch.files.join(" ")}: a fault outside of tests, see above`);
  } else if (lines.ended) {
    // Deno says nothing of a file that throws while it is loaded.
    const empty = batch.files.filter((file) => !lines.ran.has(file));
    if (empty.length > 0) fail(runtime, `${empty.join(" ")}: no test ran`);
  }
  const { passed, failed } = sum();
  const rest = queue.length + atWork.size;
  console.log(`── ${ended} batches done, ${rest} left: ${passed} passed, ${failed} failed so far`);

  /** @param {RunnerLines} lines */
  function blame(lines) {
    const file = lines.files.at(-1) ?? batch.files[0];
    return `${file}: ${
      lines.pending ?? (lines.last === undefined ? "its first test" : `after ${lines.last}`)
    }`;
  }
}

/**
 * @param {Batch} batch
 * @returns {string[]}
 */
function testArguments({ runtime, files }) {
  const together = join(ROOT, "tests", "tools", "together.mjs");
  if (runtime === "deno") {
    const map = ON_POSTGRES ? [`--import-map=${importMapOnPostgres()}`] : [];
    return ["test", "-A", "--no-check", ...map, together, "--", ...files];
  }
  // Bun's own limit names the test, so it comes first; its default of 5 s is too short where processes are started.
  if (runtime === "bun") {
    return [
      "test",
      `--timeout=${Math.round(0.8 * limitMs)}`,
      ...files.map((file) => `./${file}`),
    ];
  }
  return [
    `--test-reporter=${join(ROOT, "tests", "tools", "node_reporter.mjs")}`,
    "--test-reporter-destination=stdout",
    together,
    ...files.map((file) => `dist/${file.replace(/\.ts$/, ".js")}`),
  ];
}

/**
 * Runs a batch in a process group of its own, so that nothing outlives it that its tests started.
 *
 * @param {Batch} batch
 * @returns {Promise<{ lines: RunnerLines, output: string, code: string | number, silent: boolean }>}
 */
function run(batch) {
  return new Promise((resolve) => {
    const lines = new RunnerLines(batch.runtime, batch.files);
    let output = "";
    let silent = false;
    const child = spawn(/** @type {string} */ (paths.get(batch.runtime)), testArguments(batch), {
      cwd: ROOT,
      env: {
        ...process.env,
        ...Object.fromEntries(QUIETING.map((name) => [name, undefined])),
        NO_COLOR: "1",
      },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const work = { batch, lines, kill: () => killGroup(child.pid) };
    atWork.add(work);
    // Bun alone reports on stderr; its other stream holds what tests print, in no order to the report.
    const reports = batch.runtime === "bun" ? "stderr" : "stdout";
    let moves = 0;
    let limit = setTimeout(onSilence, limitMs);
    for (const name of /** @type {const} */ (["stdout", "stderr"])) {
      child[name].setEncoding("utf8").on("data", (text) => {
        output += text;
        if (name !== reports) return;
        lines.take(text);
        if (moves === lines.moves) return;
        moves = lines.moves;
        clearTimeout(limit);
        limit = setTimeout(onSilence, limitMs);
      });
    }
    child.on("error", (error) => output += `${error.message}\n`);
    child.on("close", (code, signal) => {
      clearTimeout(limit);
      atWork.delete(work);
      resolve({ lines, output, code: code ?? signal ?? 1, silent });
    });

    function onSilence() {
      silent = true;
      work.kill();
    }
  });
}

/** @param {number | undefined} pid */
function killGroup(pid) {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

/**
 * Ends everything, and counts what ran.
 *
 * @param {keyof typeof constants.signals} signal
 */
function stop(signal) {
  for (const { batch, lines, kill } of atWork) {
    kill();
    const own = counted(batch.runtime);
    for (const verdict of /** @type {const} */ (["passed", "failed", "skipped"])) {
      own[verdict] += lines.totals[verdict];
    }
    for (const name of lines.failures) failures.push(`${batch.runtime}: ${name}`);
  }
  const runtime = wanted[0] ?? "deno";
  fail(runtime, `stopped by ${signal} after ${ended} batches, ${queue.length + atWork.size} left`);
  report();
  process.exit(128 + constants.signals[signal]);
}

/** @param {RuntimeName} runtime */
function counted(runtime) {
  const own = totals.get(runtime) ?? { passed: 0, failed: 0, skipped: 0 };
  totals.set(runtime, own);
  return own;
}

/**
 * Counts a failure that no test has reported.
 *
 * @param {RuntimeName} runtime
 * @param {string} note
 */
function fail(runtime, note) {
  counted(runtime).failed++;
  failures.push(`${runtime}: ${note}`);
}

function sum() {
  const all = [...totals.values()];
  return {
    passed: all.reduce((count, { passed }) => count + passed, 0),
    failed: all.reduce((count, { failed }) => count + failed, 0),
  };
}

function report() {
  if (failures.length > 0) console.log(`\nfailed:\n${failures.map((failure) => `  ${failure}`).join("\n")}`);
  console.log();
  for (const [name, { passed, failed, skipped }] of totals) {
    console.log(`${name}: ${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  }
  const { passed, failed } = sum();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
