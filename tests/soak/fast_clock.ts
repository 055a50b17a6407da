import type { Runtime, Timer } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system.ts";

/**
 * The real clock, made to run `speed` times as fast from `start` on: leases, polls and timers are shorter by that, and
 * every process that is given the same two numbers reads the same time. `behind` tells by how much this process reads
 * it wrong just now.
 */
export function fastClock(start: number, speed: number, behind: () => number = () => 0): Runtime {
  const now = () => start + (systemRuntime.now() - start) * speed - behind();
  return {
    ...systemRuntime,
    now,
    elapsed: () => systemRuntime.elapsed() * speed,
    wakeAt: (at, run, options) => {
      let timer: Timer;
      const arm = () => {
        // The clock may be set while this waits.
        timer = systemRuntime.wakeIn(Math.min(MAX_WAIT_MS, Math.max(0, (at - now()) / speed)), look, options);
      };
      const look = () => now() >= at ? run() : arm();
      arm();
      return { cancel: () => timer.cancel() };
    },
    wakeIn: (delay, run, options) => systemRuntime.wakeIn(delay / speed, run, options),
  };
}

/** Steps of a clock at random moments: it is an hour behind for a while, right for a while, and so on. */
export function hourSteps(chance: { below(n: number): number }, everyMs: number): () => number {
  let behind = 0;
  const step = () => {
    behind = HOUR - behind;
    systemRuntime.wakeIn(everyMs / 2 + chance.below(everyMs), step, { keepAlive: false });
  };
  systemRuntime.wakeIn(chance.below(everyMs), step, { keepAlive: false });
  return () => behind;
}

const HOUR = 3_600_000;
const MAX_WAIT_MS = 200;
