import { setImmediate } from "node:timers";
import type { Runtime, Timer, TimerOptions } from "./runtime.ts";

/** The longest delay that platform timers keep; a longer one would fire at once. */
const LONGEST_DELAY = 2 ** 31 - 1;

/** The real clock, timers, ids and randomness. */
export const systemRuntime: Runtime = {
  now: () => Date.now(),
  random: () => Math.random(),
  uuid: () => uuidv7(Date.now()),
  elapsed: () => performance.now(),
  macrotask: (run) => void setImmediate(run),
  wakeAt,
  wakeIn,
  pause: wakeIn,
};

/**
 * Long timers are chained, and the clock is read again before `run` is called, so that a timer neither overflows nor
 * fires early when the wall clock was stepped back.
 */
function wakeAt(at: number, run: () => void, options: TimerOptions = {}): Timer {
  let handle: ReturnType<typeof setTimeout> | undefined;
  const arm = () => {
    const delay = Math.min(Math.max(0, at - Date.now()), LONGEST_DELAY);
    handle = setTimeout(() => (Date.now() >= at ? run() : arm()), delay);
    if (options.keepAlive === false) detach(handle);
  };
  arm();
  return { cancel: () => clearTimeout(handle) };
}

/** Intervals are measured by the platform's timers, which no setting of the clock moves. */
function wakeIn(delay: number, run: () => void, options: TimerOptions = {}): Timer {
  let handle: ReturnType<typeof setTimeout> | undefined;
  const arm = (left: number) => {
    const part = Math.min(Math.max(0, left), LONGEST_DELAY);
    handle = setTimeout(() => (left > part ? arm(left - part) : run()), part);
    if (options.keepAlive === false) detach(handle);
  };
  arm(delay);
  return { cancel: () => clearTimeout(handle) };
}

/** Lets the process end although the timer is pending; Deno's web timers are numbers and need its own call. */
function detach(handle: unknown): void {
  if (typeof handle === "object" && handle !== null && "unref" in handle) {
    (handle as { unref(): void }).unref();
  } else (globalThis as { Deno?: { unrefTimer(id: number): void } }).Deno?.unrefTimer(handle as number);
}

function uuidv7(now: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const time = now.toString(16).padStart(12, "0");
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes.subarray(6), (b) => b.toString(16).padStart(2, "0")).join("");
  return `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8)}`;
}
