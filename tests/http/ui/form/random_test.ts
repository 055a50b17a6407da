// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { toJson } from "../../../../src/model/json.ts";
import { seeded } from "../../../checkpoint/values.ts";
import { entriesOf, FormPage, schemaOf } from "./page.ts";

type Random = () => number;

/** A schema, and values that satisfy it. */
interface Kind {
  readonly schema: z.ZodType;
  /** What it is called where it is one of several. */
  readonly word?: string;
  readonly value: () => unknown;
}

const TEXTS = ["a", " b ", "two\nlines", "\n", "ä<&>\"'", "😀", "null", "0", "__proto__", "%2F", "\u2028"];
const KEYS = ["a", "b c", "constructor", "__proto__", "d.e", "f/g", "é", "$tag", "", "[0]"];
const TIMES = [0, 1, 60_000, 1_798_761_599_120, 253_402_300_799_999, -62_135_596_800_000];
const NUMBERS_OF_ANY_SIZE = [0n, -7n, 2n ** 64n, -(10n ** 40n)];
const NUMBERS = [0, -0, 1, -1.5, 1e21, 5e-324, 0.1 + 0.2, 2 ** 53 - 1, 123456.789, -1e-7];

/** The simple kinds. */
function scalar(random: Random): Kind {
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
  return pick<() => Kind>([
    () => ({ schema: z.string(), word: "Text", value: () => pick(TEXTS) }),
    () => ({ schema: z.string().max(50), word: "Text", value: () => pick(TEXTS) }),
    () => ({ schema: z.number(), word: "Number", value: () => pick(NUMBERS) }),
    () => ({ schema: z.int(), word: "Whole number", value: () => Math.floor((random() - 0.5) * 1e9) }),
    () => ({ schema: z.boolean(), word: "bool", value: () => random() < 0.5 }),
    () => ({ schema: z.enum(["x", "y\nz", ""]), word: "enum", value: () => pick(["x", "y\nz", ""]) }),
    () => ({
      schema: z.literal([1, 2, 3, 4, 5, 6, "1"]),
      word: "lit",
      value: () => pick([1, 2, 3, 4, 5, 6, "1"]),
    }),
    () => ({
      schema: z.iso.datetime(),
      word: "Text",
      value: () => pick(["2026-01-02T03:04:05Z", "2026-01-02T03:04:00.120Z"]),
    }),
    () => ({ schema: z.iso.date(), word: "Text", value: () => "2026-02-28" }),
    () => ({ schema: z.email(), word: "Text", value: () => "kim@example.com" }),
    () => ({ schema: z.date(), word: "Date and time", value: () => new Date(pick(TIMES)) }),
    () => ({ schema: z.bigint(), word: "Whole number", value: () => pick(NUMBERS_OF_ANY_SIZE) }),
  ])();
}

function kind(random: Random, depth: number): Kind {
  const below = () => kind(random, depth - 1);
  const some = <T>(make: () => T, least = 0): T[] =>
    Array.from({ length: least + Math.floor(random() * 3) }, make);
  if (depth === 0 || random() < 0.4) return scalar(random);
  switch (Math.floor(random() * 6)) {
    case 0: {
      const { schema, word, value } = random() < 0.5 ? scalar(random) : below();
      const item = word === "Text" ? () => String(value()).replaceAll("\n", "") : value;
      return { schema: z.array(schema).min(1), word: "List", value: () => some(item, 1) };
    }
    case 1: {
      const { schema, value } = below();
      return { schema: z.record(z.string(), schema), value: () => ({ k: value(), l: value() }) };
    }
    case 2: {
      const { schema, value } = below();
      return { schema: schema.nullable(), word: "null", value: () => random() < 0.3 ? null : value() };
    }
    case 3: {
      const kinds = some(() => scalar(random), 2);
      const distinct = kinds.filter((one, i) => kinds.findIndex(({ word }) => word === one.word) === i);
      const of = (): unknown => distinct[Math.floor(random() * distinct.length)]!.value();
      return { schema: z.union(distinct.map(({ schema }) => schema)), word: "null", value: of };
    }
    case 4: {
      const options = ["p", "q"].map((tag) => objectKind(random, depth - 1, tag));
      const [p, q] = options.map(({ schema }) => schema as z.ZodObject<{ tag: z.ZodLiteral<string> }>);
      return {
        schema: z.discriminatedUnion("tag", [p!, q!]),
        value: () => options[random() < 0.5 ? 0 : 1]!.value(),
      };
    }
    default:
      return objectKind(random, depth - 1);
  }
}

function objectKind(random: Random, depth: number, tag?: string): Kind {
  const keys = KEYS.filter((key) => random() < 0.35 && (key !== "__proto__" || tag === undefined));
  const kinds = keys.map((key) => [key, kind(random, depth), random() < 0.3] as const);
  const shape: [string, z.ZodType][] = kinds.map((
    [key, { schema }, optional],
  ) => [key, optional ? schema.optional() : schema]);
  if (tag !== undefined) shape.unshift(["tag", z.literal(tag)]);
  return {
    schema: z.object(Object.fromEntries(shape)),
    value: () =>
      Object.fromEntries([
        ...(tag === undefined ? [] : [["tag", tag]]),
        ...kinds.filter(([, , optional]) => !optional || random() < 0.6).map((
          [key, { value }],
        ) => [key, value()]),
      ]),
  };
}

test("whatever a form is filled with is the value that it submits (W3)", () => {
  const random = seeded(20261129);
  let controls = 0;
  for (let i = 0; i < 150; i++) {
    const { schema, value } = kind(random, 3);
    const made = schemaOf(schema);
    const wanted = value();
    const shown = () => `${JSON.stringify(toJson(wanted))} by ${JSON.stringify(made)}`;
    const entries = entriesOf(made, toJson(wanted));
    assert.ok(entries !== undefined, `the form can say ${shown()}`);
    const page = new FormPage(made, { entries });
    controls += page.names.length;
    assert.deepEqual(page.value(), wanted, shown());
  }
  assert.ok(controls > 400, `${controls} controls`);
});

test("a form that is filled with defaults submits them (W3)", () => {
  const random = seeded(7);
  for (let i = 0; i < 150; i++) {
    const { schema, value } = kind(random, 2);
    const made = schemaOf(schema) as object;
    const wanted = value();
    const it = { ...made, default: toJson(wanted) };
    const whole = { type: "object", properties: { it }, required: ["it"] };
    const page = new FormPage(whole);
    assert.deepEqual(page.fill({}).value(), { it: wanted }, JSON.stringify(whole));
  }
});
