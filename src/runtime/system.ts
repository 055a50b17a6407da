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

/** Random bytes for the next ids: asking for a few at a time costs more than the rest of an id. */
const entropy = new Uint8Array(640);
const RANDOM_BYTES = 10;
let used = entropy.length;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function uuidv7(now: number): string {
  if (used === entropy.length) {
    crypto.getRandomValues(entropy);
    used = 0;
  }
  const bytes = entropy.subarray(used, used += RANDOM_BYTES);
  bytes[0] = (bytes[0]! & 0x0f) | 0x70;
  bytes[2] = (bytes[2]! & 0x3f) | 0x80;
  let hex = "";
  for (const byte of bytes) hex += HEX[byte]!;
  const time = now.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8)}`;
}
