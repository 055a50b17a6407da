/**
 * Judging a state by what changed. A part that is the same object as in an accepted state is accepted, and whatever the
 * schema would change is refused; where zod's
 * schema says that a value is judged field by field, or entry by entry, only what changed is parsed. Whatever else a
 * schema is, a refinement of a whole object, a union, another library, is given the whole value.
 */

import type { Schema } from "../model/schema.ts";
import { type Kind, kindOf } from "./kinds.ts";
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
export function judgeChange(
  schema: Schema,
  prev: unknown,
  next: unknown,
): readonly Issue[] | undefined {
  const issues: Issue[] = [];
  judge(schema, prev, next, [], issues);
  return issues.length === 0 ? undefined : issues;
}

function judge(
  schema: Schema,
  prev: unknown,
  next: unknown,
  path: readonly Segment[],
  issues: Issue[],
): void {
  if (Object.is(prev, next)) return;
  const definition = definitionOf(schema);
  if (definition === undefined || !judgeParts(definition, prev, next, path, issues)) {
    issues.push(...refusals(schema, next, path) ?? []);
  }
}

/** Judges the parts of `next` that changed; false when this kind of schema has to see the whole. */
function judgeParts(
  definition: Definition,
  prev: unknown,
  next: unknown,
  path: readonly Segment[],
  issues: Issue[],
): boolean {
  const { shape, element, keyType, valueType, innerType } = definition;
  switch (definition.type) {
    case "optional":
    case "nullable":
    case "default":
    case "readonly":
    case "nonoptional":
      if (innerType === undefined || next === undefined || next === null) return false;
      judge(innerType, prev, next, path, issues);
      return true;
    case "lazy":
      if (definition.getter === undefined) return false;
      judge(definition.getter(), prev, next, path, issues);
      return true;
    case "object":
      return shape !== undefined && both("object", prev, next) &&
        judgeObject(shape, definition.catchall, prev as Fields, next as Fields, path, issues);
    case "record":
      return valueType !== undefined && definition.mode !== "loose" && both("object", prev, next) &&
        judgeRecord(keyType, valueType, prev as Fields, next as Fields, path, issues);
    case "array":
      if (element === undefined || !both("array", prev, next)) return false;
      judgeArray(element, prev as readonly unknown[], next as readonly unknown[], path, issues);
      return true;
    case "map":
      if (keyType === undefined || valueType === undefined || !both("map", prev, next)) return false;
      judgeMap(keyType, valueType, prev as Entries, next as Entries, path, issues);
      return true;
    case "set":
      if (valueType === undefined || !both("set", prev, next)) return false;
      judgeSet(valueType, prev as ReadonlySet<unknown>, next as ReadonlySet<unknown>, path, issues);
      return true;
    default:
      return false;
  }
}

type Fields = Readonly<Record<string, unknown>>;
type Entries = ReadonlyMap<unknown, unknown>;

function judgeObject(
  shape: Readonly<Record<string, Schema>>,
  catchall: Schema | undefined,
  prev: Fields,
  next: Fields,
  path: readonly Segment[],
  issues: Issue[],
): boolean {
  const keys = Object.keys(next);
  // Whether a field may be absent, and what unknown fields may be, is for the schema as a whole to say.
  if (Object.keys(prev).some((key) => !Object.hasOwn(next, key))) return false;
  for (const key of keys) {
    if (Object.hasOwn(shape, key)) continue;
    if (catchall === undefined || !Object.hasOwn(prev, key) || !Object.is(prev[key], next[key])) return false;
  }
  for (const key of keys) {
    const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (field === undefined) continue;
    const was = Object.hasOwn(prev, key) ? prev[key] : ABSENT;
    if (Object.is(was, next[key])) continue;
    judge(field, was, next[key], [...path, { kind: "field", key }], issues);
  }
  return true;
}

function judgeRecord(
  keyType: Schema | undefined,
  valueType: Schema,
  prev: Fields,
  next: Fields,
  path: readonly Segment[],
  issues: Issue[],
): boolean {
  const keys = Object.keys(next);
  const added = keys.filter((key) => !Object.hasOwn(prev, key));
  const isFree = keyType !== undefined && typeOf(keyType) === "string";
  // Which keys there must be, where they are not any texts, is for the schema as a whole to say.
  if (!isFree && (added.length > 0 || keys.length !== Object.keys(prev).length)) return false;
  if (added.some((key) => refusals(keyType!, key) !== undefined)) return false;
  for (const key of keys) {
    const was = Object.hasOwn(prev, key) ? prev[key] : ABSENT;
    if (Object.is(was, next[key])) continue;
    judge(valueType, was, next[key], [...path, { kind: "field", key }], issues);
  }
  return true;
}

function judgeArray(
  element: Schema,
  prev: readonly unknown[],
  next: readonly unknown[],
  path: readonly Segment[],
  issues: Issue[],
): void {
  let accepted: ReadonlySet<unknown> | undefined;
  for (let index = 0; index < next.length; index++) {
    const was = index < prev.length ? prev[index] : ABSENT;
    if (Object.is(was, next[index])) continue;
    // An element that only moved was accepted where it stood before.
    accepted ??= new Set(prev);
    if (accepted.has(next[index])) continue;
    judge(element, was, next[index], [...path, { kind: "index", index }], issues);
  }
}

function judgeMap(
  keyType: Schema,
  valueType: Schema,
  prev: Entries,
  next: Entries,
  path: readonly Segment[],
  issues: Issue[],
): void {
  let index = 0;
  for (const [key, value] of next) {
    const known = prev.has(key);
    if (!known) judge(keyType, ABSENT, key, [...path, { kind: "key", index }], issues);
    judge(valueType, known ? prev.get(key) : ABSENT, value, [...path, { kind: "entry", key }], issues);
    index++;
  }
}

function judgeSet(
  valueType: Schema,
  prev: ReadonlySet<unknown>,
  next: ReadonlySet<unknown>,
  path: readonly Segment[],
  issues: Issue[],
): void {
  let index = 0;
  for (const element of next) {
    if (!prev.has(element)) judge(valueType, ABSENT, element, [...path, { kind: "element", index }], issues);
    index++;
  }
}

/** Stands for a value that was not there; it is the same as no other value and of no kind. */
const ABSENT = Symbol("absent");

function both(kind: Kind, prev: unknown, next: unknown): boolean {
  return isA(kind, prev) && isA(kind, next);
}

function isA(kind: Kind, value: unknown): boolean {
  return typeof value === "object" && value !== null && kindOf(value) === kind;
}

/** The definition of a zod 4 schema that has no checks of its own; `undefined` for every other schema. */
function definitionOf(schema: Schema): Definition | undefined {
  const definition = zodDefinition(schema);
  return definition !== undefined && (definition.checks ?? []).length === 0 ? definition : undefined;
}

function typeOf(schema: Schema): string | undefined {
  return zodDefinition(schema)?.type;
}

function zodDefinition(schema: Schema): Definition | undefined {
  if (schema["~standard"].vendor !== "zod") return undefined;
  const definition = (schema as { readonly _zod?: { readonly def?: Definition } })._zod?.def;
  return typeof definition?.type === "string" ? definition : undefined;
}
