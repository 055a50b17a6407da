// Runs on deno by default: checkpoints are plain data, the same everywhere; the codec has tests on all three.
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { z } from "zod";
import { isMarked } from "../../src/checkpoint/canonical_tag.ts";
import { advance } from "../../src/checkpoint/delta.ts";
import { reduceDraft } from "../../src/checkpoint/draft.ts";
import {
  jsonSchemaOf,
  parseWith,
  type StateValidator,
  stateValidator,
} from "../../src/checkpoint/validate.ts";
import { SerializationError, ValidationError } from "../../src/errors.ts";

type Schema = StandardSchemaV1<unknown, never>;

const validatorOf = (schema: unknown): StateValidator<unknown> =>
  stateValidator(schema as StandardSchemaV1<unknown, unknown>);

/** The paths that a change of an accepted state is refused for; empty when it is accepted. */
function judged(schema: unknown, input: unknown, recipe: (draft: never) => unknown): string[] {
  const validator = validatorOf(schema);
  const prev = validator.input(input);
  const next = advance(prev, reduceDraft(prev, recipe as (draft: unknown) => unknown, "r"), "s").value;
  const found = validator.check(prev, next)?.map((issue) => issue.path) ?? [];
  const whole = validator.check(undefined, next)?.map((issue) => issue.path) ?? [];
  deepEqual(found.length > 0, whole.length > 0, `by change ${found}, as a whole ${whole}`);
  return found;
}

/** A schema of numbers from 0 on, and how often it looked at one. */
function counted(): { schema: z.ZodType; seen: () => number } {
  let count = 0;
  const schema = z.number().refine((n) => (count++, n >= 0));
  return { schema, seen: () => count };
}

test("the input is parsed with defaults and becomes canonical (E1)", () => {
  const validator = validatorOf(z.object({ n: z.number().default(3), when: z.coerce.date() }));
  const state = validator.input({ when: "2020-01-01T00:00:00Z" }) as object;
  deepEqual(state, { when: new Date("2020-01-01T00:00:00Z"), n: 3 });
  ok(isMarked(state));
  throws(
    () => validator.input({ when: "never" }),
    (e) => e instanceof ValidationError && e.issues[0]!.path === "when",
  );
});

test("an input with objects as keys of maps and entries of sets is kept as it is (E1)", () => {
  const schema = z.object({ any: z.unknown(), map: z.map(z.object({ k: z.number() }), z.string()) });
  const input = { any: new Map([[{ deep: [1n] }, new Set([{ a: 1 }])]]), map: new Map([[{ k: 1 }, "one"]]) };
  deepEqual(validatorOf(schema).input(input), input);
});

test("a schema that refuses or changes its own output is refused when it is used (E1)", () => {
  const refuses = z.object({ list: z.array(z.string().transform(Number)) });
  throws(
    () => validatorOf(refuses).input({ list: ["1"] }),
    (e) =>
      e instanceof ValidationError && e.issues[0]!.path === "list[0]" && /its own output/.test(e.message),
  );
  const changes = z.object({ n: z.number().transform((n) => n + 1) });
  throws(
    () => validatorOf(changes).input({ n: 1 }),
    (e) =>
      e instanceof ValidationError && e.issues[0]!.path === "n" && /changes its own output/.test(e.message),
  );
  deepEqual(validatorOf(z.object({ s: z.string().trim() })).input({ s: " x " }), { s: "x" });
});

test("an asynchronous schema and one that throws are refused, not awaited (C4)", async () => {
  const slow = z.object({ a: z.string().refine(() => Promise.resolve(true)) });
  throws(
    () => validatorOf(slow).input({ a: "x" }),
    (e) => e instanceof ValidationError && /asynchronous/.test(e.message),
  );
  const broken = z.object({
    a: z.string().refine(() => {
      throw new Error("broken check");
    }),
  });
  throws(
    () => validatorOf(broken).input({ a: "x" }),
    (e) => e instanceof ValidationError && /threw/.test(e.message),
  );
  await new Promise((resolve) => setTimeout(resolve, 0));
});

test("a change is judged where it happened, and judged as the whole would be (C4)", () => {
  const schema = z.object({
    n: z.number(),
    items: z.array(z.object({ id: z.number(), tag: z.string().optional() })),
    map: z.map(z.string(), z.number()),
    set: z.set(z.string()),
    record: z.record(z.string(), z.object({ v: z.number() })),
    maybe: z.object({ a: z.string() }).nullable().optional(),
    either: z.union([z.string(), z.number()]),
  });
  const input = {
    n: 1,
    items: [{ id: 1 }, { id: 2, tag: "x" }],
    map: new Map([["a", 1]]),
    set: new Set(["a"]),
    record: { a: { v: 1 } },
    maybe: null,
    either: 1,
  };
  type S = Record<string, unknown> & {
    items: { id: unknown; tag?: unknown }[];
    map: Map<unknown, unknown>;
    set: Set<unknown>;
    record: Record<string, unknown>;
  };
  const cases: [string[], (s: S) => unknown][] = [
    [[], (s) => void (s["n"] = 2)],
    [["n"], (s) => void (s["n"] = "2")],
    [["n"], (s) => void delete s["n"]],
    [["items[1].id"], (s) => void (s.items[1]!.id = "x")],
    [["items[2].id"], (s) => void s.items.push({ id: null })],
    [["items[0].id"], (s) => void s.items.unshift({ id: null })],
    [[], (s) => void s.items.reverse()],
    [[], (s) => void s.items.shift()],
    [[], (s) => void delete s.items[1]!.tag],
    [["items[1].tag"], (s) => void (s.items[1]!.tag = 1)],
    [['map.get("a")'], (s) => void s.map.set("a", "x")],
    [["map.keys[1]"], (s) => void s.map.set(1, 1)],
    [[], (s) => void s.map.delete("a")],
    [["set.values[1]"], (s) => void s.set.add(1)],
    [["record.a.v"], (s) => void ((s.record["a"] as { v: unknown }).v = "x")],
    [["record.b"], (s) => void (s.record["b"] = 1)],
    [[], (s) => void (s["maybe"] = { a: "x" })],
    [["maybe.a"], (s) => void (s["maybe"] = { a: 1 })],
    [["either"], (s) => void (s["either"] = true)],
    [["items"], (s) => void (s.items = "x" as never)],
    [["n", "items", "map", "set", "record", "either"], () => ({})],
    [[""], () => 1],
  ];
  for (const [paths, recipe] of cases) {
    deepEqual(judged(schema, input, recipe as (s: never) => unknown), paths);
  }
});

test("in plain arrays, records, maps and sets only what changed is parsed (C4)", () => {
  const { schema, seen } = counted();
  const validator = validatorOf(z.object({
    list: z.array(z.object({ n: schema })),
    record: z.record(z.string(), z.object({ n: schema })),
    map: z.map(z.string(), z.object({ n: schema })),
    other: z.object({ n: schema }),
  }));
  const many = Array.from({ length: 100 }, (_, n) => ({ n }));
  const named = many.map((v, i) => [`k${i}`, v] as const);
  let state = validator.input({
    list: many,
    record: Object.fromEntries(named),
    map: new Map(named),
    other: { n: 1 },
  });
  const parsed = (recipe: (s: never) => unknown): number => {
    const next = advance(state, reduceDraft(state, recipe as (s: unknown) => unknown, "r"), "s").value;
    const before = seen();
    equal(validator.check(state, next), undefined);
    state = next;
    return seen() - before;
  };
  equal(parsed((s: { list: { n: number }[] }) => void (s.list[50]!.n = 7)), 1);
  equal(parsed((s: { list: { n: number }[] }) => void s.list.push({ n: 8 })), 1);
  equal(parsed((s: { list: { n: number }[] }) => void s.list.shift()), 0);
  equal(parsed((s: { record: Record<string, { n: number }> }) => void (s.record["k3"]!.n = 7)), 1);
  equal(parsed((s: { map: Map<string, { n: number }> }) => void s.map.set("new", { n: 1 })), 1);
});

test("a refinement of a whole object sees the whole object, of a field only the field (C4)", () => {
  const schema = z.object({
    range: z.object({ from: z.number(), to: z.number() }).refine((r) => r.from <= r.to, "from is after to"),
    list: z.array(z.number()).max(2),
  });
  const input = { range: { from: 1, to: 2 }, list: [1] };
  type S = { range: { from: number }; list: number[] };
  deepEqual(judged(schema, input, (s: S) => void (s.range.from = 3)), ["range"]);
  deepEqual(judged(schema, input, (s: S) => void s.list.push(2, 3)), ["list"]);
  deepEqual(judged(schema, input, (s: S) => void s.list.push(2)), []);
  deepEqual(judged(schema.refine((s) => s.list.length > 0), input, (s: S) => void (s.list = [])), [""]);
});

test("a field that the schema would refuse or drop is refused, one that it keeps is kept (FT-D2, C4)", () => {
  type S = Record<string, unknown>;
  const shape = { a: z.number() };
  const add = (s: S): void => void (s["b"] = 1);
  deepEqual(judged(z.strictObject(shape), { a: 1 }, add), [""]);
  deepEqual(judged(z.object(shape), { a: 1 }, add), ["b"]);
  deepEqual(judged(z.object(shape), { a: 1 }, (s: S) => void (s["b"] = undefined)), []);
  deepEqual(judged(z.looseObject(shape), { a: 1 }, add), []);
  deepEqual(judged(z.object(shape).catchall(z.string()), { a: 1 }, add), ["b"]);
  deepEqual(
    judged(
      z.looseRecord(z.string().regex(/^n/), z.number()),
      { n: 1, x: "kept" },
      (s: S) => void (s["x"] = "y"),
    ),
    [],
  );
  deepEqual(judged(z.record(z.enum(["a", "b"]), z.number()), { a: 1, b: 2 }, (s: S) => void delete s["b"]), [
    "b",
  ]);
});

test("a change that the schema would change again is refused, by the field, also where only the field is parsed (FT-D2, C4)", () => {
  const schema = z.object({
    n: z.coerce.number(),
    caught: z.number().catch(1),
    lower: z.string().toLowerCase(),
    trimmed: z.string().trim().optional(),
    preset: z.number().default(1),
    piped: z.preprocess((v) => v === "one" ? 1 : v, z.number()),
    list: z.array(z.object({ at: z.coerce.date() })),
    record: z.record(z.string().toLowerCase(), z.coerce.boolean()),
    map: z.map(z.string().trim(), z.string().trim()),
    set: z.set(z.coerce.number()),
    either: z.union([z.object({ a: z.string() }), z.object({ b: z.string().trim() })]),
  });
  const input = {
    n: 1,
    caught: 2,
    lower: "x",
    piped: 1,
    list: [{ at: new Date(0) }],
    record: { a: true },
    map: new Map([["a", "b"]]),
    set: new Set([1]),
    either: { a: "x" },
  };
  // deno-lint-ignore no-explicit-any
  type S = any;
  const cases: [string, (s: S) => unknown][] = [
    ["n", (s) => void (s.n = "5")],
    ["caught", (s) => void (s.caught = "text")],
    ["lower", (s) => void (s.lower = "X")],
    ["trimmed", (s) => void (s.trimmed = " x")],
    ["preset", (s) => void delete s.preset],
    ["preset", (s) => void (s.preset = undefined)],
    ["piped", (s) => void (s.piped = "one")],
    ["list[0].at", (s) => void (s.list[0].at = "2026-01-01")],
    ["list[1].at", (s) => void s.list.push({ at: 0 })],
    ["list[0].more", (s) => void (s.list[0].more = 1)],
    ["record.a", (s) => void (s.record.a = "yes")],
    ["record", (s) => void (s.record.B = true)],
    ["map.keys[1]", (s) => void s.map.set(" b", "b")],
    ['map.get("a")', (s) => void s.map.set("a", " b")],
    ["set.values[1]", (s) => void s.set.add("2")],
    ["either.b", (s) => void (s.either = { b: " x" })],
    ["either.b", (s) => void (s.either = { a: "x", b: "y" })],
  ];
  for (const [path, recipe] of cases) {
    const found = judged(schema, input, recipe as (s: never) => unknown);
    ok(found.length === 1 && found[0]!.startsWith(path), `${path}: ${found}`);
  }
  deepEqual(
    judged(schema, input, (s: S) => void (s.n = 2, s.list.push({ at: new Date(1) }), s.record.b = true)),
    [],
  );
});

test("equal values are no change, in whatever order a schema gives fields and entries (C4)", () => {
  const turned: Schema = {
    "~standard": {
      version: 1,
      vendor: "mine",
      validate: (value) => {
        const { a, m, s, absent: _, ...rest } = value as Record<string, unknown>;
        const made = {
          s: new Set([...s as Set<unknown>].reverse().map((e) => structuredClone(e))),
          m: new Map([...m as Map<unknown, unknown>].reverse().map((e) => structuredClone(e))),
          ...rest,
          a,
          added: undefined,
        };
        return { value: made as never };
      },
    },
  };
  const input = {
    a: [1, { deep: -0 }],
    m: new Map<unknown, unknown>([[{ k: 1 }, NaN], ["b", 2n]]),
    s: new Set([{ x: 1 }, "y"]),
    at: new Date(NaN),
    bytes: new Float32Array([1.5]),
    absent: undefined,
  };
  const validator = validatorOf(turned);
  const state = validator.input(input);
  equal(validator.check(undefined, state), undefined);
  equal(validator.load(state), state);
});

test("a stored state that only lacks fields with defaults is completed, and its other parts are kept (FT-D2, C4)", () => {
  const validator = validatorOf(z.object({
    n: z.number().default(1),
    deep: z.object({ list: z.array(z.number()), more: z.string().default("x") }),
    rest: z.object({ a: z.number() }),
  }));
  const stored = advance({}, { deep: { list: [1] }, rest: { a: 1 } }, "s").value as Record<string, unknown>;
  const loaded = validator.load(stored) as Record<string, unknown>;
  deepEqual(loaded, { deep: { list: [1], more: "x" }, rest: { a: 1 }, n: 1 });
  ok(isMarked(loaded));
  equal(loaded["rest"], stored["rest"]);
  equal(validator.load(loaded), loaded);
});

test("a stored state in which the schema would change anything else is refused, naming the field (FT-D2, C4)", () => {
  const schema = z.object({ n: z.number().default(1), s: z.string().trim().default("x") });
  const cases: readonly (readonly [unknown, string, RegExp])[] = [
    [{ s: " y" }, "s", /would change/],
    [{ n: 1, s: "y", old: 2 }, "old", /does not know/],
    [{ old: 2 }, "old", /does not know/],
    [{ n: "1" }, "n", /number/],
  ];
  for (const [stored, path, problem] of cases) {
    throws(
      () => validatorOf(schema).load(advance({}, stored, "s").value),
      (e) => e instanceof ValidationError && e.issues[0]!.path === path && problem.test(e.message),
    );
  }
});

test("a stored state that the schema refuses is a ValidationError (C4, LOD-06)", () => {
  throws(
    () => validatorOf(z.object({ n: z.number() })).load({ n: "1" }),
    (e) => e instanceof ValidationError && e.what === "the stored state" && e.issues[0]!.path === "n",
  );
});

test("a recursive schema is judged by what changed (C4)", () => {
  interface Tree {
    n: number;
    children: Tree[];
  }
  const tree: z.ZodType<Tree> = z.lazy(() => z.object({ n: z.number(), children: z.array(tree) }));
  const input = { n: 1, children: [{ n: 2, children: [{ n: 3, children: [] }] }] };
  deepEqual(judged(tree, input, (s: Tree) => void (s.children[0]!.children[0]!.n = "x" as never)), [
    "children[0].children[0].n",
  ]);
});

test("any Standard Schema is a schema; it is given the whole value (D13)", () => {
  const even: Schema = {
    "~standard": {
      version: 1,
      vendor: "mine",
      validate: (value) =>
        (value as { n: number }).n % 2 === 0
          ? { value: value as never }
          : { issues: [{ message: "odd", path: ["n", { key: 0 }] }] },
    },
  };
  deepEqual(judged(even, { n: 2 }, (s: { n: number }) => void (s.n = 3)), ["n[0]"]);
  deepEqual(judged(even, { n: 2 }, (s: { n: number }) => void (s.n = 4)), []);
  equal(jsonSchemaOf(even), undefined);
});

test("without a schema everything that can be stored is a state (D13)", () => {
  const validator = stateValidator(undefined);
  deepEqual(validator.input({ any: 1n }), { any: 1n });
  equal(validator.check(undefined, 1), undefined);
  equal(validator.load(1), 1);
  throws(() => validator.input(() => 1), SerializationError);
});

test("an answer is parsed by its schema and canonical, or refused by name (I2)", () => {
  const schema = z.object({ verdict: z.enum(["yes", "no"]), at: z.coerce.date().optional() });
  const answer = parseWith(schema, { verdict: "yes", at: 5 }, "the answer to wait verdict");
  deepEqual(answer, { verdict: "yes", at: new Date(5) });
  ok(isMarked(answer));
  throws(
    () => parseWith(schema, { verdict: "maybe" }, "the answer to wait verdict"),
    (e) =>
      e instanceof ValidationError && e.what === "the answer to wait verdict" &&
      e.issues[0]!.path === "verdict",
  );
  throws(() => parseWith(z.any().transform(() => () => 1), 1, "x"), SerializationError);
  throws(() => parseWith(z.any(), { f: () => 1 }, "x"), SerializationError);
});

test("a wait has a JSON Schema where its schema has one (D13, I1)", () => {
  const found = jsonSchemaOf(z.object({ a: z.string(), b: z.number().default(1) })) as {
    type: string;
    required: string[];
  };
  deepEqual([found.type, found.required], ["object", ["a"]]);
  for (const schema of [undefined, null, 3]) equal(jsonSchemaOf(schema), undefined);
});
