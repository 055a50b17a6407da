import type { Command } from "commander";
import { type HistoryEntry, historyOf } from "../../engine/history.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { bytes, counted, day, span, timeOfDay } from "../format.ts";
import { addDatabase, revision, wholeNumber } from "../options.ts";
import { jsonText } from "../printable.ts";
import { logOf } from "../reading.ts";
import { oneId } from "../sources.ts";
import { statusText } from "../report.ts";
import { rowsOf } from "../../model/pages.ts";
import { timelineEvents } from "../timeline.ts";

interface HistoryOptions extends CommonOptions {
  readonly db: string;
  readonly from?: number;
  readonly limit?: number;
}

const PAGE = 500;

/** `superstep history`. */
export function addHistory(program: Command, cli: Cli): void {
  const command = program.command("history")
    .description("show what happened in a run, record by record")
    .argument("<run>", "the id of the run")
    .argument("[sources...]", "not needed, for the records tell it all")
    .option("--from <revision>", "begin at this revision", revision)
    .option("-n, --limit <n>", "at most n records", wholeNumber);
  addDatabase(command).action((run: string, more: readonly string[], options: HistoryOptions) =>
    history(cli, [run, ...more], options)
  );
}

async function history(cli: Cli, given: readonly string[], options: HistoryOptions): Promise<void> {
  const { id } = oneId(given, "run id");
  const { from = 0, limit = Infinity } = options;
  await withDatabase(options.db, { create: false }, async (store) => {
    const timeline = new Timeline(cli);
    const log = logOf(store);
    const entries = rowsOf(
      (start) =>
        historyOf(log, id, {
          limit: Math.min(PAGE, limit),
          ...(start.cursor === undefined ? { from } : start),
        }),
      undefined,
      limit,
    );
    for await (const entry of entries) {
      if (options.json === true) cli.print(jsonText(entry));
      else timeline.print(entry);
    }
    if (options.json !== true) timeline.end();
  });
}

/** Lines of a table whose last column may be as long as it likes, printed as they come. */
class Timeline {
  readonly #cli: Cli;
  #first: HistoryEntry | undefined;
  #last: HistoryEntry | undefined;
  #records = 0;
  #bytes = 0;

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  print(entry: HistoryEntry): void {
    const { dim } = this.#cli.colours;
    if (this.#first === undefined) this.#cli.print(dim(`${columns("REV", "TIME", "STEP", "BYTES")}  WHAT`));
    if (this.#last === undefined || day(this.#last.at) !== day(entry.at)) this.#cli.print(dim(day(entry.at)));
    const { at, step } = entry;
    const head = columns(String(entry.revision), timeOfDay(at), String(step), bytes(entry.bytes));
    const [first = "", ...more] = timelineEvents(this.#cli, entry);
    this.#cli.print(`${dim(head)}  ${first}`);
    for (const text of more) this.#cli.print(`${" ".repeat(head.length)}  ${text}`);
    this.#first ??= entry;
    this.#last = entry;
    this.#records++;
    this.#bytes += entry.bytes;
  }

  end(): void {
    if (this.#first === undefined || this.#last === undefined) return this.#cli.note("no such records");
    const took = span(this.#last.at - this.#first.at);
    this.#cli.print(
      `${statusText(this.#cli, this.#last)}  ${
        this.#cli.colours.dim(`${counted(this.#records, "record")}, ${bytes(this.#bytes)}, ${took}`)
      }`,
    );
  }
}

function columns(revision: string, time: string, step: string, size: string): string {
  return `${revision.padStart(5)}  ${time.padEnd(12)}  ${step.padStart(4)}  ${size.padStart(9)}`;
}
