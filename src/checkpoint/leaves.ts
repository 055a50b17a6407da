import { sameBytes } from "../runtime/bytes.ts";
import { kindOf, timeOf, type TypedArray } from "./kinds.ts";
import { flagsOf, LEAVES, pristineOf } from "./marks.ts";
import { pathText, type Segment } from "./path.ts";

/**
 * Finds Dates and bytes of a canonical value that were edited in place, which freezing cannot prevent, and puts back
 * what they held. Costs nothing when the value holds neither.
 *
 * @returns The path of the first one, or `undefined` when there is none.
 */
export function leafEdits(base: unknown): string | undefined {
  const path: Segment[] = [];
  let found: string | undefined;

  const visit = (value: unknown, segment: Segment | undefined): void => {
    if (typeof value !== "object" || value === null || ((flagsOf(value) ?? 0) & LEAVES) === 0) return;
    if (segment !== undefined) path.push(segment);
    switch (kindOf(value)) {
      case "object":
        for (const key of Object.keys(value)) {
          visit((value as Record<string, unknown>)[key], { kind: "field", key });
        }
        break;
      case "array":
        (value as unknown[]).forEach((element, index) => visit(element, { kind: "index", index }));
        break;
      case "map": {
        let index = 0;
        for (const [key, entry] of value as Map<unknown, unknown>) {
          visit(key, { kind: "key", index: index++ });
          visit(entry, { kind: "entry", key });
        }
        break;
      }
      case "set": {
        let index = 0;
        for (const element of value as Set<unknown>) visit(element, { kind: "element", index: index++ });
        break;
      }
      default:
        if (repair(value)) found ??= pathText(path);
    }
    if (segment !== undefined) path.pop();
  };

  visit(base, undefined);
  return found;
}

/** Puts a leaf back to what it held; false when it holds that still. */
function repair(leaf: object): boolean {
  const content = pristineOf(leaf);
  if (content === undefined) return false;
  if (typeof content === "number") {
    if (Object.is(timeOf(leaf), content)) return false;
    Date.prototype.setTime.call(leaf, content);
    return true;
  }
  if (sameBytes(leaf as TypedArray, content)) return false;
  // Detached or shortened memory cannot be refilled; then the edit is reported and nothing can be put back.
  if ((leaf as TypedArray).byteLength === content.byteLength) (leaf as Uint8Array).set(content as Uint8Array);
  return true;
}
