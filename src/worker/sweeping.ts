import type { Logger } from "../engine/events.ts";
import { reasonOf } from "../errors.ts";
import { Alarm } from "../runtime/alarm.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { ServedRunner } from "./worker.ts";

/** A loop that rights, every few seconds, what the limits of a runner's graph are left with; none where it has none. */
export function sweeping(
  runner: ServedRunner,
  runtime: Runtime,
  logger: Logger,
): ((stop: AbortSignal) => Promise<void>)[] {
  if (runner.graph.flow === undefined || runner.sweep === undefined) return [];
  return [async (stop) => {
    const alarm = new Alarm(runtime);
    while (!stop.aborted) {
      await alarm.sleep(SWEEP_MS * (0.75 + runtime.random() / 2), alarm.rings, stop);
      if (stop.aborted) return;
      try {
        await runner.sweep!();
      } catch (error) {
        logger.warn(`superstep: the limits of graph ${runner.graph.id} were not swept: ${reasonOf(error)}`, {
          graphId: runner.graph.id,
        });
      }
    }
  }];
}

/** How long a permit that a process could not give on lies free, in milliseconds, on average. */
const SWEEP_MS = 5_000;
