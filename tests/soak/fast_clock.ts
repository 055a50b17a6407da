import type { Runtime } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system.ts";

/**
 * The real clock, made to run `speed` times as fast from `start` on: leases, polls and timers are shorter by that, and
 * every process that is given the same two numbers reads the same time.
 */
export function fastClock(start: number, speed: number): Runtime {
  return {
    ...systemRuntime,
    now: () => start + (systemRuntime.now() - start) * speed,
    elapsed: () => systemRuntime.elapsed() * speed,
    wakeAt: (at, run, options) => systemRuntime.wakeAt(start + (at - start) / speed, run, options),
    wakeIn: (delay, run, options) => systemRuntime.wakeIn(delay / speed, run, options),
  };
}
