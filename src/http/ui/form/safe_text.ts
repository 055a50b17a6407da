/** Texts of schemas as people see them: whoever wrote them cannot make them endless or disguise them. */

import { jsonText } from "../json_text.ts";

/** Characters that are not seen, or that turn the direction of what stands beside them. */
const UNSEEN = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Cs}]/gu;

/** A text that is shown, cut to `max` characters. */
export function shown(text: string, max: number): string {
  const cut = text.length <= max ? text : `${text.slice(0, max - 1)}…`;
  return cut.replace(UNSEEN, "\ufffd");
}

/** A name that is shown as it is; one that could not be seen, in quotes. */
export function shownName(name: string): string {
  return shown(name.trim() === "" ? JSON.stringify(name) : name, 200).replaceAll("\n", "\ufffd");
}

/** A value that is shown in a line. */
export function shownValue(value: unknown, max = 200): string {
  if (typeof value === "string" && value !== "") return shownName(value);
  const { $date, $bigint = $date } = Object(value) as Readonly<Record<string, unknown>>;
  if (typeof $bigint === "string") return shownName($bigint);
  const { text, cut } = jsonText(value, max);
  return shown(cut ? `${text}…` : text === "" ? String(value) : text, max);
}
