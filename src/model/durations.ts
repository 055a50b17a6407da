import { parse } from "@lukeed/ms";

/** The units in which a {@link Duration} may be written. */
export type DurationUnit =
  | "ms"
  | "millisecond"
  | "milliseconds"
  | "s"
  | "sec"
  | "second"
  | "seconds"
  | "m"
  | "min"
  | "minute"
  | "minutes"
  | "h"
  | "hour"
  | "hours"
  | "d"
  | "day"
  | "days"
  | "w"
  | "week"
  | "weeks"
  | "y"
  | "year"
  | "years";

/**
 * A span of time: milliseconds, or a text such as `"200ms"`, `"30s"`, `"2m"`, `"1.5 hours"`, `"7d"`.
 *
 * A text that is written down is checked by the compiler, every text when it is used. One that is not known before, from a
 * configuration say, is passed as `text as Duration`.
 */
export type Duration = number | `${number}${"" | " "}${DurationUnit}`;

/**
 * The milliseconds of a {@link Duration}, or `undefined` when it is not one: NaN, infinite, or not a text that names
 * a number and a unit. Negative spans are returned as they are; the caller decides what they mean.
 */
export function toMs(duration: unknown): number | undefined {
  if (typeof duration === "number") return Number.isFinite(duration) ? duration : undefined;
  const [, number = "", unit = ""] = typeof duration === "string"
    ? /^(-?\d*\.?\d+) *([a-zA-Z]+)$/.exec(duration.trim()) ?? []
    : [];
  // The parser takes a zero for no number.
  const one = parse(`1${unit}`);
  if (one === undefined || number === "") return undefined;
  const ms = Number(number) === 0 ? 0 : parse(`${number}${unit}`);
  return ms !== undefined && Number.isFinite(ms) ? ms : undefined;
}
