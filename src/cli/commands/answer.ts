import type { Command } from "commander";
import type { InboxEntry } from "../../engine/history.ts";
import { waitsOf } from "../../engine/result.ts";
import type { Runner } from "../../engine/runner.ts";
import type { Store } from "../../store/store.ts";
import { fillIn } from "../answer/form.ts";
import { type Prompter, terminalPrompter } from "../answer/prompter.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { isTerminal } from "../colours.ts";
import { dbArgument, withDatabase } from "../database.ts";
import { UsageError } from "../faults.ts";
import { readValue } from "../input.ts";
import { addDatabase, addRunning, SOURCES } from "../options.ts";
import { block, jsonText, line } from "../printable.ts";
import { nameOf } from "../progress/plain.ts";
import { cursorOf, openWaits, runRecord } from "../reading.ts";
import { infoText } from "../report.ts";
import { sorted, Workflows } from "../sources.ts";
import { type NextCommands, nextCommands } from "../next.ts";
import { type RunningOptions, work } from "../work.ts";

interface AnswerOptions extends CommonOptions, RunningOptions {
  readonly workflow?: string;
  readonly value?: string;
  readonly resume?: boolean;
  readonly provide?: string;
  readonly adopt?: boolean;
}

/** `superstep answer`. */
export function addAnswer(program: Command, cli: Cli): void {
  const command = program.command("answer")
    .description("answer an open wait; without --value, a terminal is asked for it field by field")
    .usage("[options] [wait|run] <sources...>")
    .argument(
      "<arguments...>",
      `the id of the wait, or of its run, or neither when only one wait is open, and ${SOURCES}, in any order`,
    )
    .option("-w, --workflow <id>", "only waits of this workflow")
    .option("-v, --value <json>", "the answer as JSON, @file, or - for the standard input")
    .option("--resume", "go on with the run at once");
  addRunning(addDatabase(command)).action((given: readonly string[], options: AnswerOptions) =>
    answer(cli, given, options)
  );
}

async function answer(cli: Cli, given: readonly string[], options: AnswerOptions): Promise<void> {
  const { ids, sources } = sorted(given);
  if (ids.length > 2) throw new UsageError(`${ids.join(" and ")} are no files or folders; check the path`);
  const { json = false, db } = options;
  const asking = options.value === undefined;
  if (asking && (json || cli.io.stdin.isTTY !== true || !isTerminal(cli.io, cli.io.stderr))) {
    throw new UsageError("no answer is given, and there is no terminal to ask on; give it with --value");
  }
  const workflows = await Workflows.load(sources, options);
  const graphs = options.workflow === undefined ? workflows.ids : [workflows.pick(options.workflow).id];
  const value = asking ? undefined : await readValue(cli.io, options.value!, "the answer");
  await withDatabase(db, { create: false }, async (store) => {
    const prompter = asking ? await terminalPrompter(cli.io) : undefined;
    const next = nextCommands(cli.io.env, sources, db);
    const has = workflows.has.bind(workflows);
    const wait = await find(store, { ids, graphs, prompter, db, next, has });
    const runner = workflows.runner(workflows.ofRun(await runRecord(store, wait.runId)), store, cli);
    if (prompter === undefined) await runner.answer(wait.runId, wait.waitId, value);
    else await ask(cli, runner, wait, prompter);
    if (options.resume === true) {
      return await work(cli, options, next, (how) => runner.resume(wait.runId, how));
    }
    const { runId, waitId } = wait;
    if (json) return cli.print(jsonText({ runId, waitId, accepted: true }));
    cli.print(`accepted; ${line(await goesOn(runner, runId, next.resume(runId)))}`);
  });
}

async function goesOn(runner: Runner<unknown>, runId: string, resume: string): Promise<string> {
  const { owner } = await runner.status(runId);
  return owner === undefined
    ? `a worker takes it up, or go on with: ${resume}`
    : "the process that is at work on the run takes it up";
}

interface Search {
  readonly ids: readonly string[];
  readonly graphs: readonly string[];
  readonly prompter: Prompter | undefined;
  readonly db: string;
  readonly next: NextCommands;
  readonly has: (graphId: string, graphVersion: string) => boolean;
}

/** A wait to be answered: an open one, or one that was named with its run and may tell itself why it is not open. */
type Found = Pick<InboxEntry, "waitId" | "runId" | "graphId"> & Partial<InboxEntry>;

async function find(store: Store, search: Search): Promise<Found> {
  const { ids, graphs, prompter, db, next, has } = search;
  const found: InboxEntry[] = [];
  const [first, second] = ids;
  const run = first !== undefined && await isRun(store, first)
    ? first
    : second !== undefined && await isRun(store, second)
    ? second
    : undefined;
  const wait = ids.find((id) => id !== run);
  const rows = openWaits(store, { has, ...(run === undefined ? { graphs } : { run }) });
  for await (const row of rows) if (wait === undefined || row.waitId === wait) found.push(row);
  const [only, ...more] = found;
  if (only !== undefined && more.length === 0) return only;
  if (only !== undefined) return await chosen(found, prompter, db);
  // The engine knows best why a wait of a run is not open.
  if (run !== undefined && wait !== undefined) {
    const { checkpoint } = await cursorOf(store, run, { state: false });
    return { runId: run, waitId: wait, graphId: checkpoint.run.graphId };
  }
  const waits = `superstep waits${dbArgument(db)}`;
  if (run !== undefined) {
    const cursor = await cursorOf(store, run, { state: false });
    const { status, reason = status } = cursor.checkpoint.run;
    if (waitsOf(cursor).answered.length > 0) {
      throw new UsageError(`run ${run} is answered already; go on with: ${next.resume(run)}`);
    }
    throw new UsageError(`run ${run} has no open wait; it is ${reason}`);
  }
  throw new UsageError(
    wait === undefined
      ? `no wait of ${graphs.join(", ")} is open`
      : `no wait ${wait} is open, and no run has that id; see ${waits}`,
  );
}

async function isRun(store: Store, id: string): Promise<boolean> {
  return (await store.tail(id)) !== undefined;
}

async function chosen(
  found: readonly InboxEntry[],
  prompter: Prompter | undefined,
  db: string,
): Promise<InboxEntry> {
  const labels = found.map((w) =>
    `${w.waitId}  ${w.name} of ${nameOf(w)}, run ${w.runId}  ${infoText(w.info, 40)}`
  );
  if (prompter !== undefined) return found[await prompter.choose("Which wait?", labels)]!;
  throw new UsageError(
    `${found.length} waits are open; give the id of one, see superstep waits${dbArgument(db)}`,
    labels,
  );
}

async function ask(cli: Cli, runner: Runner<unknown>, wait: Found, prompter: Prompter): Promise<void> {
  const { bold, dim, red } = cli.noteColours;
  const { runId, waitId, name = waitId, unanswerable } = wait;
  if (unanswerable !== undefined) {
    throw new UsageError(`wait ${name} of run ${runId} cannot be answered: ${unanswerable}`);
  }
  cli.note(
    `${bold(line(name))} ${
      dim(`of ${line(nameOf({ vertexId: wait.vertexId ?? "", ...wait }))}, run ${runId}`)
    }`,
  );
  if (wait.info !== undefined) cli.note(block(jsonText(wait.info, 2)));
  await fillIn(wait.schema, name, {
    prompter,
    submit: (value) => runner.answer(runId, waitId, value),
    fault: (text) => cli.note(red(line(text))),
  });
}
