import { existsSync } from "node:fs";
import { realpath, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { type Hooks, RunAbortedError, type Runner, type RunResult, type Store } from "superstep";
import { denoKv } from "superstep/store/deno-kv";
import type { Report, Workspace } from "../folder_report.ts";
import { historyOf } from "../support/history.ts";
import { Ledger } from "../support/ledger.ts";
import { render } from "./markdown.ts";

const USAGE = "usage: folder_report <folder> [--out <report.md>] [--db <file>] [--run <name>] " +
  "[--concurrency <files at once>] [--pace <milliseconds per file>]";

type Open = (store: Store, workspace: Workspace) => Runner<Report>;

/** The program around the workflow; answers its exit code. */
export async function main(open: Open): Promise<number> {
  try {
    return await run(open);
  } catch (error) {
    if (error instanceof RunAbortedError) {
      console.error("stopped; start the program again to go on");
      return 2;
    }
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

async function run(open: Open): Promise<number> {
  const { values, positionals: [given, ...more] } = parseArgs({
    options: {
      out: { type: "string", default: "report.md" },
      db: { type: "string", default: "folder_report.db" },
      run: { type: "string", default: "" },
      concurrency: { type: "string", default: "16" },
      pace: { type: "string", default: "0" },
    },
    allowPositionals: true,
  });
  if (given === undefined || more.length > 0) throw new Error(USAGE);
  const paceMs = Number(values.pace);
  if (!(paceMs >= 0)) throw new Error(`--pace is ${values.pace}; give milliseconds`);
  const folder = await folderAt(given);
  const [db, out] = [await fileAt(values.db), await fileAt(values.out)];
  const ledger = new Ledger(`${db}-ledger.jsonl`);
  const own = [out, ledger.path, db, `${db}-wal`, `${db}-shm`];

  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  const store = await denoKv(db);
  try {
    const runner = open(store, { ledger, out, own, paceMs });
    const seen = new Progress();
    const options = { signal: stop.signal, concurrency: Number(values.concurrency), hooks: seen.hooks };

    const { runId, result } = await runner.start({ folder }, {
      ...options,
      idempotencyKey: `${folder}\n${values.run}`,
    });
    await seen.printSkipped(runner, runId);
    // A run that is there already and failed is begun again; any other one goes on by itself.
    const failed = (await runner.status(runId)).status === "interrupted";
    const report = await (failed ? runner.resume(runId, options) : result());

    if (report.status !== "completed") return explain(report);
    if (!existsSync(out)) await writeFile(out, render(report.state));
    console.log(`\n${report.state.rows.length} files, ${seen.read} read now: ${out}`);
    return audit(ledger, report);
  } finally {
    await store.close();
  }
}

/** Tells for each file whether it is read by this process, or was by another one before. */
class Progress {
  readonly #begun = new Set<number>();
  readonly #texts = new Map<number, string>();
  read = 0;

  readonly hooks: Hooks = {
    vertexStart: ({ item }) => {
      if (item !== undefined) this.#begun.add(item);
    },
    emit: ({ name, item, data }) => {
      if (item !== undefined) this.#texts.set(item, `${name.padEnd(8)} ${data}`);
    },
    // Only now is it durable, and will never be read again.
    vertexFinish: ({ item, status }) => {
      if (item === undefined || status !== "done") return;
      this.read++;
      console.log(this.#texts.get(item));
    },
  };

  async printSkipped(runner: Runner<Report>, runId: string): Promise<void> {
    const finished = new Set<number>();
    for await (const { events } of historyOf(runner, runId)) {
      for (const event of events) {
        if (event.type === "done" && event.item !== undefined) finished.add(event.item);
      }
    }
    const { state } = await runner.get(runId);
    for (const item of finished) {
      if (!this.#begun.has(item)) console.log(`skipped  ${state.files[item]}`);
    }
  }
}

/** Prints what ran how often; a vertex or file that was finished and had its turn again is a fault. */
function audit(ledger: Ledger, { run: { runId }, state: { files } }: RunResult<Report>): number {
  console.log("vertex × executions");
  for (const [vertex, { executions }] of ledger.totals(runId)) {
    console.log(`${vertex.padEnd(6)} × ${executions}`);
  }
  const twice = new Set(ledger.repeated(runId).map(({ vertex, item }) => files[item ?? -1] ?? vertex));
  const finished = new Set<unknown>();
  for (const { event, item, detail } of ledger.entries(runId)) {
    if (event === "finished" && item !== undefined) finished.add(files[item]);
    if (event === "read" && finished.has(detail)) twice.add(String(detail));
  }
  for (const name of twice) console.error(`${name} was finished and had its turn again`);
  return twice.size === 0 ? 0 : 1;
}

function explain(result: Exclude<RunResult<Report>, { status: "completed" }>): number {
  if (result.status === "interrupted") {
    for (const { error } of result.failures) console.error(error.message);
  }
  console.error(`run ${result.run.runId} is ${result.status}; start the program again to go on`);
  return 3;
}

async function folderAt(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new Error(`there is no folder ${path}`);
  if (!found.isDirectory()) throw new Error(`${path} is no folder`);
  return await realpath(path);
}

/** The absolute path of a file that may not exist yet, in a folder that does. */
async function fileAt(path: string): Promise<string> {
  return join(await folderAt(dirname(path)), basename(path));
}
