/**
 * Ids are strings that the user pins. They become store keys, so every id is checked before it goes anywhere.
 */

/** What every id must match: a letter or digit, then up to 127 letters, digits, dots, underscores, colons, hyphens. */
export const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** Whether `value` may be used as an id of a graph, a vertex, a wait or a run. */
export function isId(value: unknown): value is string {
  return typeof value === "string" && ID_PATTERN.test(value);
}

/**
 * A target of `to` and of `pick`: the branch ends there, and a run may complete as after a finish. No vertex has this id.
 *
 * @example
 * ```ts
 * const route: RouteOptions<{ tries: number }, "again" | typeof END> = {
 *   targets: ["again", END],
 *   pick: (s) => s.tries < 3 ? "again" : END,
 * };
 * assert.equal(route.pick({ tries: 3 }), END);
 * ```
 */
export const END = "__end__";

/** Compares two ids by code units, the order in which everything in a super-step happens. */
export function compareIds(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
