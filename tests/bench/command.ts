import { Command, InvalidArgumentError } from "commander";
import { Cli } from "../../src/cli/cli.ts";
import type { Io } from "../../src/cli/io.ts";
import { HOST, type RuntimeName, RUNTIMES } from "../support/runtimes.ts";
import { linesOf } from "./lines.ts";
import { peerLines } from "./peers.ts";
import { printLines } from "./report.ts";
import type { Line, Request, Sample } from "./types.ts";
import { WORKLOADS } from "./workloads/mod.ts";

const EPILOGUE = `
Ids: ${[...new Set(WORKLOADS.map(({ id }) => id))].join(", ")}; workloads: ${
  WORKLOADS.map(({ name }) => name).join(", ")
}.
N1 to N8 are the goals of docs/spec.md. The bound is a bare commit, or what is named, of the same repeat.
`;

/** What the command needs of its process. */
export interface BenchHost {
  readonly io: Io;
  /** Measures a workload, here or in a process of its own. */
  readonly measure: (request: Request) => Promise<readonly Sample[]>;
  /** Makes the runtimes ready to run this repository. */
  readonly prepare: (runtimes: readonly RuntimeName[]) => Promise<void>;
}

interface Options {
  readonly only?: readonly string[];
  readonly on?: readonly RuntimeName[];
  readonly all?: boolean;
  readonly repeats: number;
  readonly quick?: boolean;
  readonly long?: boolean;
  readonly peers?: string | true;
  readonly json?: boolean;
}

const list = (text: string) => text.split(",").filter(Boolean);

/** Runs the command and answers the exit code: 1 where a target was missed. */
export async function bench(argv: readonly string[], { io, measure, prepare }: BenchHost): Promise<number> {
  const program = new Command("bench")
    .description("Measures superstep beside what its file could do at best, in one run.")
    .option("--only <ids>", "ids or workloads, such as N1,N6,http", list)
    .option("--on <runtimes>", "deno, bun, node", runtimesOf)
    .option("--all", "on all three")
    .option("--repeats <n>", "samples of each figure", wholeNumber, 7)
    .option("--quick", "small sizes: shows that everything works, the figures mean nothing")
    .option("--long", "sizes that take minutes, too")
    .option("--peers [folder]", "other engines, by the scripts in this folder or in $SUPERSTEP_BENCH_PEERS")
    .option("--json", "a line of JSON for each figure")
    .addHelpText("after", EPILOGUE)
    .allowExcessArguments(false);
  await program.parseAsync(argv, { from: "user" });
  const options = program.opts<Options>();
  const cli = new Cli(io);
  const { quick = false, long = false } = options;
  const repeats = quick ? 1 : options.repeats;
  const runtimes = options.all === true ? RUNTIMES : options.on ?? [HOST];
  const chosen = WORKLOADS.filter(({ id, name }) =>
    options.only === undefined || options.only.includes(id) || options.only.includes(name)
  );
  if (chosen.length === 0) program.error(`there is no ${options.only?.join(", ")}`);
  await prepare(runtimes);

  const lines: Line[] = [];
  const add = (more: readonly Line[]) => {
    lines.push(...more);
    if (options.json === true) { for (const line of more) cli.print(JSON.stringify(line)); }
  };
  for (const { id, name: workload, modes } of chosen) {
    for (const runtime of runtimes) {
      for (const mode of modes) {
        cli.note(cli.noteColours.dim(`${id} ${workload} on ${runtime}, ${mode}`));
        const request = { workload, runtime, mode, quick, long, repeats: mode === "once" ? 1 : repeats };
        add(linesOf(await measure(request), runtime, mode));
      }
    }
  }
  if (options.peers !== undefined) add(await peerLines(cli, options.peers, lines, repeats));
  if (options.json !== true) await printLines(cli, lines);
  return !quick && lines.some(({ ok }) => ok === false) ? 1 : 0;
}

function runtimesOf(text: string): readonly RuntimeName[] {
  const names = list(text);
  const unknown = names.find((name) => !RUNTIMES.some((known) => known === name));
  if (unknown !== undefined) {
    throw new InvalidArgumentError(`${unknown} is not one of ${RUNTIMES.join(", ")}`);
  }
  return RUNTIMES.filter((name) => names.includes(name));
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError("give a whole number from 1");
  return value;
}
