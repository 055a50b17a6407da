import { z } from "zod";
import { toJson } from "../model/json.ts";
import { type Issue, parse } from "./schema.ts";

/**
 * What a JSON Schema that was stored has against a value, for those who have not the code that it was made from; `undefined`
 * when nothing.
 *
 * @throws when it is no JSON Schema that can be judged by
 */
export function storedRefusals(jsonSchema: unknown, value: unknown): readonly Issue[] | undefined {
  return parse(z.fromJSONSchema(jsonSchema as Parameters<typeof z.fromJSONSchema>[0]), toJson(value)).issues;
}
