import type { Command } from "commander";
import type { Hooks } from "../../engine/events.ts";
import type { Runner } from "../../engine/runner.ts";
import { defined } from "../../model/defined.ts";
import type { Duration } from "../../model/durations.ts";
import type { RunRecord } from "../../model/run.ts";
import type { ScannedWorkflow } from "../../scanner/mod.ts";
import type { Store } from "../../store/store.ts";
import { serve } from "../../worker/mod.ts";
import type { Cli, CommonOptions } from "../cli.ts";
import { withDatabase } from "../database.ts";
import { EXIT } from "../exit.ts";
import { timeOfDay } from "../format.ts";
import { addDatabase, ADOPT, duration, port, SOURCES, wholeNumber } from "../options.ts";
import { jsonText, line } from "../printable.ts";
import { shownDatabase } from "../remote.ts";
import { statusText } from "../report.ts";
import { Workflows } from "../sources.ts";
import { captureConsole } from "../work.ts";

interface ServeCommandOptions extends CommonOptions {
  readonly db: string;
  readonly workflow?: string;
  readonly provide?: string;
  readonly adopt?: boolean;
  readonly concurrency?: number;
  readonly name?: string;
  readonly grace?: Duration;
  readonly poll?: Duration;
  readonly schedules: boolean;
  readonly plane?: string;
  readonly port?: number;
}

/** `superstep serve`. */
export function addServe(program: Command, cli: Cli): void {
  const command = program.command("serve")
    .description(
      "work on every run that is due, until stopped: submitted, answered, left by dead processes, scheduled",
    )
    .argument("<sources...>", SOURCES)
    .option(
      "-w, --workflow <id>",
      "only this workflow, such as approval, or approval@2 for one version of it",
    )
    .option("--provide <module>", "a module that exports provide(cls), which makes the tasks")
    .option("--adopt", ADOPT)
    .option("--concurrency <n>", "the most runs at once (default: 32)", wholeNumber)
    .option("--name <name>", "what superstep workers calls this one (default: host and process)")
    .option("--poll <span>", "how often to look for runs that are due (default: 1s)", duration)
    .option("--grace <span>", "how long runs may go on when the worker stops (default: 5s)", duration)
    .option(
      "--port <n>",
      "take requests of this machine too, with the dashboard at /ui; 0 is any free port",
      port,
    )
    .option(
      "--plane <url>",
      "learn of due runs from NATS too, such as nats://host:4222 (default: SUPERSTEP_PLANE)",
    )
    .option("--no-schedules", "start no runs by schedules");
  addDatabase(command).action((sources: readonly string[], options: ServeCommandOptions) =>
    serveSources(cli, sources, options)
  );
}

async function serveSources(
  cli: Cli,
  sources: readonly string[],
  options: ServeCommandOptions,
): Promise<void> {
  const { concurrency, name, grace, poll, schedules } = options;
  const workflows = await Workflows.load(sources, options);
  const served = options.workflow === undefined ? workflows.all : workflows.named(options.workflow);
  if (options.json !== true) { for (const workflow of served) workflows.noteArguments(workflow, cli); }
  const release = captureConsole(cli.io, (data) => cli.printed(data));
  try {
    await withDatabase(options.db, { create: true, plane: options.plane }, async (store, plane) => {
      const runners = served.map((workflow) => workflows.runner(workflow, store, cli));
      await using http = await overHttp(cli, store, runners, options.port);
      const worker = await serve({
        store,
        runners,
        logger: cli.logger,
        hooks: hooksFor(cli, options.json === true),
        schedules,
        ...defined({ concurrency, name, grace, poll, plane }),
      });
      let asked = 0;
      const unlisten = cli.io.onStop((signal) => {
        if (asked++ > 0) return cli.io.exit(EXIT[signal]);
        cli.exitCode = EXIT[signal];
        cli.note(
          "stopping: no more runs are taken, those at work may come to a pause; once more to stop at once",
        );
        void worker.stop();
      });
      cli.note(
        `serving ${servedText(served)} from ${line(shownDatabase(options.db))}${
          http.url === undefined ? "" : ` at ${http.url}, for people at ${http.url}/ui`
        }; stop with Ctrl-C`,
      );
      try {
        await worker.stopped;
        if (asked === 0) cli.exitCode = EXIT.fault;
      } finally {
        unlisten();
      }
    });
  } finally {
    release();
  }
}

/** What is served; several versions of one workflow are told apart. */
function servedText(served: readonly ScannedWorkflow[]): string {
  const several = ({ id }: ScannedWorkflow) => served.filter((other) => other.id === id).length > 1;
  return served.map((w) => line(several(w) ? `${w.id}@${w.version}` : w.id)).join(", ");
}

/** Where the runs are served over HTTP, if they are. */
interface OverHttp extends AsyncDisposable {
  readonly url?: string;
}

async function overHttp(
  cli: Cli,
  store: Store,
  runners: readonly Runner<unknown>[],
  port: number | undefined,
): Promise<OverHttp> {
  if (port === undefined) return { [Symbol.asyncDispose]: async () => {} };
  const { createApp, listen } = await import("../../http/mod.ts");
  // Whoever is on this machine can read the file as well.
  return await listen(createApp({ store, runners, expose: { causes: true }, logger: cli.logger }), { port });
}

/** A line for every run that is taken, comes to an end or a pause, or is left. */
function hooksFor(cli: Cli, json: boolean): Hooks {
  const tell = (what: string, run: RunRecord, text: string) => {
    if (json) return cli.print(jsonText({ event: what, run }));
    const { dim } = cli.colours;
    cli.print(`${dim(timeOfDay(Date.now()))}  ${line(run.runId)}  ${dim(line(run.graphId))}  ${text}`);
  };
  return {
    runStart: ({ run }) => tell("start", run, "started"),
    runResume: ({ run, recovery }) =>
      tell("resume", run, recovery ? "taken over from a dead process" : "gone on with"),
    runFinish: ({ run }) => tell("finish", run, statusText(cli, run)),
    runLeave: ({ run }) => tell("leave", run, "let go"),
  };
}
