/** What a schema accepts as a JSON Schema: of values as `model/json.ts` writes them, for that is what interfaces take. */

import { isDeepStrictEqual } from "node:util";
import { toJson } from "../model/json.ts";

/**
 * The JSON Schema of what `schema` accepts, for forms; `undefined` where it has none. What JSON cannot say is described as
 * the tagged object that stands for it, such as `{"$date": …}`, and as anything where that cannot be described either.
 */
export function jsonSchemaOf(schema: unknown): unknown {
  try {
    const { vendor, jsonSchema } = (schema as { readonly "~standard": JsonSchemaSource })["~standard"];
    // Other libraries may refuse options that they do not know.
    const more = vendor === "zod" ? { libraryOptions: ZOD_OPTIONS } : {};
    return jsonSchema?.input({ target: "draft-2020-12", ...more });
  } catch {
    return undefined;
  }
}

/** The Standard JSON Schema extension of Standard Schema. */
interface JsonSchemaSource {
  readonly vendor: string;
  readonly jsonSchema?: {
    input(options: { readonly target: string; readonly libraryOptions?: object }): unknown;
  };
}

type JsonSchema = Record<string, unknown>;

/** What is used of a schema of zod. */
interface ZodSchema {
  readonly _zod: {
    readonly def: {
      readonly type: string;
      readonly values?: readonly unknown[];
      readonly keyType?: ZodSchema;
      readonly valueType?: ZodSchema;
      readonly defaultValue?: unknown;
      readonly catchValue?: (context: undefined) => unknown;
    };
  };
}

const ZOD_OPTIONS = { unrepresentable: "any", override: amend };

/** Describes in place what zod leaves open. Schemas around this one have not been described yet, and take over from it. */
function amend(
  { zodSchema, jsonSchema }: { readonly zodSchema: ZodSchema; readonly jsonSchema: JsonSchema },
) {
  const { def } = zodSchema._zod;
  switch (def.type) {
    case "date":
    case "bigint":
      Object.assign(jsonSchema, SIMPLE[def.type]);
      return;
    case "map": {
      const prefixItems = [simple(def.keyType), simple(def.valueType)];
      const entry = { type: "array", prefixItems, items: false, minItems: 2, maxItems: 2 };
      Object.assign(jsonSchema, tagged("$map", { type: "array", items: entry }));
      return;
    }
    case "set":
      Object.assign(jsonSchema, tagged("$set", { type: "array", items: simple(def.valueType) }));
      return;
    case "literal": {
      const { values = [] } = def;
      if (!values.some((value) => typeof value === "bigint" || value === undefined)) return;
      for (const keyword of ["type", "const"]) delete jsonSchema[keyword];
      jsonSchema["enum"] = values.map(toJson);
      return;
    }
    case "default":
    case "prefault":
    case "catch": {
      const value = () => def.type === "catch" ? def.catchValue?.(undefined) : def.defaultValue;
      const once = value();
      // zod leaves out defaults of what is transformed, and those that it cannot say.
      if (!("default" in jsonSchema) && typeof once !== "bigint") return;
      // One that a function makes anew each time, such as an id or the time, is no default of a form.
      if (isSame(once, value())) jsonSchema["default"] = toJson(once);
      else delete jsonSchema["default"];
    }
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return a instanceof Date ? a === b : isDeepStrictEqual(a, b);
}

/** An object that stands for a value which JSON has no word for. */
function tagged(tag: string, content: JsonSchema): JsonSchema {
  return { type: "object", properties: { [tag]: content }, required: [tag], additionalProperties: false };
}

const SIMPLE: Readonly<Record<string, JsonSchema>> = {
  string: { type: "string" },
  number: { type: "number" },
  boolean: { type: "boolean" },
  date: tagged("$date", { type: "string", format: "date-time", examples: ["2026-12-31T23:59:59Z"] }),
  bigint: tagged("$bigint", { type: "string", pattern: "^-?\\d+$", examples: ["12345678901234567890"] }),
};

/** The schema of a member, where it can be said in a word. */
function simple(schema: ZodSchema | undefined): JsonSchema {
  return SIMPLE[schema?._zod.def.type ?? ""] ?? {};
}
