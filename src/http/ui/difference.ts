import diff from "microdiff";
import { type Html, markup } from "./html.ts";
import { table } from "./page.ts";
import { shortValue } from "./words.ts";

/** More are not listed. */
const MOST = 200;

/** What changed from one state to another, both as JSON. */
export function difference(before: unknown, after: unknown): Html {
  // States need not be objects; a pair of them in objects always is.
  const changes = diff(
    { state: before } as Record<string, unknown>,
    { state: after } as Record<string, unknown>,
  );
  if (changes.length === 0) return markup`<p class="quiet">The state did not change.</p>`;
  const rows = changes.slice(0, MOST).map((change) => [
    pathOf(change.path.slice(1)),
    SIGNS[change.type],
    change.type === "CREATE" ? "" : markup`<code>${shortValue(change.oldValue)}</code>`,
    change.type === "REMOVE" ? "" : markup`<code>${shortValue(change.value)}</code>`,
  ]);
  const more = changes.length - rows.length;
  return markup`${table("What changed in the state", ["Path", "Change", "Before", "After"], rows)}
${more > 0 ? markup`<p class="quiet">… and ${more} more changes</p>` : ""}`;
}

const SIGNS = {
  CREATE: markup`<ins>added</ins>`,
  REMOVE: markup`<del>removed</del>`,
  CHANGE: "changed",
} as const;

function pathOf(path: readonly (string | number)[]): string {
  return path.length === 0 ? "(the state)" : path.join(".");
}
