import type { Schema } from "../model/schema.ts";
import { type SchemaChange, schemaChange } from "./changes.ts";
import { pathText, type Segment } from "./path.ts";

/** What a schema has against a value. */
export interface Issue {
  /** Where, such as `orders[3].total`; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** What a schema made of a value, or what it has against it. */
export type Parsed =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/** Parses a value that stands at `path` of the whole. A schema that answers with a promise is refused. */
export function parse(schema: Schema, value: unknown, path: readonly Segment[] = []): Parsed {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) {
    result.catch(() => {});
    // zod answers with a promise also when a check throws.
    const message =
      "its schema is asynchronous, or a check in it threw; use checks that answer at once, and do others in a vertex";
    return { issues: [{ path: pathText(path), message }] };
  }
  if (result.issues === undefined) return { value: result.value };
  return {
    issues: result.issues.map((issue) => ({
      path: pathText([...path, ...(issue.path ?? []).map(segmentOf)]),
      message: issue.message,
    })),
  };
}

/** What a schema has against a value that it is to take as it is; `undefined` when nothing. */
export function refusals(
  schema: Schema,
  value: unknown,
  path: readonly Segment[] = [],
): readonly Issue[] | undefined {
  const parsed = parse(schema, value, path);
  if (parsed.issues !== undefined) return parsed.issues;
  const change = schemaChange(value, parsed.value);
  return change && [issueOf(change, path)];
}

/** A change that a schema must not make, as what it has against the value. */
export function issueOf(change: SchemaChange, path: readonly Segment[] = []): Issue {
  return { path: pathText([...path, ...change.path]), message: CHANGES[change.kind] };
}

const CHANGES: Readonly<Record<SchemaChange["kind"], string>> = {
  changed:
    "the schema would change this value; store what it makes of it, or have it take the value as it is",
  completed: "it is missing, and the schema would complete it; give it a value",
  dropped: "the schema does not know this field and would drop it; declare it, or leave it out",
};

function segmentOf(step: PropertyKey | { readonly key: PropertyKey }): Segment {
  const key = typeof step === "object" ? step.key : step;
  return typeof key === "number" ? { kind: "index", index: key } : { kind: "field", key };
}
