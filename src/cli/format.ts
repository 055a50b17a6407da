import { line } from "./printable.ts";

export { bytes, counted, span } from "../model/amounts.ts";

/** A date and time of day, local. */
export function dateTime(at: number): string {
  return `${day(at)} ${timeOfDay(at).slice(0, 8)}`;
}

/** A date, local. */
export function day(at: number): string {
  const d = new Date(at);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

/** A time of day with milliseconds, local. */
export function timeOfDay(at: number): string {
  const d = new Date(at);
  const ms = String(d.getMilliseconds()).padStart(3, "0");
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${ms}`;
}

/** A version of a graph: the beginning of its hash, and the number that its author gave it. */
export function shortVersion(graphVersion: string): string {
  return line(graphVersion.replace(/^([0-9a-f]{8})[0-9a-f]+/, "$1"));
}

/** A word as a shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
