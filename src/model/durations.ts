import { parse } from "@lukeed/ms";

/** A span of time: milliseconds, or a text such as `"200ms"`, `"30s"`, `"2m"`, `"1h"`, `"7d"`. */
export type Duration = number | string;

/**
 * The milliseconds of a {@link Duration}, or `undefined` when it is not one: NaN, infinite, or not a text that names
 * a number and a unit. Negative spans are returned as they are; the caller decides what they mean.
 */
export function toMs(duration: unknown): number | undefined {
  if (typeof duration === "number") return Number.isFinite(duration) ? duration : undefined;
  if (typeof duration !== "string" || !/^-?\d*\.?\d+ *[a-zA-Z]+$/.test(duration.trim())) return undefined;
  const ms = parse(duration.trim());
  return ms !== undefined && Number.isFinite(ms) ? ms : undefined;
}
