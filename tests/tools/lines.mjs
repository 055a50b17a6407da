// @ts-check
/**
 * Counts tests from the lines that a runner prints, while it prints them: what ran is known also when the runner is
 * stopped or crashes.
 *
 * @typedef {import("./runtimes.mjs").RuntimeName} RuntimeName
 * @typedef {{ passed: number, failed: number, skipped: number }} Totals
 */

/** The lines of Deno's runner, and what `together.mjs` says of the files; the reporter for Node prints the same. */
const LIKE_DENO = {
  file: /^(\d+) tests in (.+)$/,
  start: /^(\S.*) \.\.\.$/,
  end: /^(\S.*) \.\.\. (ok|FAILED|ignored|cancelled)(?: \(.*\))?$/,
  summary: /^(?:ok|FAILED) \| (\d+) passed/,
  failed: /\| (\d+) failed/,
  /** What it says in the middle of a line when a test takes long; the verdict has a line of its own then. */
  slow: /^(\S.*) \.\.\.'.*' has been running for over \(.*\)$/,
  late: /^ (ok|FAILED|ignored|cancelled)(?: \(.*\))?$/,
  skipped: /\| (\d+) ignored/,
};
/** The lines of Bun's runner. It tells the end of a test alone, and says its summary in several lines. */
const LIKE_BUN = {
  file: /^(\S+\.ts):$/,
  end: /^\((pass|fail|skip|todo)\) (.*?)(?: \[[\d.]+ms\])?$/,
  count: /^ *(\d+) (pass|fail|skip|todo)$/,
  /** What failed is told again at the end. */
  again: /^\d+ tests? failed:$/,
  summary: /^Ran \d+ tests? across \d+ files?\./,
};

/** What one process of a runner has printed so far. */
export class RunnerLines {
  /** @type {Totals} */
  totals = { passed: 0, failed: 0, skipped: 0 };
  /** The tests that failed, with their files. @type {string[]} */
  failures = [];
  /** The files that were begun. @type {string[]} */
  files = [];
  /** The files of which a test ended. @type {Set<string>} */
  ran = new Set();
  /** The test that is at work. @type {string | undefined} */
  pending;
  /** The last test that ended. @type {string | undefined} */
  last;
  /** Whether the runner came to its end. */
  ended = false;
  /** How many tests began or ended, and files were begun. */
  moves = 0;
  /** The files that were loaded and are not over, in the order in which their tests run. */
  /** @type {{ file: string, left: number }[]} */
  #loaded = [];
  #rest = "";
  /** Whether the rest tells again what failed. */
  #again = false;
  /** @type {Totals} */
  #said = { passed: 0, failed: 0, skipped: 0 };

  /**
   * @param {RuntimeName} runtime
   * @param {readonly string[]} given The files as the runner was given them, which may print longer paths.
   */
  constructor(runtime, given) {
    this.runtime = runtime;
    this.given = given;
  }

  /** @param {string} text */
  take(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (this.runtime === "bun") this.#bun(line);
      else this.#deno(line);
    }
    // A test that is at work stands in a line that has not ended.
    if (this.runtime !== "bun") this.#begin(this.#rest);
  }

  /** @param {string} line */
  #deno(line) {
    const file = LIKE_DENO.file.exec(line);
    if (file?.[2] !== undefined) return this.#load(file[2], Number(file[1]));
    const slow = LIKE_DENO.slow.exec(line);
    if (slow?.[1] !== undefined) return this.#begin(`${slow[1]} ...`);
    const late = this.pending === undefined ? null : LIKE_DENO.late.exec(line);
    const end = LIKE_DENO.end.exec(late === null ? line : `${this.pending} ...${line}`);
    if (end?.[1] !== undefined) {
      if (this.pending === undefined) this.#nextFile();
      const own = this.#loaded[0];
      if (own !== undefined) own.left--;
      return this.#end(end[1], end[2] === "ok" ? "passed" : end[2] === "ignored" ? "skipped" : "failed");
    }
    const summary = LIKE_DENO.summary.exec(line);
    if (summary === null) return this.#begin(line);
    const failed = LIKE_DENO.failed.exec(line);
    const skipped = LIKE_DENO.skipped.exec(line);
    this.#summary({
      passed: Number(summary[1]),
      failed: Number(failed?.[1]),
      skipped: Number(skipped?.[1] ?? 0),
    });
  }

  /** @param {string} line */
  #bun(line) {
    const file = LIKE_BUN.file.exec(line);
    if (file?.[1] !== undefined) return this.#file(file[1]);
    if (LIKE_BUN.again.test(line)) this.#again = true;
    const end = this.#again ? null : LIKE_BUN.end.exec(line);
    if (end?.[1] !== undefined) {
      return this.#end(end[2] ?? "", end[1] === "pass" ? "passed" : end[1] === "fail" ? "failed" : "skipped");
    }
    const count = LIKE_BUN.count.exec(line);
    if (count !== null) {
      const kind = count[2] === "pass" ? "passed" : count[2] === "fail" ? "failed" : "skipped";
      this.#said[kind] += Number(count[1]);
    }
    if (LIKE_BUN.summary.test(line)) this.#summary(this.#said);
  }

  /** @param {string} printed */
  #file(printed) {
    this.moves++;
    const name = this.#nameOf(printed);
    if (!this.files.includes(name)) this.files.push(name);
  }

  /** @param {string} printed */
  #nameOf(printed) {
    return this.given.find((file) => printed.replace(/\.js$/, ".ts").endsWith(file)) ?? printed;
  }

  /**
   * @param {string} printed
   * @param {number} left
   */
  #load(printed, left) {
    this.moves++;
    this.#loaded.push({ file: this.#nameOf(printed), left });
  }

  /** Goes to the file of the test that begins. */
  #nextFile() {
    while (this.#loaded.length > 0) {
      const { file, left } = /** @type {{ file: string, left: number }} */ (this.#loaded[0]);
      if (!this.files.includes(file)) this.files.push(file);
      if (left > 0) return;
      this.#loaded.shift();
    }
  }

  /** @param {string} line */
  #begin(line) {
    const start = LIKE_DENO.start.exec(line);
    if (start?.[1] === undefined || this.pending !== undefined) return;
    this.moves++;
    this.#nextFile();
    this.pending = start[1];
  }

  /**
   * @param {string} name
   * @param {keyof Totals} verdict
   */
  #end(name, verdict) {
    this.moves++;
    this.totals[verdict]++;
    this.pending = undefined;
    this.last = name;
    const file = this.files.at(-1) ?? "";
    this.ran.add(file);
    if (verdict === "failed") this.failures.push(`${file}: ${name}`);
  }

  /**
   * The runner knows best, where it comes to say so: it counts faults outside of tests too.
   *
   * @param {Totals} totals
   */
  #summary(totals) {
    this.ended = true;
    this.#nextFile();
    this.totals = { ...totals };
  }
}
