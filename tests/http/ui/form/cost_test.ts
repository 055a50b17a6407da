// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, valueOf } from "../../../../src/http/ui/form/mod.ts";

/** So many looks at a schema make and read any form. Without bounds, some of these take hundreds of times as many. */
const MOST_LOOKS = 2_000_000;

/** A schema that counts how often anything in it is looked at. */
function counted(schema: unknown): { readonly schema: unknown; readonly looks: () => number } {
  let looks = 0;
  const known = new WeakMap<object, object>();
  const watch = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const watched = known.get(value) ?? new Proxy(value, {
      get: (target, key) => (looks++, watch(Reflect.get(target, key))),
      ownKeys: (target) => {
        const keys = Reflect.ownKeys(target);
        looks += keys.length;
        return keys;
      },
    });
    known.set(value, watched);
    return watched;
  };
  return { schema: watch(schema), looks: () => looks };
}

function propertiesOf(count: number, schema: (i: number) => unknown): object {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, schema(i)]));
}

const keywords = (count: number, value: (i: number) => unknown = (i) => i) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, value(i)]));

/** Schemas of up to a megabyte, which references make stand for far more. */
const SCHEMAS: Readonly<Record<string, unknown>> = {
  "parts with thousands of keywords": {
    type: "object",
    properties: propertiesOf(199, () => ({ allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/b" }] })),
    $defs: { a: { type: "string", ...keywords(20_000) }, b: { type: "string", ...keywords(20_000) } },
  },
  "many of the same large part": {
    type: "object",
    properties: propertiesOf(
      199,
      () => ({ allOf: Array.from({ length: 20 }, () => ({ $ref: "#/$defs/a" })) }),
    ),
    $defs: { a: { type: "string", ...keywords(40_000) } },
  },
  "parts that are equal deep inside": {
    type: "object",
    properties: propertiesOf(199, () => ({ allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/b" }] })),
    $defs: Object.fromEntries(
      ["a", "b"].map((
        key,
      ) => [key, { type: "string", "x-deep": { deep: keywords(20_000, (i) => ({ i })) } }]),
    ),
  },
  "objects that demand thousands of properties": {
    oneOf: Array.from({ length: 200 }, () => ({ $ref: "#/$defs/o" })),
    $defs: {
      o: {
        type: "object",
        required: Array.from({ length: 80_000 }, (_, i) => `p${i}`),
        properties: propertiesOf(60, (i) => ({ const: i })),
      },
    },
  },
  "a large default in many places": {
    type: "object",
    properties: propertiesOf(199, () => ({ $ref: "#/$defs/a" })),
    $defs: { a: { default: { deep: keywords(60_000, (i) => ({ i })) } } },
  },
};

for (const [what, made] of Object.entries(SCHEMAS)) {
  test(`a form is made and read with a bounded number of looks: ${what} (FC-29, W3)`, () => {
    const { schema, looks } = counted(made);
    const drawn = String(fieldsOf(schema, "f"));
    const read = valueOf(schema, new URLSearchParams("value=1"));
    assert.ok(looks() < MOST_LOOKS, `${looks()} looks`);
    assert.ok(drawn.length < 1_000_000);
    assert.ok("value" in read || "issues" in read);
  });
}

test("what a form was sent is gone through once, however many fields that are, and the first of a name counts (FC-29, W3)", () => {
  let searches = 0;
  class Searched extends URLSearchParams {
    override get(name: string): string | null {
      searches++;
      return super.get(name);
    }
  }
  const schema = {
    type: "object",
    properties: propertiesOf(199, () => ({ anyOf: [{ type: "string" }, { type: "null" }] })),
    required: ["p7"],
  };
  const sent = new Searched(`value%2Fp7=first&value%2Fp7=second${"&a".repeat(500_000)}`);
  assert.deepEqual(valueOf(schema, sent), { value: { p7: "first" } });
  const again = String(fieldsOf(schema, "f", {
    entries: sent,
    issues: Array.from({ length: 199 }, (_, i) => ({ path: `p${i}`, message: "no" })),
  }));
  assert.equal(searches, 0, "each search would go through all of them");
  assert.match(again, />\nfirst</);
});
