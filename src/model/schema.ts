/**
 * A schema, as Standard Schema describes it: zod, Valibot, ArkType and others make such schemas. `I` is the type of what
 * it accepts, `O` the type of what it makes of that.
 *
 * zod is the one that superstep is tested with. A schema that can give its JSON Schema shows it with open waits, for
 * forms.
 */
export interface Schema<I = unknown, O = I> {
  /** The properties that every schema has, whatever library made it. */
  readonly "~standard": SchemaProperties<I, O>;
}

/** What a {@link Schema} is and does. */
export interface SchemaProperties<I = unknown, O = I> {
  /** The version of the standard. */
  readonly version: 1;
  /** The library that made the schema. */
  readonly vendor: string;
  /** Parses a value. A schema that answers with a promise is refused where it is used. */
  readonly validate: (value: unknown) => SchemaResult<O> | Promise<SchemaResult<O>>;
  /** The types alone. */
  readonly types?: { readonly input: I; readonly output: O } | undefined;
}

/** What a schema made of a value, or what it has against it. */
export type SchemaResult<O> =
  | { readonly value: O; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One thing that a schema has against a value. */
export interface SchemaIssue {
  /** In words. */
  readonly message: string;
  /** Where in the value. @default the value itself */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What is read of the definition of a zod schema to find transforms in it. */
interface ZodNode {
  readonly _zod?: {
    readonly def?: {
      readonly type?: string;
      readonly shape?: Readonly<Record<string, unknown>>;
      readonly reverseTransform?: unknown;
      readonly getter?: () => unknown;
      readonly [part: string]: unknown;
    };
  };
}

/** Where the definition of a zod schema has others. */
const PARTS = ["element", "keyType", "valueType", "innerType", "left", "right", "catchall", "out", "rest"];

/**
 * Where a zod schema transforms what it accepts into something that it need not accept again, such as `at.from`; empty for
 * the schema itself, `undefined` for nowhere, and for schemas of other libraries, which do not tell.
 */
export function transformIn(schema: unknown): string | undefined {
  const seen = new Set<unknown>();
  const find = (node: unknown, path: string): string | undefined => {
    const def = (node as ZodNode | null | undefined)?._zod?.def;
    if (def === undefined || seen.has(node)) return undefined;
    seen.add(node);
    if (def.type === "transform" || def.reverseTransform !== undefined) return path;
    const parts: [unknown, string][] = [];
    for (const [key, part] of Object.entries(def.shape ?? {})) parts.push([part, `${path}.${key}`]);
    for (const name of PARTS) parts.push([def[name], path]);
    for (const name of ["options", "items"]) {
      if (Array.isArray(def[name])) { for (const part of def[name]) parts.push([part, path]); }
    }
    // What comes before the rest of a schema, as in z.preprocess, is followed by a judgement of what it makes.
    if ((def["in"] as ZodNode | undefined)?._zod?.def?.type !== "transform") parts.push([def["in"], path]);
    if (def.type === "lazy") parts.push([def.getter?.(), path]);
    for (const [part, at] of parts) {
      const found = find(part, at);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return find(schema, "")?.replace(/^\./, "");
}
