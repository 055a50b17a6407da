/**
 * JSON Schemas as forms need them: references followed, parts merged, alternatives side by side. Schemas come from a
 * store and are not trusted: all work on one is bounded, no pattern of it is ever compiled, and what is not understood
 * is said to be so. A form need not be exact, for the API judges the value.
 */

/** A schema that says something. */
export type Schema = Readonly<Record<string, unknown>>;

/** A schema, and the references that led to it. */
export interface Place {
  readonly schema: Schema;
  readonly refs: readonly string[];
}

/** How many keywords and what stands in them is looked at: references and parts can make a small text stand for an endless one. */
const MAX_WORK = 50_000;
/** How deep references, parts and alternatives may lie in each other. */
const MAX_NESTING = 16;
/** The most alternatives side by side. */
const MAX_MEMBERS = 200;

/** What a schema and everything below it refers to. */
export class Schemas {
  readonly #root: unknown;
  readonly #weights = new WeakMap<object, number>();
  #workLeft = MAX_WORK;

  constructor(root: unknown) {
    this.#root = root;
  }

  /** Where reading begins. */
  get root(): Place | undefined {
    return this.resolve(this.#root, ["#"]);
  }

  /** A schema without references and parts; nothing when it cannot be had without, or when it says nothing. */
  resolve(schema: unknown, refs: readonly string[], nesting = 0): Place | undefined {
    if (!isObject(schema) || nesting > MAX_NESTING || !this.#spend(this.#weightOf(schema))) return undefined;
    const { $ref: ref, allOf: parts, ...rest } = schema;
    if (ref === undefined && parts === undefined) return { schema, refs };
    const places: Place[] = [];
    if (ref !== undefined) {
      // A reference inside what it refers to has no end.
      if (typeof ref !== "string" || refs.includes(ref)) return undefined;
      const place = this.resolve(this.#target(ref), [...refs, ref], nesting + 1);
      if (place === undefined) return undefined;
      places.push(place);
    }
    if (parts !== undefined) {
      if (!Array.isArray(parts) || parts.length > MAX_MEMBERS) return undefined;
      for (const part of parts) {
        const place = this.resolve(part, refs, nesting + 1);
        if (place === undefined) return undefined;
        places.push(place);
      }
    }
    const merged = places.map((place) => place.schema).concat(rest).reduce<Schema | undefined>(
      (all, part) => all === undefined ? undefined : this.#merge(all, part),
      {},
    );
    if (merged === undefined) return undefined;
    return { schema: merged, refs: [...new Set([...refs, ...places.flatMap((place) => place.refs)])] };
  }

  /**
   * What a schema is a choice among, flat; the schema alone when it is no choice. Nothing when one of them cannot be
   * read, or when something else is demanded of all of them.
   */
  membersOf(place: Place, nesting = 0): readonly Place[] | undefined {
    const { anyOf, oneOf, ...rest } = place.schema;
    if ("enum" in rest || "const" in rest) return [place];
    const listed = anyOf ?? oneOf;
    if (listed === undefined) return this.#membersByType(place);
    if (!Array.isArray(listed) || listed.length > MAX_MEMBERS || nesting > MAX_NESTING) return undefined;
    if (anyOf !== undefined && oneOf !== undefined || "properties" in rest) return undefined;
    const members: Place[] = [];
    for (const part of listed) {
      const member = this.resolve(part, place.refs, nesting + 1);
      const flat = member === undefined ? undefined : this.membersOf(member, nesting + 1);
      if (flat === undefined || members.length + flat.length > MAX_MEMBERS) return undefined;
      members.push(...flat);
    }
    return members.length === 0 ? undefined : members;
  }

  #membersByType(place: Place): readonly Place[] | undefined {
    const { type } = place.schema;
    if (!Array.isArray(type) || type.length > MAX_NESTING) return [place];
    if (!this.#spend(type.length * Object.keys(place.schema).length)) return undefined;
    return type.map((one) => ({ ...place, schema: { ...place.schema, type: one } }));
  }

  /** A schema that demands what both do, if that can be written simply. */
  #merge(a: Schema, b: Schema): Schema | undefined {
    if (!this.#spend(Object.keys(a).length + Object.keys(b).length)) return undefined;
    const both = Object.keys(b).filter((key) => Object.hasOwn(a, key) && !LOOSE.has(key));
    let merged: Schema = { ...a, ...b };
    for (const key of both) {
      if (key === "required") {
        if (!this.#spend(sizeOf(a[key]) + sizeOf(b[key]))) return undefined;
        merged = { ...merged, required: [...requiredOf(a), ...requiredOf(b)] };
      } else if (key === "properties" && this.#agree(a[key], b[key])) {
        merged = { ...merged, properties: { ...a[key] as Schema, ...b[key] as Schema } };
      } else if (!this.#same(a[key], b[key])) return undefined;
    }
    return merged;
  }

  /** Whether what two schemas say of the same property is the same. */
  #agree(a: unknown, b: unknown): boolean {
    return isObject(a) && isObject(b) && this.#spend(sizeOf(a) + sizeOf(b)) &&
      Object.keys(b).every((key) => !Object.hasOwn(a, key) || this.#same(a[key], b[key]));
  }

  /** Whether two values are equal; those that are too large to tell are not. */
  #same(a: unknown, b: unknown): boolean {
    if (Object.is(a, b)) return true;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    if (Array.isArray(a) !== Array.isArray(b) || !this.#spend(sizeOf(a) + sizeOf(b))) return false;
    const keys = Object.keys(b);
    return keys.length === Object.keys(a).length &&
      keys.every((key) => Object.hasOwn(a, key) && this.#same((a as Schema)[key], (b as Schema)[key]));
  }

  #target(ref: string): unknown {
    if (ref !== "#" && !ref.startsWith("#/")) return undefined;
    let at = this.#root;
    for (const token of ref.split("/").slice(1)) {
      const key = unescaped(token);
      if (typeof at !== "object" || at === null || key === undefined || !Object.hasOwn(at, key)) {
        return undefined;
      }
      at = (at as Record<string, unknown>)[key];
    }
    return at;
  }

  #spend(work: number): boolean {
    this.#workLeft -= work;
    return this.#workLeft >= 0;
  }

  /** How much there is to look at in a schema itself, not in those inside it. */
  #weightOf(schema: Schema): number {
    const known = this.#weights.get(schema);
    if (known !== undefined) return known;
    let weight = 1;
    for (const value of Object.values(schema)) {
      weight += 1 + sizeOf(value);
      if (Array.isArray(value)) { for (const item of value) weight += sizeOf(item); }
    }
    this.#weights.set(schema, weight);
    return weight;
  }
}

/** Whether it can have keywords. */
export function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The properties of an object, where its schema names them. */
export function propertiesOf({ type, properties }: Schema): Schema | undefined {
  return (type === undefined || type === "object") && isObject(properties) ? properties : undefined;
}

/** The properties that an object must have. */
export function requiredOf({ required }: Schema): ReadonlySet<unknown> {
  return new Set(Array.isArray(required) ? required : []);
}

/** The tag of an object that stands for what JSON has no word for, see `model/json.ts`. */
export function tagOf(schema: Schema): string | undefined {
  const { required, additionalProperties } = schema;
  const [tag, ...others] = additionalProperties === false && Array.isArray(required) ? required : [];
  const isOnly = others.length === 0 && Object.keys(propertiesOf(schema) ?? {}).join() === tag;
  return isOnly && ["$date", "$bigint", "$map", "$set"].includes(tag) ? tag : undefined;
}

function unescaped(token: string): string | undefined {
  try {
    return decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}

/** Keywords that demand nothing, or nothing that a form could show. The later one of two stands. */
const LOOSE = new Set([
  "$schema",
  "$id",
  "$anchor",
  "$comment",
  "$defs",
  "definitions",
  "title",
  "description",
  "default",
  "examples",
  "readOnly",
  "writeOnly",
  "deprecated",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
]);

/** How much there is in a value, not in what is inside that. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length >> 6;
  if (typeof value !== "object" || value === null) return 0;
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}
