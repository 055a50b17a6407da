import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Hooks, RunBusyError, type Runner, type RunResult, type Store } from "superstep";
import { denoKv } from "superstep/store/deno-kv";
import { printHistory } from "./history.ts";
import { Ledger } from "./ledger.ts";

/** What the program ends with, so that a shell can tell what a run came to. */
const EXIT = {
  completed: 0,
  fault: 1,
  awaiting: 2,
  sleeping: 2,
  errored: 3,
  halted: 3,
  cancelled: 4,
} as const;

/**
 * A very small command line for one workflow on one Deno KV file: every command opens the file, does its work and ends,
 * so that each could run in another process, on another day.
 *
 * @returns The exit code.
 */
export async function commandLine<S>(
  name: string,
  open: (store: Store, ledger: Ledger) => Runner<S>,
): Promise<number> {
  try {
    const { values: options, positionals: [command, ...args] } = parseArgs({
      options: {
        db: { type: "string", default: `./${name}.db` },
        id: { type: "string" },
        takeover: { type: "boolean", default: false },
      },
      allowPositionals: true,
    });
    const usage = `usage: ${name} start <input.json> [--id <run>] | waits | answer <wait> <json> | ` +
      "resume <run> [--takeover] | history <run>, each with [--db <file>]";
    const [first, second] = args;
    const store = await denoKv(options.db);
    try {
      const runner = open(store, new Ledger(`${options.db}-ledger.jsonl`));
      if (command === "waits") return await listWaits(runner);
      if (first === undefined) throw new Error(usage);
      switch (command) {
        case "start":
          return await start(runner, first, options.id);
        case "answer":
          return await answer(runner, first, second ?? "");
        case "resume":
          return report(await resume(runner, first, options.takeover));
        case "history":
          await printHistory(runner, first);
          return 0;
        default:
          throw new Error(usage);
      }
    } finally {
      await store.close();
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return EXIT.fault;
  }
}

async function start<S>(runner: Runner<S>, file: string, runId: string | undefined): Promise<number> {
  const input: unknown = JSON.parse(await readFile(file, "utf8"));
  return report(await runner.run(input, { ...(runId === undefined ? {} : { runId }), hooks: progress }));
}

async function listWaits<S>(runner: Runner<S>): Promise<number> {
  for (const { waitId, runId, vertexId, name, info } of (await runner.waits()).rows) {
    console.log(`${waitId}  ${name}, asked by ${vertexId} of run ${runId}`);
    console.log(JSON.stringify(info, null, 2));
  }
  return 0;
}

async function answer<S>(runner: Runner<S>, waitId: string, json: string): Promise<number> {
  const open = (await runner.waits({ limit: 1000 })).rows.find((wait) => wait.waitId === waitId);
  if (open === undefined) throw new Error(`no wait ${waitId} is open`);
  await runner.answer(open.runId, waitId, JSON.parse(json));
  console.log(`accepted; resume ${open.runId} to go on`);
  return 0;
}

/**
 * Goes on with a run. One that a process died over is taken over once that has been silent for its lease of 15 s, for
 * nobody can tell a dead process from a slow one at once. Whoever knows better says so with `takeover`.
 */
async function resume<S>(runner: Runner<S>, runId: string, takeover: boolean): Promise<RunResult<S>> {
  const { owner } = await runner.status(runId);
  if (owner !== undefined && !takeover) {
    console.log("another process owns the run; it is taken over once its lease has run out");
  }
  for (;;) {
    try {
      return await runner.resume(runId, { takeover, hooks: progress });
    } catch (error) {
      if (!(error instanceof RunBusyError)) throw error;
      await pause(500);
    }
  }
}

/** Prints what a run does while it does it. */
const progress: Hooks = {
  vertexStart: ({ vertexId }) => console.log(`▶ ${vertexId}`),
  vertexFinish: ({ vertexId, status, startedAt, endedAt, failure }) => {
    if (status === "done") console.log(`✔ ${vertexId}  ${endedAt - startedAt} ms`);
    if (status === "failed") console.log(`✘ ${vertexId}: ${failure?.message}`);
  },
  attemptFailed: ({ vertexId, attempt, failure, nextAt }) => {
    const seconds = Math.max(0, nextAt - Date.now()) / 1000;
    console.log(`↻ ${vertexId}, attempt ${attempt}: ${failure.message}; again in ${seconds.toFixed(1)} s`);
  },
  wait: ({ vertexId, name, waitId }) => console.log(`⏸ ${vertexId} waits for ${name} (${waitId})`),
};

function report<S>(result: RunResult<S>): number {
  const { run, path, status } = result;
  console.log(
    `run ${run.runId} is ${result.status === "interrupted" ? result.reason : status}: ${path.join(" → ")}`,
  );
  if (result.status !== "interrupted") return EXIT[result.status];
  for (const { error } of result.failures) console.log(error.message);
  if (result.halt !== undefined) console.log(result.halt.message);
  return EXIT[result.reason];
}
