import { type Html, markup } from "./html.ts";
import { table } from "./page.ts";
import { shortValue } from "./format.ts";

/** More are not looked for. */
const MOST = 200;

/** What changed from one state to another, both as JSON. */
export function difference(before: unknown, after: unknown): Html {
  const found = new Comparison();
  found.compare(before, after);
  if (found.changes.length === 0) return markup`<p class="quiet">The state did not change.</p>`;
  const rows = found.changes.slice(0, MOST).map(({ path, kind, before, after }) => [
    path.length === 0 ? "(the state)" : path.join("."),
    KINDS[kind],
    kind === "added" ? "" : markup`<code>${shortValue(before)}</code>`,
    kind === "removed" ? "" : markup`<code>${shortValue(after)}</code>`,
  ]);
  return markup`${table("What changed in the state", ["Path", "Change", "Before", "After"], rows)}
${found.changes.length > MOST ? markup`<p class="quiet">… and more changes</p>` : ""}`;
}

const KINDS = {
  added: markup`<ins>added</ins>`,
  removed: markup`<del>removed</del>`,
  changed: "changed",
} as const;

interface Change {
  readonly path: readonly string[];
  readonly kind: keyof typeof KINDS;
  readonly before?: unknown;
  readonly after?: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/** Two values of JSON, compared until there are more changes than are shown. */
class Comparison {
  readonly changes: Change[] = [];
  readonly #path: string[] = [];

  compare(before: unknown, after: unknown): void {
    if (before === after) return;
    const fields = fieldsOf(before, after);
    if (fields === undefined) return this.#add("changed", { before, after });
    const [old, now] = fields;
    for (const key of Object.keys(old)) {
      if (this.changes.length > MOST) return;
      this.#path.push(key);
      if (Object.hasOwn(now, key)) this.compare(old[key], now[key]);
      else this.#add("removed", { before: old[key] });
      this.#path.pop();
    }
    for (const key of Object.keys(now)) {
      if (this.changes.length > MOST) return;
      if (Object.hasOwn(old, key)) continue;
      this.#path.push(key);
      this.#add("added", { after: now[key] });
      this.#path.pop();
    }
  }

  #add(kind: Change["kind"], values: Pick<Change, "before" | "after">): void {
    this.changes.push({ path: [...this.#path], kind, ...values });
  }
}

/** The fields of two values that are both objects, or both arrays. */
function fieldsOf(before: unknown, after: unknown): readonly [Fields, Fields] | undefined {
  if (typeof before !== "object" || before === null || typeof after !== "object" || after === null) {
    return undefined;
  }
  return Array.isArray(before) === Array.isArray(after) ? [before as Fields, after as Fields] : undefined;
}
