// Runs on deno by default: checkpoints are plain data, the same everywhere; the codec has tests on all three.
import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { z } from "zod";
import { jsonSchemaOf } from "../../src/checkpoint/validate.ts";
import { fromJson, toJson } from "../../src/model/json.ts";

type Described = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What is said of the fields of an object. */
function fieldsOf(shape: z.ZodRawShape): Described {
  return (jsonSchemaOf(z.object(shape)) as { readonly properties: Described }).properties;
}

test("what JSON cannot say is described as the tagged JSON that stands for it, wherever it stands (D13, W2)", () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const cases: readonly (readonly [z.ZodType, unknown])[] = [
    [z.date(), new Date(5)],
    [z.bigint().positive(), 7n],
    [z.date().min(new Date(0)).describe("when").readonly(), new Date(5)],
    [z.coerce.date(), new Date(5)],
    [z.lazy(() => z.bigint()), -7n],
    [z.map(z.string(), z.date()), new Map([["a", new Date(5)]])],
    [z.set(z.bigint()), new Set([1n])],
    [z.map(z.object({ a: z.string() }), z.array(z.date())), new Map([[{ a: "b" }, [new Date(5)]]])],
    [z.literal([1n, "a"]), 1n],
    [z.array(z.date()), [new Date(5)]],
    [z.record(z.string(), z.bigint()), { a: 1n }],
    [z.union([z.date(), z.string()]), new Date(5)],
    [z.tuple([z.date(), z.bigint()]), [new Date(5), 1n]],
    [z.discriminatedUnion("k", [z.object({ k: z.literal("a"), at: z.date() })]), { k: "a", at: new Date(5) }],
    [z.date().meta({ id: "Moment" }), new Date(5)],
  ];
  for (const [schema, value] of cases) {
    for (
      const [around, held] of [
        [schema, value],
        [z.object({ in: schema }), { in: value }],
        [z.object({ in: schema.nullable() }), { in: value }],
        [z.object({ in: schema.nullable() }), { in: null }],
        [z.object({ in: schema.optional() }), {}],
        [z.object({ a: schema, b: schema }), { a: value, b: value }],
      ] as const
    ) {
      const made = jsonSchemaOf(around);
      const shown = JSON.stringify(made);
      const judge = ajv.compile(JSON.parse(shown));
      ok(judge(toJson(held)), `${JSON.stringify(toJson(held))} by ${shown}: ${ajv.errorsText(judge.errors)}`);
      ok(!judge(5), shown);
      deepEqual(around.parse(fromJson(toJson(held), "it")), held);
    }
  }
});

test("what cannot be described at all is anything, and leaves the other fields as they are (D13)", () => {
  const { a, b, c, d } = fieldsOf({ a: z.undefined(), b: z.custom<Uint8Array>(), c: z.nan(), d: z.string() });
  deepEqual([a, b, c, d], [{}, {}, {}, { type: "string" }]);
});

test("defaults are described as they are given, and those that a function makes anew are not (D13)", () => {
  const { a, b, c, d, e, f, g, h } = fieldsOf({
    a: z.date().default(new Date(5)),
    b: z.bigint().default(7n),
    c: z.object({ at: z.date() }).default({ at: new Date(5) }).optional(),
    d: z.bigint().catch(0n),
    e: z.date().default(() => new Date()),
    f: z.string().default(() => crypto.randomUUID()),
    g: z.string().transform((text) => text.length).default(5),
    h: z.array(z.string()).default(() => ["x"]),
  });
  const at = { $date: "1970-01-01T00:00:00.005Z" };
  deepEqual([a, b, c, d].map((made) => made!["default"]), [at, { $bigint: "7" }, { at }, { $bigint: "0" }]);
  deepEqual([e, f, g].map((made) => "default" in made!), [false, false, false]);
  deepEqual(h!["default"], ["x"]);
});

test("other libraries are given no options that they may not know, and one that fails has no JSON Schema (D13)", () => {
  const asked: unknown[] = [];
  const library = (input: (options: unknown) => unknown) => ({
    "~standard": { version: 1, vendor: "mine", validate: () => ({ value: 1 }), jsonSchema: { input } },
  });
  equal(jsonSchemaOf(library((options) => (asked.push(options), "made"))), "made");
  deepEqual(asked, [{ target: "draft-2020-12" }]);
  equal(
    jsonSchemaOf(library(() => {
      throw new TypeError("no");
    })),
    undefined,
  );
});

test("a schema whose default throws has no JSON Schema, and one that refers to itself has one (D13)", () => {
  const thrower = z.string().default(() => {
    throw new Error("no");
  });
  equal(jsonSchemaOf(z.object({ a: thrower })), undefined);
  interface Node {
    at: Date;
    next?: Node | undefined;
  }
  const Node: z.ZodType<Node> = z.object({ at: z.date(), next: z.lazy(() => Node).optional() });
  const made = jsonSchemaOf(Node) as { readonly properties: Described };
  deepEqual(Object.keys(made.properties["at"]!["properties"] as object), ["$date"]);
});
