/** Points in time as browsers let people pick them, without a zone, and as ISO 8601 writes them. A zone is always UTC. */

const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/;

/** A picked time as ISO 8601, in UTC; a text that is none as it is. */
export function timeOf(text: string): string {
  if (!isLocalTime(text)) return text;
  return text.length === "0000-00-00T00:00".length ? `${text}:00Z` : `${text}Z`;
}

/**
 * How a time is picked, as short as browsers write it. One that `timeOf` would not give back as it is, such as one with
 * zeros at the end of a fraction, stays the text that it is, and is typed.
 *
 * @param isInstant Whether only the time matters, as for `instantOf`, and not how it is written.
 */
export function pickedOf(time: string, isInstant: boolean): string {
  const local = time.replace(/Z$/, "").replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")
    .replace(/(T\d\d:\d\d):00$/, "$1");
  const again = isInstant ? instantOf(local) : timeOf(local);
  return isLocalTime(local) && again === time ? local : time;
}

/** A time as ISO 8601 writes it in full, in UTC; nothing for what is none. */
export function instantOf(text: string): string | undefined {
  const time = timeOf(text.trim());
  const date = new Date(TIME.test(time) && isDate(time.slice(0, 10)) ? time : NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** A time of which a `Date` keeps everything. */
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** Whether a browser can show it for picking. */
export function isLocalTime(text: string): boolean {
  return LOCAL.test(text) && isDate(text.slice(0, 10)) && !text.includes("T24") &&
    !Number.isNaN(Date.parse(`${text}Z`));
}

/** Whether it is a day of the calendar, such as 2026-02-28. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || text.startsWith("0000")) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}
