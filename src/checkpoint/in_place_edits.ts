/**
 * Edits in place of what freezing cannot protect: Dates, bytes, and the content of Maps and Sets, which
 * `Map.prototype.set.call` reaches behind their read-only methods. User code that reads a canonical value is followed by
 * a look at it; a body, beside which others run, is handed copies of its own, so that nobody else can be blamed.
 */

import { ContextError } from "../errors.ts";
import { sameBytes } from "../runtime/bytes.ts";
import { type Kind, kindOf, timeOf, type TypedArray } from "./kinds.ts";
import { EDITABLE, flagsOf, pristineOf } from "./canonical_tag.ts";
import { pathText, type Segment } from "./path.ts";
import { sealArray, sealBytes, sealDate, sealMap, sealRecord, sealSet } from "./seal.ts";

/**
 * Finds the Dates and bytes of a canonical value that were edited in place, and its Maps and Sets too unless `which`
 * leaves them out, and puts back what they held. Costs nothing when the value holds none.
 *
 * @returns The path of the first one, or `undefined` when there is none.
 */
export function leafEdits(
  base: unknown,
  which: number = EDITABLE,
  at: readonly Segment[] = [],
): string | undefined {
  const path = [...at];
  let found: string | undefined;

  const visit = (value: unknown, segment: Segment | undefined): void => {
    if (typeof value !== "object" || value === null || ((flagsOf(value) ?? 0) & which) === 0) return;
    if (segment !== undefined) path.push(segment);
    const kind = kindOf(value);
    if (kind !== "object" && kind !== "array" && repair(value)) found ??= pathText(path);
    forEachPart(value, visit);
    if (segment !== undefined) path.pop();
  };

  visit(base, undefined);
  return found;
}

/** Runs user code that reads a canonical value, and throws `fault` for the path of what it edited in place. */
export function reading<T>(
  base: unknown,
  read: () => T,
  fault: (path: string) => Error,
  which: number = EDITABLE,
): T {
  let result: T;
  try {
    result = read();
  } catch (error) {
    leafEdits(base, which);
    throw error;
  }
  const path = leafEdits(base, which);
  if (path === undefined) return result;
  throw fault(path);
}

/** What user code makes of a canonical value that it is only given to read; a fault names it and the value. */
export function onlyReading<T, R>(who: string, what: string, base: T, read: (base: T) => R): R {
  return reading(base, () => read(base), (path) => editedInPlace(who, path, what));
}

/** The fault of user code that edited in place what it was only given to read. */
export function editedInPlace(who: string, path: string, what: string): ContextError {
  return new ContextError(
    `${who} edited ${
      path === "" ? what : `${path} of ${what}`
    } in place; what superstep hands over is recorded: ` +
      "change a copy, such as new Date(date), bytes.slice() or new Map(map)",
    { path },
  );
}

/** What one body holds of recorded values: whatever can be edited in place is a copy of its own. */
export class Handout {
  readonly #copies: { readonly value: unknown; readonly what: string; readonly at: readonly Segment[] }[] =
    [];
  #behind: unknown;

  /**
   * Hands out a value.
   *
   * @param what Names it in errors, such as `its input`.
   * @param from The canonical value that it was selected from, where it is not canonical itself.
   */
  give<T>(value: T, what: string, from: unknown = value): T {
    if (typeof from !== "object" || from === null || ((flagsOf(from) ?? 0) & EDITABLE) === 0) return value;
    const path: Segment[] = [];
    const entered = new Set<object>();

    const own = (value: unknown, segment: Segment | undefined): unknown => {
      if (typeof value === "function") this.#behind = from;
      if (typeof value !== "object" || value === null) return value;
      if (segment !== undefined) path.push(segment);
      const result = flagsOf(value) === undefined ? wrapper(value) : ownCopy(value);
      if (result !== value && flagsOf(value) !== undefined) {
        this.#copies.push({ value: result, what, at: [...path] });
      }
      if (segment !== undefined) path.pop();
      return result;
    };

    /** Something that the selector made around what it selected. */
    const wrapper = (value: object): unknown => {
      const kind = kindOf(value);
      if (kind === "date" || kind === "bytes") return value;
      // What is inside an object with code of its own cannot be replaced: then the whole is looked at afterwards.
      if (kind === undefined || entered.has(value) || !isPlain(value, kind)) {
        this.#behind = from;
        return value;
      }
      entered.add(value);
      const copy = rebuilt(value, own);
      entered.delete(value);
      return copy;
    };

    return own(value, undefined) as T;
  }

  /** The fault of a body that edited in place what it was handed; what was edited is put back. */
  fault(who: string): ContextError | undefined {
    let found: ContextError | undefined;
    for (const { value, what, at } of [...this.#copies, { value: this.#behind, what: "the state", at: [] }]) {
      const path = leafEdits(value, EDITABLE, at);
      if (path !== undefined) found ??= editedInPlace(who, path, what);
    }
    return found;
  }
}

/** A canonical value with Dates, bytes, Maps and Sets of its own; what holds none of these is shared. */
function ownCopy(value: unknown): unknown {
  if (typeof value !== "object" || value === null || (flagsOf(value)! & EDITABLE) === 0) return value;
  switch (kindOf(value)!) {
    case "date":
      return sealDate(pristineOf(value) as number);
    case "bytes":
      return sealBytes(pristineOf(value) as TypedArray);
    case "object":
      return sealRecord(rebuilt(value, ownCopy, true) as Record<string, unknown>);
    case "array":
      return sealArray(rebuilt(value, ownCopy, true) as unknown[]);
    case "map":
      return sealMap(rebuilt(value, ownCopy, true) as Map<unknown, unknown>);
    case "set":
      return sealSet(rebuilt(value, ownCopy, true) as Set<unknown>);
  }
}

/** A container of what `of` makes of each part; `value` itself where that is the same, unless it is to be a new one. */
function rebuilt(
  value: object,
  of: (part: unknown, segment: Segment) => unknown,
  anew = false,
): object {
  const parts: unknown[] = [];
  let changed = anew;
  forEachPart(value, (part, segment) => {
    const next = of(part, segment);
    changed ||= next !== part;
    parts.push(next);
  });
  const kind = kindOf(value);
  if (!changed) return value;
  if (kind === "array") return parts;
  if (kind === "set") return new Set(parts);
  if (kind === "object") return Object.fromEntries(Object.keys(value).map((key, i) => [key, parts[i]]));
  const map = new Map<unknown, unknown>();
  for (let i = 0; i < parts.length; i += 2) map.set(parts[i], parts[i + 1]);
  return map;
}

function forEachPart(value: object, visit: (part: unknown, segment: Segment) => unknown): void {
  switch (kindOf(value)) {
    case "object":
      for (const key of Object.keys(value)) {
        visit((value as Record<string, unknown>)[key], { kind: "field", key });
      }
      return;
    case "array":
      for (let index = 0; index < (value as unknown[]).length; index++) {
        visit((value as unknown[])[index], { kind: "index", index });
      }
      return;
    case "map": {
      let index = 0;
      for (const [key, entry] of value as Map<unknown, unknown>) {
        visit(key, { kind: "key", index: index++ });
        visit(entry, { kind: "entry", key });
      }
      return;
    }
    case "set": {
      let index = 0;
      for (const element of value as Set<unknown>) visit(element, { kind: "element", index: index++ });
      return;
    }
  }
}

/** Whether a container of somebody else's is nothing but its parts. */
function isPlain(value: object, kind: Kind): boolean {
  const keys = Reflect.ownKeys(value);
  if (kind === "map" || kind === "set") return keys.length === 0;
  return keys.every((key) => {
    if (kind === "array" && key === "length") return true;
    const descriptor = Object.getOwnPropertyDescriptor(value, key)!;
    return typeof key === "string" && "value" in descriptor && descriptor.enumerable === true &&
      (kind === "object" || /^\d+$/.test(key));
  });
}

/** Puts an editable object back to what it held; false when it holds that still. */
function repair(value: object): boolean {
  const content = pristineOf(value);
  if (content === undefined) return false;
  if (typeof content === "number") {
    if (Object.is(timeOf(value), content)) return false;
    Date.prototype.setTime.call(value, content);
    return true;
  }
  if (isList(content)) return repairCollection(value, content);
  if (sameBytes(value as TypedArray, content)) return false;
  // Detached or shortened memory cannot be refilled; then the edit is reported and nothing can be put back.
  if ((value as TypedArray).byteLength === content.byteLength) {
    (value as Uint8Array).set(content as Uint8Array);
  }
  return true;
}

function isList(content: TypedArray | readonly unknown[]): content is readonly unknown[] {
  return Array.isArray(content);
}

function repairCollection(value: object, content: readonly unknown[]): boolean {
  let i = 0;
  let same = true;
  const see = (held: unknown) => void (same &&= Object.is(held, content[i++]));
  if (value instanceof Map) {
    value.forEach((entry, key) => (see(key), see(entry)));
    if (same && i === content.length) return false;
    Map.prototype.clear.call(value);
    for (let k = 0; k < content.length; k += 2) Map.prototype.set.call(value, content[k], content[k + 1]);
    return true;
  }
  (value as Set<unknown>).forEach(see);
  if (same && i === content.length) return false;
  Set.prototype.clear.call(value);
  for (const element of content) Set.prototype.add.call(value, element);
  return true;
}
