/** An example of a value, for those who have to type it as JSON. */

import type { Json } from "../../../model/json.ts";
import { isObject, type Place, propertiesOf, type Schemas } from "./schema.ts";

const MAX_DEPTH = 3;
const MAX_ENTRIES = 8;
const MAX_TEXT = 300;

/** A value such as the schema describes, as JSON text; nothing when that would be long or say nothing. */
export function sketchOf(schemas: Schemas, place: Place): string | undefined {
  const sketch = exampleOf(schemas, place, 0);
  const text = typeof sketch === "object" && sketch !== null ? JSON.stringify(sketch) : "";
  return text === "" || text === "[null]" || text.length > MAX_TEXT ? undefined : text;
}

function exampleOf(schemas: Schemas, place: Place | undefined, depth: number): Json {
  const [member] = (place === undefined ? undefined : schemas.membersOf(place)) ?? [];
  if (member === undefined) return null;
  const { schema, refs } = member;
  const within = (inner: unknown) => exampleOf(schemas, schemas.resolve(inner, refs), depth + 1);
  if ("const" in schema) return scalarOf(schema["const"]);
  if (Array.isArray(schema["enum"])) return scalarOf(schema["enum"][0]);
  const { type } = schema;
  switch (depth > MAX_DEPTH && (type === "array" || type === "object") ? undefined : type) {
    case "string": {
      const [example] = Array.isArray(schema["examples"]) ? schema["examples"] : [];
      return typeof example === "string" ? example : "…";
    }
    case "number":
    case "integer":
      return 0;
    case "boolean":
      return false;
    case "array": {
      const { prefixItems, items } = schema;
      if (Array.isArray(prefixItems)) return prefixItems.slice(0, MAX_ENTRIES).map(within);
      return isObject(items) ? [within(items)] : [];
    }
    case "object": {
      const properties = propertiesOf(schema) ?? {};
      const keys = Object.keys(properties);
      if (keys.length > MAX_ENTRIES) return {};
      if (keys.length > 0) return Object.fromEntries(keys.map((key) => [key, within(properties[key])]));
      return isObject(schema["additionalProperties"]) ? { "…": within(schema["additionalProperties"]) } : {};
    }
    default:
      return null;
  }
}

function scalarOf(value: unknown): Json {
  return typeof value === "object" || value === undefined ? null : value as Json;
}
