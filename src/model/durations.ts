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

/** The latest time that a Date can hold, and the longest span that is taken. */
export const MAX_TIME = 8.64e15;

/** The time that `until` names, counted from `now` where it is a span; `undefined` when it is none that a Date can hold. */
export function timeOf(until: unknown, now: number): number | undefined {
  const at = until instanceof Date ? until.getTime() : now + (toMs(until) ?? NaN);
  return Math.abs(at) <= MAX_TIME ? at : undefined;
}

/**
 * The milliseconds of a {@link Duration}, or `undefined` when it is not one: NaN, longer than a Date reaches, or not a
 * text that names a number and a unit. Negative spans are returned as they are; the caller decides what they mean.
 */
export function toMs(duration: unknown): number | undefined {
  if (typeof duration === "number") return Math.abs(duration) <= MAX_TIME ? duration : undefined;
  const [, number = "", unit = ""] = typeof duration === "string"
    ? /^(-?\d*\.?\d+) *([a-zA-Z]+)$/.exec(duration.trim()) ?? []
    : [];
  // The parser takes a zero for no number.
  const one = parse(`1${unit}`);
  if (one === undefined || number === "") return undefined;
  const ms = Number(number) === 0 ? 0 : parse(`${number}${unit}`);
  return ms !== undefined && Math.abs(ms) <= MAX_TIME ? ms : undefined;
}
