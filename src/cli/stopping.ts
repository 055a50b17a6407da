import { isSuperstepError } from "../errors.ts";
import type { Cli } from "./cli.ts";
import { EXIT } from "./exit.ts";
import { StoppedError } from "./faults.ts";
import type { StopSignal } from "./io.ts";

/**
 * Work that can be stopped: the first Ctrl-C (or SIGTERM) aborts the signal, so that the run is let go in good order; the
 * second one ends the process at once.
 *
 * @param howToGoOn The command that goes on with a run.
 * @throws {StoppedError} when it was stopped
 */
export async function stoppable<T>(
  cli: Cli,
  howToGoOn: (runId: string) => string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let stopped: StopSignal | undefined;
  const unlisten = cli.io.onStop((signal) => {
    if (stopped !== undefined) return cli.io.exit(EXIT[signal]);
    stopped = signal;
    cli.note("stopping; once more to stop at once");
    controller.abort(new StoppedError("stopped", signal));
  });
  try {
    return await work(controller.signal);
  } catch (error) {
    if (stopped === undefined) throw error;
    const { runId, revision } = error as { readonly runId?: string; readonly revision?: number };
    const released = isSuperstepError(error, "RUN_ABORTED") && runId !== undefined && (revision ?? -1) >= 0;
    if (!released && !isSuperstepError(error, "RUN_ABORTED")) throw error;
    throw new StoppedError(
      released ? `stopped; go on with: ${howToGoOn(runId)}` : "stopped before anything was started",
      stopped,
    );
  } finally {
    unlisten();
  }
}
