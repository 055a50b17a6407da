// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { byClass } from "../../../support/xml.ts";
import { FormPage, schemaOf, submitted } from "./page.ts";

const Claim = z.object({
  checks: z.array(z.string()).default([]),
  to: z.string(),
  urgent: z.boolean().default(false),
  copies: z.int().min(1).default(1),
  note: z.string().nullish(),
  by: z.object({ name: z.string(), at: z.date().default(new Date(0)) }).optional(),
});

/** The fields that stand aside: what they are called together, whether they are open, their controls. */
function asideOf(page: FormPage) {
  const [aside, ...others] = page.all("details");
  assert.deepEqual(others, []);
  if (aside === undefined) return undefined;
  const within = new Set(byClass(aside, "field").flatMap(({ children }) => children));
  return {
    called: aside.children[0]!.text,
    open: "open" in aside.attributes,
    names: page.controls().filter((control) => within.has(control)).map(({ attributes }) =>
      attributes["name"]
    ),
  };
}

test("what need not be given stands aside after what must, if it is much, and is sent all the same (W3)", () => {
  const page = new FormPage(schemaOf(Claim));
  const aside = asideOf(page)!;
  assert.deepEqual([aside.called, aside.open], ["5 more fields", false]);
  assert.ok(aside.names.includes("value/copies") && !aside.names.includes("value/to"));
  assert.equal(page.names[0], "value/to");
  assert.deepEqual(submitted(Claim, { "value/to": "Rome", "value/copies": "2" }), {
    checks: [],
    to: "Rome",
    urgent: false,
    copies: 2,
  });
});

test("it is open when something in it is wrong or was filled in, and stays shut for what stood there (W3)", () => {
  const made = schemaOf(Claim);
  const again = (typed: Readonly<Record<string, string>>, path: string) =>
    asideOf(
      new FormPage(made, {
        entries: new FormPage(made).fill(typed).submit(),
        issues: [{ path, message: "bad" }],
      }),
    )!.open;
  assert.equal(again({ "value/to": "Rome" }, "to"), false);
  assert.equal(again({ "value/to": "Rome", "value/copies": "2" }, "to"), true);
  assert.equal(again({ "value/copies": "" }, "to"), true);
  assert.equal(again({ "value/note?": "null" }, "to"), true);
  assert.equal(again({ "value/by/name": "Kim" }, "to"), true);
  assert.equal(again({}, "by.name"), true);
  assert.equal(again({}, "checks[0]"), true);
});

test("nothing stands aside where all may be left out, where it is little, or inside something else (W3)", () => {
  const text = z.string().optional();
  const four = { a: text, b: text, c: text, d: text };
  for (
    const schema of [
      z.object(four),
      z.object({ to: z.string(), a: text, b: text, c: text }),
      z.object({
        in: z.object({ to: z.string(), ...four }),
      }),
    ]
  ) assert.equal(asideOf(new FormPage(schemaOf(schema))), undefined);
  const titled = schemaOf(z.object({ to: z.string(), ...four }).meta({ title: "Claim" }));
  const [frame] = new FormPage(titled).all("fieldset");
  assert.deepEqual(frame!.children.map(({ name }) => name), ["legend", "div", "details"]);
});

test("an object that may be left out is left out by a form that nobody has touched (W3)", () => {
  assert.deepEqual(
    submitted(
      z.object({
        by: z.object({ note: z.string().nullish(), at: z.date().default(new Date(0)) }).optional(),
      }),
    ),
    {},
  );
});

test("limits are told in words, those that every value keeps are not (W3)", () => {
  const Limits = z.object({
    a: z.array(z.string()).min(1).max(3),
    b: z.array(z.object({})).max(1),
    c: z.string().min(1).max(80),
    d: z.string().min(5).max(5),
    e: z.int().min(1).max(5),
    f: z.number().positive().multipleOf(0.5),
    g: z.int().lt(10),
    h: z.number().min(0).lt(1),
    none: z.int(),
    text: z.string().min(1),
    list: z.array(z.string()),
  });
  assert.deepEqual(new FormPage(schemaOf(Limits)).texts("p"), [
    "One per line From 1 to 3 items",
    "JSON, such as [{}] Up to 1 item",
    "Up to 80 characters",
    "Exactly 5 characters",
    "From 1 to 5",
    "More than 0 In steps of 0.5",
    "Up to 9",
    "At least 0, less than 1",
    "One per line",
  ]);
});

test("everything that cannot be read is told at once (W3)", () => {
  const Bad = z.object({
    j: z.any(),
    k: z.record(z.string(), z.number()),
    n: z.array(z.int()),
    d: z.date(),
    o: z.object({ x: z.number() }),
  });
  const typed = {
    "value/j": "{",
    "value/k": "[1",
    "value/n": "1\nx\n2\ny",
    "value/d": "soon",
    "value/o/x": "?",
  };
  const issues = new FormPage(schemaOf(Bad)).fill(typed).issues();
  assert.deepEqual(issues.map(({ path }) => path), ["j", "k", "n[1]", "n[3]", "d", "o.x"]);
});
