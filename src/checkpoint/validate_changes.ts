/**
 * Judging a state by what changed. A part that is the same object as in an accepted state is accepted, and whatever the
 * schema would change is refused; where zod's
 * schema says that a value is judged field by field, or entry by entry, only what changed is parsed. Whatever else a
 * schema is, a refinement of a whole object, a union, another library, is given the whole value.
 */

import type { Schema } from "../model/schema.ts";
import { isKind, type Kind } from "./kinds.ts";
import type { Segment } from "./path.ts";
import { type Issue, refusals } from "./schema.ts";

/** What the definition of a zod 4 schema may hold, as far as it is read here. */
interface Definition {
  readonly type: string;
  readonly checks?: readonly unknown[];
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly catchall?: Schema;
  readonly element?: Schema;
  readonly keyType?: Schema;
  readonly valueType?: Schema;
  readonly innerType?: Schema;
  readonly mode?: string;
  readonly getter?: () => Schema;
}

/** What `schema` has against `next`, which came from the accepted `prev`; `undefined` when nothing. */
export function validateChange(
  schema: Schema,
  prev: unknown,
  next: unknown,
): readonly Issue[] | undefined {
  const judge = new ChangeValidator();
  judge.value(schema, prev, next);
  return judge.issues.length === 0 ? undefined : judge.issues;
}

type Fields = Readonly<Record<string, unknown>>;

/** One walk over what changed. Methods that tell are false where the schema has to see the whole. */
class ChangeValidator {
  readonly issues: Issue[] = [];
  readonly #path: Segment[] = [];

  value(schema: Schema, prev: unknown, next: unknown): void {
    if (Object.is(prev, next)) return;
    const definition = definitionOf(schema);
    if (definition === undefined || !this.#parts(definition, prev, next)) {
      this.issues.push(...refusals(schema, next, this.#path) ?? []);
    }
  }

  #part(segment: Segment, schema: Schema, prev: unknown, next: unknown): void {
    this.#path.push(segment);
    this.value(schema, prev, next);
    this.#path.pop();
  }

  #parts(definition: Definition, prev: unknown, next: unknown): boolean {
    const { type, element, keyType, valueType, innerType, getter } = definition;
    switch (type) {
      case "optional":
      case "nullable":
      case "default":
      case "readonly":
      case "nonoptional":
        if (innerType === undefined || next === undefined || next === null) return false;
        this.value(innerType, prev, next);
        return true;
      case "lazy":
        if (getter === undefined) return false;
        this.value(getter(), prev, next);
        return true;
      case "object":
        return both("object", prev, next) && this.#object(definition, prev as Fields, next as Fields);
      case "record":
        return both("object", prev, next) && this.#record(definition, prev as Fields, next as Fields);
      case "array":
        if (element === undefined || !both("array", prev, next)) return false;
        this.#array(element, prev as readonly unknown[], next as readonly unknown[]);
        return true;
      case "map":
        if (keyType === undefined || valueType === undefined || !both("map", prev, next)) return false;
        this.#map(keyType, valueType, prev as Entries, next as Entries);
        return true;
      case "set":
        if (valueType === undefined || !both("set", prev, next)) return false;
        this.#set(valueType, prev as ReadonlySet<unknown>, next as ReadonlySet<unknown>);
        return true;
      default:
        return false;
    }
  }

  #object({ shape, catchall }: Definition, prev: Fields, next: Fields): boolean {
    // Whether a field may be absent, and what unknown fields may be, is for the schema as a whole to say.
    if (shape === undefined || Object.keys(prev).some((key) => !Object.hasOwn(next, key))) return false;
    const keys = Object.keys(next);
    for (const key of keys) {
      if (Object.hasOwn(shape, key)) continue;
      if (catchall === undefined || !Object.hasOwn(prev, key) || !Object.is(prev[key], next[key])) {
        return false;
      }
    }
    this.#fields(keys, (key) => Object.hasOwn(shape, key) ? shape[key] : undefined, prev, next);
    return true;
  }

  #record({ keyType, valueType, mode }: Definition, prev: Fields, next: Fields): boolean {
    if (valueType === undefined || mode === "loose") return false;
    const keys = Object.keys(next);
    const changed = keys.filter((key) =>
      !Object.is(prev[key], next[key]) || (next[key] === undefined && !Object.hasOwn(prev, key))
    );
    const added = changed.filter((key) => !Object.hasOwn(prev, key));
    const isFree = keyType !== undefined && zodDefinition(keyType)?.type === "string";
    // Which keys there must be, where they are not any texts, is for the schema as a whole to say.
    if (!isFree && (added.length > 0 || keys.length !== Object.keys(prev).length)) return false;
    if (added.some((key) => refusals(keyType!, key) !== undefined)) return false;
    this.#fields(changed, () => valueType, prev, next);
    return true;
  }

  #fields(
    keys: readonly string[],
    schemaOf: (key: string) => Schema | undefined,
    prev: Fields,
    next: Fields,
  ): void {
    for (const key of keys) {
      const was = Object.hasOwn(prev, key) ? prev[key] : ABSENT;
      if (Object.is(was, next[key])) continue;
      const schema = schemaOf(key);
      if (schema !== undefined) this.#part({ kind: "field", key }, schema, was, next[key]);
    }
  }

  #array(element: Schema, prev: readonly unknown[], next: readonly unknown[]): void {
    let accepted: ReadonlySet<unknown> | undefined;
    for (let index = 0; index < next.length; index++) {
      const was = index < prev.length ? prev[index] : ABSENT;
      if (Object.is(was, next[index])) continue;
      // An element that only moved was accepted where it stood before.
      accepted ??= new Set(prev);
      if (!accepted.has(next[index])) this.#part({ kind: "index", index }, element, was, next[index]);
    }
  }

  #map(keyType: Schema, valueType: Schema, prev: Entries, next: Entries): void {
    let index = 0;
    for (const [key, value] of next) {
      const known = prev.has(key);
      if (!known) this.#part({ kind: "key", index }, keyType, ABSENT, key);
      this.#part({ kind: "entry", key }, valueType, known ? prev.get(key) : ABSENT, value);
      index++;
    }
  }

  #set(valueType: Schema, prev: ReadonlySet<unknown>, next: ReadonlySet<unknown>): void {
    let index = 0;
    for (const element of next) {
      if (!prev.has(element)) this.#part({ kind: "element", index }, valueType, ABSENT, element);
      index++;
    }
  }
}

type Entries = ReadonlyMap<unknown, unknown>;

/** Stands for a value that was not there; it is the same as no other value and of no kind. */
const ABSENT = Symbol("absent");

function both(kind: Kind, prev: unknown, next: unknown): boolean {
  return isKind(prev, kind) && isKind(next, kind);
}

/** The definition of a zod 4 schema that has no checks of its own; `undefined` for every other schema. */
function definitionOf(schema: Schema): Definition | undefined {
  const definition = zodDefinition(schema);
  return definition !== undefined && (definition.checks ?? []).length === 0 ? definition : undefined;
}

function zodDefinition(schema: Schema): Definition | undefined {
  if (schema["~standard"].vendor !== "zod") return undefined;
  const definition = (schema as { readonly _zod?: { readonly def?: Definition } })._zod?.def;
  return typeof definition?.type === "string" ? definition : undefined;
}
