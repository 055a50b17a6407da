import { digest } from "./digest.ts";
import { isSameLeaf, kindOf } from "./kinds.ts";
import type { Segment } from "./path.ts";

/** One place where what a schema made of a value differs from the value. */
export interface SchemaChange {
  readonly path: readonly Segment[];
  /** `completed`: a field that was absent, or undefined; `dropped`: one that the schema does not know. */
  readonly kind: "changed" | "completed" | "dropped";
}

/**
 * The first place where `made`, which a schema made of the canonical value `given`, differs from it. Fields without a value
 * are as good as absent, and the order of fields is nobody's concern.
 *
 * @param but Differences of this kind do not count.
 */
export function schemaChange(
  given: unknown,
  made: unknown,
  but?: SchemaChange["kind"],
): SchemaChange | undefined {
  const path: Segment[] = [];
  const kind = compare(given, made);
  return kind === undefined ? undefined : { path, kind };

  function compare(given: unknown, made: unknown): SchemaChange["kind"] | undefined {
    if (Object.is(given, made)) return undefined;
    if (typeof given !== "object" || given === null || typeof made !== "object" || made === null) {
      return "changed";
    }
    const kind = kindOf(given);
    if (kind === undefined || kindOf(made) !== kind) return "changed";
    switch (kind) {
      case "date":
      case "bytes":
        return isSameLeaf(kind, given, made) ? undefined : "changed";
      case "array":
        return compareLists(given as unknown[], made as unknown[]);
      case "object":
        return compareFields(given as Record<string, unknown>, made as Record<string, unknown>);
      default:
        return compareEntries(given as Entries, made as Entries);
    }
  }

  function compareLists(
    given: readonly unknown[],
    made: readonly unknown[],
  ): SchemaChange["kind"] | undefined {
    if (given.length !== made.length) return "changed";
    for (let index = 0; index < given.length; index++) {
      const kind = at({ kind: "index", index }, given[index], made[index]);
      if (kind !== undefined) return kind;
    }
    return undefined;
  }

  function compareFields(
    given: Readonly<Record<string, unknown>>,
    made: Readonly<Record<string, unknown>>,
  ): SchemaChange["kind"] | undefined {
    for (const key of new Set([...Object.keys(given), ...Object.keys(made)])) {
      const was = Object.hasOwn(given, key) ? given[key] : undefined;
      const is = Object.hasOwn(made, key) ? made[key] : undefined;
      const kind = at({ kind: "field", key }, was, is);
      if (kind !== undefined) return kind;
    }
    return undefined;
  }

  function compareEntries(given: Entries, made: Entries): SchemaChange["kind"] | undefined {
    const depth = path.length;
    const [before, after] = [[...given], [...made]];
    const kind = before.length === after.length ? compareLists(before, after) : "changed";
    // Objects that are keys or elements are other ones in every copy, and may come in another order.
    if (kind === undefined || digest(given) === digest(made)) {
      path.length = depth;
      return undefined;
    }
    path.length = depth;
    return kind;
  }

  function at(segment: Segment, given: unknown, made: unknown): SchemaChange["kind"] | undefined {
    path.push(segment);
    let kind = compare(given, made);
    if (kind === "changed" && segment.kind === "field" && path.at(-1) === segment) {
      kind = given === undefined ? "completed" : made === undefined ? "dropped" : kind;
    }
    if (kind !== undefined && kind !== but) return kind;
    path.pop();
    return undefined;
  }
}

type Entries = ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>;
