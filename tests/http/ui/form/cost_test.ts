import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, valueOf } from "../../../../src/http/ui/form/mod.ts";

/** Far more than a form takes on a slow machine, and far less than one of these took. */
const LIMIT_MS = 10_000;

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

for (const [what, schema] of Object.entries(SCHEMAS)) {
  test(`FC-29, W3: a form is made and read in bounded time: ${what}`, () => {
    const begun = performance.now();
    const drawn = String(fieldsOf(schema, "f"));
    const read = valueOf(schema, new URLSearchParams("value=1"));
    const took = performance.now() - begun;
    assert.ok(took < LIMIT_MS, `${took} ms`);
    assert.ok(drawn.length < 1_000_000);
    assert.ok("value" in read || "issues" in read);
  });
}

test("FC-29, W3: a form of half a million fields is read in bounded time, and the first of a name counts", () => {
  const schema = {
    type: "object",
    properties: propertiesOf(199, () => ({ anyOf: [{ type: "string" }, { type: "null" }] })),
    required: ["p7"],
  };
  const sent = new URLSearchParams(`value%2Fp7=first&value%2Fp7=second${"&a".repeat(500_000)}`);
  const begun = performance.now();
  assert.deepEqual(valueOf(schema, sent), { value: { p7: "first" } });
  const again = String(fieldsOf(schema, "f", {
    entries: sent,
    issues: Array.from({ length: 199 }, (_, i) => ({ path: `p${i}`, message: "no" })),
  }));
  const took = performance.now() - begun;
  assert.ok(took < LIMIT_MS / 2.5, `${took} ms`);
  assert.match(again, />\nfirst</);
});
