import { Command, CommanderError } from "commander";
import { VERSION } from "../runtime/version.ts";
import { Cli } from "./cli.ts";
import { addAnswer } from "./commands/answer.ts";
import { addCancel } from "./commands/cancel.ts";
import { addFork } from "./commands/fork.ts";
import { addGet } from "./commands/get.ts";
import { addGraph } from "./commands/graph.ts";
import { addHistory } from "./commands/history.ts";
import { addList } from "./commands/list.ts";
import { addMigrate } from "./commands/migrate.ts";
import { addPurge } from "./commands/purge.ts";
import { addResume } from "./commands/resume.ts";
import { addRetain } from "./commands/retain.ts";
import { addRun } from "./commands/run.ts";
import { addSchedules } from "./commands/schedules.ts";
import { addSchema } from "./commands/schema.ts";
import { addServe } from "./commands/serve.ts";
import { addUpdate } from "./commands/update.ts";
import { addVersions } from "./commands/versions.ts";
import { addWaits } from "./commands/waits.ts";
import { addWorkers } from "./commands/workers.ts";
import { DEFAULT_DB } from "./database.ts";
import { EXIT } from "./exit.ts";
import { faultOf, StoppedError, UsageError } from "./faults.ts";
import type { Io } from "./io.ts";
import { programName } from "./next.ts";
import { jsonText } from "./printable.ts";
import { shownDatabase } from "./remote.ts";

const CODES = `
Exit codes: 0 completed or done, 2 awaiting or sleeping, 3 errored or halted, 4 cancelled, 1 a fault of usage or of the
engine, 130 or 143 stopped by Ctrl-C or SIGTERM.

JSON given and printed is lossless: {"$date": "2026-11-29T12:00:00.000Z"}, {"$bigint": "1"}, {"$map": [[key, value]]},
{"$set": [value]}, {"$bytes": "<base64>"}, {"$number": "NaN"}, {"$undefined": true}.
`;

/** The commands, in the order of the help. */
const COMMANDS = [
  addRun,
  addResume,
  addAnswer,
  addWaits,
  addList,
  addGet,
  addHistory,
  addGraph,
  addCancel,
  addFork,
  addUpdate,
  addPurge,
  addRetain,
  addServe,
  addWorkers,
  addVersions,
  addMigrate,
  addSchedules,
  addSchema,
];

/** Runs the command line and answers the exit code. */
export async function runProgram(argv: readonly string[], io: Io): Promise<number> {
  const cli = new Cli(io);
  const program = new Command("superstep")
    .description("Runs durable graph workflows and looks into them.")
    .version(VERSION, "-V, --version", "print the version")
    .addHelpText("after", CODES)
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      // Faults are told below, in one line.
      writeErr: () => {},
      getOutHasColors: () => cli.colours.isColorSupported,
      getErrHasColors: () => cli.noteColours.isColorSupported,
    })
    .exitOverride();
  for (const add of COMMANDS) add(program, cli);
  try {
    await program.parseAsync(argv, { from: "user" });
    return cli.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    if (argv.length === 0) {
      io.stderr.write(program.helpInformation());
      return EXIT.fault;
    }
    tell(cli, error instanceof CommanderError ? usageFault(program, error, argv, io) : error, argv);
    return error instanceof StoppedError ? EXIT[error.signal] : EXIT.fault;
  }
}

/** What is missing, with what it is for: the words of the parser name it only. */
function usageFault(program: Command, error: CommanderError, argv: readonly string[], io: Io): Error {
  const command = program.commands.find((c) => c.name() === argv[0]);
  if (command === undefined) return error;
  if (error.code === "commander.missingArgument") {
    const wanted = command.usage().replace("[options] ", "");
    const example = wanted.replace(/ ?\[[^\]]*\] ?/g, "").replace("<run>", "r1").replace(
      "<sources...>",
      "flow.ts",
    );
    const name = command.name();
    return new UsageError(`${name} needs ${wanted}, such as: ${programName(io.env)} ${name} ${example}`);
  }
  if (error.code === "commander.optionMissingArgument") {
    const option = command.options.find((o) => error.message.includes(`'${o.flags}'`));
    const text = error.message.replace(/^error: /, "");
    if (option !== undefined) return new UsageError(`${text}: ${option.description}`);
  }
  return error;
}

function tell(cli: Cli, error: unknown, argv: readonly string[]): void {
  if (error instanceof StoppedError) return cli.note(error.message);
  const fault = faultOf(error, shownDatabase(valueOf(argv, "--db") ?? DEFAULT_DB));
  if (argv.includes("--json")) {
    const { code, message, details, fields } = fault;
    const more = details.length > 0 ? { details } : {};
    return cli.note(jsonText({ error: { code, message, ...more, ...fields } }));
  }
  cli.note(`${cli.noteColours.red("superstep:")} ${fault.message}`);
  for (const detail of fault.details) cli.note(`  ${detail}`);
  if (argv.includes("--debug") && error instanceof Error) cli.note(String(error.stack));
}

function valueOf(argv: readonly string[], option: string): string | undefined {
  const at = argv.findLastIndex((word) => word === option || word.startsWith(`${option}=`));
  return argv[at] === option ? argv[at + 1] : argv[at]?.slice(option.length + 1);
}
