import type { Schema } from "../model/schema.ts";
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

function segmentOf(step: PropertyKey | { readonly key: PropertyKey }): Segment {
  const key = typeof step === "object" ? step.key : step;
  return typeof key === "number" ? { kind: "index", index: key } : { kind: "field", key };
}
