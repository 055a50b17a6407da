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
