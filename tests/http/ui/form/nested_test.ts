// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { FormPage, refused, schemaOf, submitted } from "./page.ts";

test("objects in objects are groups with a legend, and their keys may be anything (W3)", () => {
  const Nested = z.object({
    to: z.object({ "first.name": z.string(), "a b/c~d[0]\"'<é😀": z.string() }).meta({ title: "Recipient" }),
  });
  const page = new FormPage(schemaOf(Nested));
  assert.deepEqual(page.texts("legend"), ["Recipient"]);
  const [first, second] = page.names;
  const value = page.fill({ [first!]: "Kim", [second!]: "x" }).value();
  assert.deepEqual(value, { to: { "first.name": "Kim", "a b/c~d[0]\"'<é😀": "x" } });
  const refusedPaths = new FormPage(schemaOf(z.object({ "a b": z.object({ n: z.int() }) }))).issues();
  assert.deepEqual(refusedPaths, [{ path: '["a b"].n', message: "give a value" }]);
});

test("an object that may be left out or be null is so when that is chosen, and never by mistake (W3)", () => {
  const Maybe = z.object({ to: z.object({ name: z.string(), age: z.int().default(3) }).nullish() });
  assert.deepEqual(submitted(Maybe), {});
  assert.deepEqual(submitted(Maybe, { "value/to?": "" }), {});
  assert.deepEqual(submitted(Maybe, { "value/to?": "null" }), { to: null });
  const filled = { "value/to/name": "Kim" };
  assert.deepEqual(submitted(Maybe, { "value/to?": ":", ...filled }), { to: { name: "Kim", age: 3 } });
  assert.deepEqual(refused(Maybe, filled), ["to: it is filled in: choose whether it is meant"]);
  assert.deepEqual(submitted(Maybe, { "value/to?": "", ...filled }), {});
  const page = new FormPage(schemaOf(Maybe));
  assert.ok(
    page.controls().every(({ attributes }) => !("required" in attributes)),
    "what is left out is not insisted on",
  );
});

test("of a union the variant is chosen, and only its fields are read (W3)", () => {
  const Shape = z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("circle"), size: z.number() }),
    z.object({ kind: z.literal("text"), size: z.string(), note: z.string().optional() }),
  ]);
  const page = new FormPage(schemaOf(Shape));
  assert.deepEqual(page.names, ["value?", "value:circle/size", "value:text/size", "value:text/note"]);
  assert.deepEqual(refused(Shape), [": choose one"]);
  const typed = { "value:circle/size": "2", "value:text/size": "large" };
  assert.deepEqual(submitted(Shape, { ...typed, "value?": ":circle" }), { kind: "circle", size: 2 });
  assert.deepEqual(submitted(Shape, { ...typed, "value?": ":text" }), { kind: "text", size: "large" });
  assert.deepEqual(refused(z.object({ shape: Shape }), { "value/shape?": ":circle" }), [
    "shape.size: give a value",
  ]);
  assert.deepEqual(submitted(z.object({ shape: Shape.nullish() }), { "value/shape?": "null" }), {
    shape: null,
  });
});

test("values of different types are variants too (W3)", () => {
  const Either = z.object({
    size: z.union([z.literal("auto"), z.number(), z.array(z.string()), z.boolean()]),
  });
  assert.deepEqual(submitted(Either, { "value/size?": '="auto"' }), { size: "auto" });
  assert.deepEqual(submitted(Either, { "value/size?": ":Number", "value/size:Number": "7" }), { size: 7 });
  assert.deepEqual(submitted(Either, { "value/size?": ":List", "value/size:List": "a" }), { size: ["a"] });
  assert.deepEqual(submitted(Either, { "value/size?": "=false" }), { size: false });
  const Both = z.union([z.string(), z.number()]).default(3);
  assert.equal(submitted(Both), 3);
});

test("whatever has no fields of its own is typed as JSON, with an example (W3)", () => {
  const Rest = z.object({
    items: z.array(z.object({ name: z.string(), qty: z.int() })),
    meta: z.record(z.string(), z.number()).optional(),
    pair: z.tuple([z.string(), z.number()]),
    any: z.any(),
    either: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
  });
  const page = new FormPage(schemaOf(Rest));
  assert.ok(
    page.controls().every(({ name, attributes }) => name === "textarea" && attributes["class"] === "json"),
  );
  assert.match(page.texts("p")[0]!, /^JSON, such as \[\{"name":"…","qty":0\}\]$/);
  const value = {
    items: [{ name: "a", qty: 1 }],
    pair: ["x", 2],
    any: null,
    either: { b: "" },
  };
  const typed = Object.fromEntries(
    Object.entries(value).map(([key, part]) => [`value/${key}`, JSON.stringify(part)]),
  );
  assert.deepEqual(submitted(Rest, typed), value);
  const [bad, missing] = refused(Rest, { ...typed, "value/items": "[1,", "value/any": " " });
  assert.match(bad!, /^items: it must be JSON: /);
  assert.equal(missing, "any: give a value, as JSON");
  assert.match(refused(Rest, { ...typed, "value/any": '{"$bigint": "x"}' })[0]!, /^any: .*digits/);
});

test("without a schema, or with one that says nothing, the value is one text of JSON (W3)", () => {
  for (const schema of [undefined, null, true, {}, [], "string", { type: "object" }, { $ref: "#" }]) {
    const page = new FormPage(schema);
    assert.deepEqual(page.names, ["value"]);
    assert.deepEqual(page.issues(), [{ path: "", message: "give a value, as JSON" }]);
    assert.deepEqual(page.fill({ value: '{"a": [1, {"$bigint": "12"}]}' }).value(), { a: [1, 12n] });
  }
});

test("a value that is no object is one field (W3)", () => {
  assert.equal(submitted(z.string(), { value: "x" }), "x");
  assert.equal(submitted(z.boolean(), { value: "false" }), false);
  assert.deepEqual(submitted(z.array(z.int()), { value: "1\n2" }), [1, 2]);
  assert.equal(submitted(z.int().nullable()), null);
  assert.deepEqual(new FormPage(schemaOf(z.number())).texts("label"), ["Value"]);
  assert.deepEqual(refused(z.boolean()), [": choose one"]);
});

test("an object without fields asks for nothing (W3)", () => {
  assert.deepEqual(submitted(z.object({})), {});
  assert.match(new FormPage(schemaOf(z.object({}))).texts("p")[0]!, /Nothing/);
});

test("references are followed; what refers to itself is typed as JSON where it begins again (W3)", () => {
  interface Node {
    value: number;
    next?: Node | undefined;
  }
  const List: z.ZodType<Node> = z.object({ value: z.number(), next: z.lazy(() => List).optional() });
  assert.deepEqual(submitted(List, { "value/value": "1", "value/next": '{"value":2}' }), {
    value: 1,
    next: { value: 2 },
  });
  const Address = z.object({ street: z.string() }).meta({ id: "Address", title: "Address" });
  const Order = z.object({ from: Address, to: Address.describe("Where it goes") });
  const page = new FormPage(schemaOf(Order));
  assert.deepEqual(page.texts("legend"), ["Address (from)", "Address (to)"]);
  assert.ok(page.texts("p").includes("Where it goes"));
  assert.deepEqual(submitted(Order, { "value/from/street": "A", "value/to/street": "B" }).to, {
    street: "B",
  });
});

test("parts that belong together are one object (W3)", () => {
  const part = (name: string) => ({
    type: "object",
    properties: { [name]: { type: "string" } },
    required: [name],
  });
  const both = { allOf: [part("a"), { $ref: "#/$defs/b" }], $defs: { b: part("b") } };
  assert.deepEqual(new FormPage(both).fill({ "value/a": "1", "value/b": "2" }).value(), { a: "1", b: "2" });
  const against = { allOf: [part("a"), { properties: { a: { type: "number" } } }] };
  assert.deepEqual(new FormPage(against).names, ["value"], "what contradicts itself is JSON");
});
