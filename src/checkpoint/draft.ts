import { isDraft, isDraftable, makeCreator, original } from "mutative";
import { ReducerError, SerializationError } from "../errors.ts";
import { kindOf, MAX_DEPTH } from "./kinds.ts";
import { reading } from "./in_place_edits.ts";
import { isMarked, LEAVES } from "./canonical_tag.ts";

/** mutative freezes what it must not and cannot freeze everything; the canonical copy that follows is frozen. */
const createDraft = makeCreator({ enableAutoFreeze: false });

/**
 * Runs a reducer on a draft of a canonical value and returns what it made of it, not yet canonical. The base is never
 * changed, whatever the reducer does and wherever it throws.
 *
 * @param what Names the reducer in errors, such as `the reducer of vertex draft`.
 * @throws {ReducerError} When it both edits the draft and returns another value, returns a promise, or edits a Date
 * or bytes in place.
 */
export function reduceDraft<S>(base: S, recipe: (draft: S) => S | void, what: string): S {
  const fault = (path: string) => {
    const place = path === "" ? "the state itself" : path;
    const problem =
      `edited the Date or bytes at ${place} in place; they belong to the stored state: assign a new one instead`;
    return new ReducerError(what, problem, path);
  };
  // Maps and Sets are drafts of their own.
  return reading(base, () => run(base, recipe, what), fault, LEAVES);
}

function run<S>(base: S, recipe: (draft: S) => S | void, what: string): S {
  if (!isDraftable(base)) {
    const returned = recipe(base);
    refusePromise(returned, what);
    return returned === undefined ? base : returned;
  }
  let returned: unknown;
  let ran = false;
  let edited: S;
  try {
    edited = createDraft(base as object, (draft) => {
      const result: unknown = recipe(draft as S);
      refusePromise(result, what);
      if (result !== draft) returned = withoutDrafts(result);
      ran = true;
    }) as S;
  } catch (error) {
    if (!ran || !(error instanceof RangeError)) throw error;
    // The recipe is done: what overflows is the search for drafts in the values it assigned.
    throw new SerializationError(
      what.startsWith("the ") ? `what ${what} assigned` : what,
      "",
      "nested too deeply",
      `a stored value has at most ${MAX_DEPTH} levels`,
      { cause: error },
    );
  }
  if (returned === undefined) return edited;
  if (edited === base) return returned as S;
  throw new ReducerError(what, "edited its draft and also returned another value; do one of the two");
}

function refusePromise(returned: unknown, what: string): void {
  if (!(returned instanceof Promise)) return;
  // Whatever becomes of it, it must not surface as an unhandled rejection.
  Promise.prototype.then.call(returned, () => {}, () => {});
  throw new ReducerError(
    what,
    "returned a promise; reducers are synchronous: do asynchronous work in the body of a vertex",
  );
}

/**
 * A returned value with originals in place of the drafts in it, which are about to be revoked. Nothing in it has been
 * edited: a reducer that edits its draft may not return another value. Canonical parts hold no drafts.
 */
function withoutDrafts(value: unknown): unknown {
  const seen = new Map<object, unknown>();

  const visit = (value: unknown, depth: number): unknown => {
    if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
    if (isDraft(value)) return original(value);
    if (isMarked(value)) return value;
    if (seen.has(value)) return seen.get(value);
    seen.set(value, value);
    const copy = inside(value, depth + 1);
    seen.set(value, copy);
    return copy;
  };

  const inside = (value: object, depth: number): unknown => {
    switch (kindOf(value)) {
      case "array":
      case "object": {
        let copy: Record<string, unknown> | undefined;
        for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
          const resolved = visit(descriptor.value, depth);
          if (Object.is(resolved, descriptor.value)) continue;
          copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
          copy[key] = resolved;
        }
        return copy ?? value;
      }
      case "map": {
        const entries = [...value as Map<unknown, unknown>];
        const resolved = entries.map(([k, v]) => [visit(k, depth), visit(v, depth)] as const);
        const same = resolved.every(([k, v], i) =>
          Object.is(k, entries[i]![0]) && Object.is(v, entries[i]![1])
        );
        return same ? value : new Map(resolved);
      }
      case "set": {
        const elements = [...value as Set<unknown>];
        const resolved = elements.map((element) => visit(element, depth));
        return resolved.every((element, i) => Object.is(element, elements[i])) ? value : new Set(resolved);
      }
      default:
        return value;
    }
  };

  try {
    return visit(value, 0);
  } catch {
    // A proxy that throws; the check that follows names the place.
    return value;
  }
}
