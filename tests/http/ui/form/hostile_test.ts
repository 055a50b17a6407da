// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, valueOf } from "../../../../src/http/ui/form/mod.ts";
import { allOf } from "../../../support/xml.ts";
import { entriesOf, FormPage } from "./page.ts";

const EVIL = `"'><script>alert(1)</script>&lt;\${x}`;

/** An object schema whose properties are own ones, whatever they are called. */
function objectOf(properties: readonly (readonly [string, unknown])[], more: object = {}): unknown {
  return { type: "object", properties: Object.fromEntries(properties), ...more };
}

const TEXT = { type: "string" };

test("texts of a schema are texts of the page, wherever they stand (W3)", () => {
  const choices = [EVIL, "b", "c", "d", "e", "f"];
  const schema = objectOf([
    [EVIL, { type: "string", title: EVIL, description: EVIL, default: EVIL, pattern: EVIL, format: EVIL }],
    ["few", { enum: [EVIL, "b"], default: EVIL }],
    ["many", { enum: choices, default: EVIL }],
    ["json", { type: "array", items: objectOf([[EVIL, TEXT]]), default: [EVIL] }],
    ["list", { type: "array", items: { type: "string", enum: [EVIL] } }],
    ["union", {
      anyOf: [{ type: "number", title: EVIL }, { type: "string", maxLength: EVIL, minLength: -1 }],
    }],
    ["number", { type: "number", minimum: EVIL, maximum: { x: EVIL }, multipleOf: -1 }],
  ], { title: EVIL, description: EVIL });
  const page = new FormPage(schema, {
    issues: [{ path: EVIL, message: EVIL }, { path: "few", message: EVIL }],
  }, EVIL);
  assert.deepEqual(allOf(page.root).filter(({ name }) => name === "script"), []);
  assert.ok(page.texts("legend").includes(EVIL));
  const value = page.fill({ "value/number": "1" }).value() as Readonly<Record<string, unknown>>;
  assert.equal(value[EVIL], EVIL);
  assert.deepEqual([value["few"], value["many"], value["json"]], [EVIL, EVIL, [EVIL]]);
  for (const control of page.controls()) assert.ok(!("pattern" in control.attributes));
});

test("keys that objects have of themselves are keys of the value (W3)", () => {
  const keys = [
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "",
    " ",
    "a/b",
    "a~1b",
    "$date",
    "\u202egnp.exe",
  ];
  const page = new FormPage(objectOf(keys.map((key) => [key, TEXT]), { required: keys }));
  assert.equal(page.names.length, keys.length);
  const value = page.fill(Object.fromEntries(page.names.map((name, i) => [name, String(i)])))
    .value() as object;
  assert.deepEqual(Object.entries(value), keys.map((key, i) => [key, String(i)]));
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.ok(page.texts("label").every((label) => label !== "" && !label.includes("\u202e")));
});

test("an object whose only key looks like a tag is that object (W3)", () => {
  const schema = objectOf([["$date", TEXT]]);
  const entries = new Map([["value/%24date", "soon"]]);
  assert.deepEqual(valueOf(schema, entries), { value: { $plain: { $date: "soon" } } });
  assert.deepEqual(entriesOf(schema, { $plain: { $date: "soon" } }), entries);
  assert.equal(entriesOf(schema, { $date: "2026-01-01T00:00:00.000Z" }), undefined, "a tag is no object");
});

test("keys that cannot be names of controls, and too many of them, are typed as JSON (W3)", () => {
  const jsonOnly = (schema: unknown) => assert.deepEqual(new FormPage(schema).names, ["value"]);
  jsonOnly(objectOf([["x".repeat(10_000), TEXT]]));
  jsonOnly(objectOf([["é".repeat(400), TEXT]]));
  jsonOnly(objectOf([["\ud800", TEXT]]));
  jsonOnly(objectOf(Array.from({ length: 201 }, (_, i) => [`k${i}`, TEXT])));
  const many = objectOf(
    Array.from({ length: 200 }, (_, i) => [`k${i}`, objectOf([["a", TEXT], ["b", TEXT]])]),
    {
      required: Array.from({ length: 200 }, (_, i) => `k${i}`),
    },
  );
  assert.equal(new FormPage(many).names.length, 200, "what is too much for fields is JSON, a field each");
});

test("schemas that are endless, by references or by depth, make a form of bounded size at once (W3)", () => {
  const laughs = Object.fromEntries(Array.from({ length: 60 }, (_, i) => {
    const next = { $ref: `#/$defs/d${i + 1}` };
    return [
      `d${i}`,
      [{ anyOf: [next, next] }, { allOf: [next, next] }, objectOf([["a", next], ["b", next]])][i % 3],
    ];
  }));
  let deep: unknown = TEXT;
  for (let i = 0; i < 3_000; i++) {
    deep = i % 2 === 0 ? objectOf([["a", deep]], { required: ["a"] }) : { anyOf: [deep] };
  }
  const long = objectOf([["a", {
    ...TEXT,
    description: "x".repeat(1e6),
    title: "y".repeat(1e6),
    default: "z".repeat(1e6),
  }]]);
  const schemas = [
    { $ref: "#/$defs/d0", $defs: laughs },
    { $ref: "#/$defs/d1", $defs: laughs },
    { $ref: "#/$defs/d2", $defs: laughs },
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
    { anyOf: [{ $ref: "#" }, { type: "null" }] },
    objectOf([["a", { $ref: "#" }], ["b", { $ref: "#/properties/a" }]]),
    deep,
    long,
    { enum: Array.from({ length: 100_000 }, (_, i) => i) },
    objectOf(
      Array.from({ length: 150 }, (_, i) => [`k${i}`, { enum: Array.from({ length: 190 }, (_, n) => n) }]),
    ),
    { anyOf: Array.from({ length: 100_000 }, () => TEXT) },
    { type: "object", default: JSON.parse(`${"[".repeat(3_000)}${"]".repeat(3_000)}`) },
  ];
  const began = performance.now();
  for (const [i, schema] of schemas.entries()) {
    const size = String(fieldsOf(schema, "f")).length;
    assert.ok(size < 1e6, `schema ${i} makes ${size} characters`);
    assert.ok("issues" in valueOf(schema, new Map()) || "value" in valueOf(schema, new Map()));
  }
  assert.ok(performance.now() - began < 5_000);
});

test("schemas that are none, or say what makes no sense, still make a form (W3)", () => {
  const junk = [null, undefined, 0, "", "x", [], {}, true, { type: "x" }, { $ref: 1 }, { $ref: "#/%" }];
  const keywords = [
    "type",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "properties",
    "required",
    "items",
  ];
  const more = ["default", "title", "description", "format", "pattern", "minLength", "maximum", "multipleOf"];
  for (
    const base of [{}, TEXT, { type: "number" }, { type: "object" }, { type: "array" }, {
      type: ["string", "null"],
    }]
  ) {
    for (const keyword of [...keywords, ...more]) {
      for (const value of junk) {
        for (
          const schema of [{ ...base, [keyword]: value }, objectOf([["a", { ...base, [keyword]: value }]])]
        ) {
          const page = new FormPage(schema);
          assert.ok(page.names.every((name) => name.startsWith("value")), JSON.stringify(schema));
          valueOf(schema, page.submit());
        }
      }
    }
  }
});

test("a pattern is never run, however long it would take (W3)", () => {
  const schema = { type: "string", pattern: "^(a+)+$", maxLength: 100 };
  const text = `${"a".repeat(60)}!`;
  assert.deepEqual(valueOf(schema, new Map([["value", text]])), { value: text });
  const page = new FormPage(schema, { entries: new Map([["value", text]]) });
  assert.match(page.texts("p")[0]!, /\^\(a\+\)\+\$/);
});

test("names that a form does not have are ignored, and of a name that comes twice the first counts (W3)", () => {
  const schema = objectOf([["a", TEXT]]);
  const body = new URLSearchParams(
    "value%2Fa=1&value%2Fa=2&value%2Fb=3&value=4&reason=5&value%2F__proto__=6",
  );
  assert.deepEqual(valueOf(schema, body), { value: { a: "1" } });
});

test("what a control would not give back cannot be filled in, and JSON can (W3)", () => {
  const schema = objectOf([["a", TEXT], ["b", { type: "number" }]]);
  for (
    const value of [
      { a: "a\rb" },
      { a: "\0" },
      { a: "\ud800" },
      { a: "" },
      { a: 1 },
      { c: 1 },
      { b: { $number: "NaN" } },
      [],
      1,
    ]
  ) {
    assert.equal(entriesOf(schema, value), undefined, JSON.stringify(value));
    const entries = entriesOf(undefined, value)!;
    assert.deepEqual(valueOf(undefined, new FormPage(undefined, { entries }).submit()), { value });
  }
  assert.deepEqual(entriesOf(schema, { a: "x" }), new Map([["value/a", "x"], ["value/b", ""]]));
});
