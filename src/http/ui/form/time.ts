/** Points in time as browsers let people pick them, without a zone, and as ISO 8601 writes them. A zone is always UTC. */

const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/;

/** A picked time as ISO 8601, in UTC; a text that is none as it is. */
export function timeOf(text: string): string {
  if (!isLocalTime(text)) return text;
  return text.length === "0000-00-00T00:00".length ? `${text}:00Z` : `${text}Z`;
}

/**
 * How a time is picked that `timeOf` gives back as it is. Browsers drop zeros at the end of a fraction, so such a time
 * stays the text that it is, and is typed.
 */
export function pickedOf(time: string): string {
  const local = time.endsWith("Z") ? time.slice(0, -1) : "";
  return isLocalTime(local) && timeOf(local) === time && !/\..*0$/.test(local) ? local : time;
}

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
