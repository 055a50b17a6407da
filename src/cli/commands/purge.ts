import { type Command, Option } from "commander";
import type { PurgeQuery } from "../../engine/operations/purge.ts";
import type { Duration } from "../../model/durations.ts";
import type { RunStatus } from "../../model/run.ts";
import type { Store } from "../../store/store.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { isTerminal } from "../colours.ts";
import { withDatabase } from "../database.ts";
import { StoppedError, UsageError } from "../faults.ts";
import { counted } from "../format.ts";
import { addDatabase, durationOrDate, SOURCES } from "../options.ts";
import { jsonText } from "../printable.ts";
import { runRecord } from "../reading.ts";
import { defined } from "../../model/defined.ts";
import { rowsOf } from "../../model/pages.ts";
import { graphIds, sorted } from "../sources.ts";
import { standIn } from "../codeless_runner.ts";

interface PurgeOptions extends CommonOptions {
  readonly db: string;
  readonly workflow?: string;
  readonly status?: RunStatus;
  readonly tag?: string;
  readonly olderThan?: Duration | Date;
  readonly all?: boolean;
  readonly force?: boolean;
  readonly yes?: boolean;
}

/** `superstep purge`. */
export function addPurge(program: Command, cli: Cli): void {
  const command = program.command("purge")
    .description("remove runs that are over, with everything of them")
    .usage("[options] [run...] [sources...]")
    .argument("[arguments...]", `ids of runs; or ${SOURCES}, for runs of those workflows only`)
    .option("-w, --workflow <id>", "only runs of this workflow")
    .addOption(
      new Option("-s, --status <status>", "only runs with this status")
        .choices(["running", "completed", "interrupted", "cancelled"]),
    )
    .option("--tag <word>", "only runs with this tag")
    .option(
      "--older-than <time>",
      "only runs in which nothing has happened for so long, or since",
      durationOrDate,
    )
    .option("--all", "every run that is over")
    .option("--force", "runs that are not over, too; they are cancelled first")
    .option("-y, --yes", "do not ask");
  addDatabase(command).action((given: readonly string[], options: PurgeOptions) =>
    purge(cli, given, options)
  );
}

async function purge(cli: Cli, given: readonly string[], options: PurgeOptions): Promise<void> {
  const { ids, sources } = sorted(given);
  const { workflow, status, tag, olderThan, force = false, all, json = false } = options;
  const query: PurgeQuery = defined({ force, status, tag, olderThan });
  const chosen = sources.length > 0 ||
    [workflow, status, tag, olderThan].some((option) => option !== undefined);
  if (ids.length === 0 && !chosen && all !== true) {
    throw new UsageError(
      "nothing says which runs; give ids, --older-than, --status, --tag, --workflow, or --all",
    );
  }
  const only = await graphIds(sources, workflow);
  await withDatabase(options.db, { create: false }, async (store) => {
    const graphOf = new Map<string, string>();
    for (const id of ids) graphOf.set(id, (await runRecord(store, id)).graphId);
    await confirmed(
      cli,
      options,
      ids.length === 0 ? "Every run that fits is" : `${counted(ids.length, "run")} will be`,
    );
    let purged = 0;
    for (const [runId, graphId] of graphOf) {
      purged += await standIn(graphId, store, cli).purge({ ...query, runId });
    }
    if (ids.length === 0) {
      for (const graphId of only ?? await graphsIn(store)) {
        purged += await standIn(graphId, store, cli).purge(query);
      }
    }
    cli.print(json ? jsonText({ purged }) : `${counted(purged, "run")} removed`);
  });
}

/** What is removed is gone for good, so a terminal is asked first. */
async function confirmed(cli: Cli, { yes, json }: PurgeOptions, what: string): Promise<void> {
  if (yes === true) return;
  if (json === true || cli.io.stdin.isTTY !== true || !isTerminal(cli.io, cli.io.stderr)) {
    throw new UsageError("runs are removed for good, and there is no terminal to ask on; give --yes");
  }
  const { terminalPrompter } = await import("../answer/prompter.ts");
  const prompter = await terminalPrompter(cli.io);
  if (await prompter.choose(`${what} removed for good. Go on?`, ["no", "yes"]) === 0) {
    throw new StoppedError("nothing was removed");
  }
}

/** The ids of all graphs that have runs. */
async function graphsIn(store: Store): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for await (const { graphId } of rowsOf((start) => store.list({ limit: 500, ...start }))) found.add(graphId);
  return found;
}
