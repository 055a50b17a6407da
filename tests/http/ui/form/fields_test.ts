// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { FormPage, refused, schemaOf, submitted, textHeld } from "./page.ts";

test("the form of the approval in the README is two controls, which make its answer (W3)", () => {
  const Verdict = z.object({ by: z.string(), approve: z.boolean() });
  const page = new FormPage(schemaOf(Verdict));
  assert.deepEqual(page.names, ["value/by", "value/approve"]);
  assert.deepEqual(page.texts("legend"), ["approve"]);
  assert.deepEqual(page.texts("label"), ["by", "Yes", "No"]);
  assert.deepEqual(submitted(Verdict, { "value/by": "Kim", "value/approve": "true" }), {
    by: "Kim",
    approve: true,
  });
  assert.deepEqual(refused(Verdict, { "value/by": "Kim" }), ["approve: choose one"]);
});

test("a text is what was typed, with its spaces and its lines as LF (W3)", () => {
  const Note = z.object({ note: z.string(), line: z.string().max(80) });
  const page = new FormPage(schemaOf(Note));
  assert.deepEqual([page.control("value/note").name, page.control("value/line").name], ["textarea", "input"]);
  const { rows, class: kind } = page.control("value/note").attributes;
  assert.deepEqual([rows, kind], ["1", "line"]);
  assert.equal(page.control("value/line").attributes["maxlength"], "80");
  const typed = { "value/note": "\n  two\nlines \n", "value/line": " x " };
  assert.match(new FormPage(schemaOf(Note)).fill(typed).submit().get("value/note")!, /\r\n/);
  assert.deepEqual(submitted(Note, typed), { note: "\n  two\nlines \n", line: " x " });
});

test("an empty text is the empty string where that may be, nothing where nothing may be, else it is refused (W3)", () => {
  assert.deepEqual(submitted(z.object({ a: z.string().optional() })), {});
  assert.deepEqual(submitted(z.object({ a: z.email().optional() })), {});
  assert.deepEqual(submitted(z.object({ a: z.string().default("x") }), { "value/a": "" }), { a: "" });
  const Needed = z.object({ a: z.string(), b: z.email(), c: z.number(), d: z.object({ e: z.string() }) });
  assert.deepEqual(refused(Needed), ["a", "b", "c", "d.e"].map((path) => `${path}: give a value`));
  const page = new FormPage(schemaOf(Needed));
  for (const { attributes } of page.controls()) assert.equal(attributes["required"], "");
  assert.deepEqual(page.texts("small"), ["(required)", "(required)", "(required)", "(required)"]);
});

test("where a schema says that a text may be empty, an empty one is given (W3)", () => {
  const Empty = z.object({
    a: z.string().min(0),
    b: z.string().min(0).nullable(),
    c: z.literal(""),
    d: z.enum(["", "x"]),
  });
  const typed = { "value/b?": "blank", "value/c": '""', "value/d": '""' };
  assert.deepEqual(submitted(Empty, typed), { a: "", b: "", c: "", d: "" });
  const many = { type: "string", enum: ["", ...Array.from({ length: 300 }, (_, i) => `v${i}`)] };
  assert.equal(new FormPage(many).value(), "");
});

test("formats have the controls that browsers have for them, whose values are of the format (W3)", () => {
  const Formats = z.object({
    mail: z.email(),
    page: z.url(),
    day: z.iso.date(),
    at: z.iso.datetime(),
    id: z.uuid(),
  });
  const page = new FormPage(schemaOf(Formats));
  const types = page.controls().map(({ attributes }) => attributes["type"]);
  assert.deepEqual(types, ["email", "url", "date", "datetime-local", "text"]);
  assert.match(page.texts("p").join(), /UTC/);
  const filled = submitted(Formats, {
    "value/mail": "kim@example.com",
    "value/page": "https://example.com/?a=b&c",
    "value/day": "2026-02-28",
    "value/at": "2026-02-28T09:30",
    "value/id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  });
  assert.equal(filled.at, "2026-02-28T09:30:00Z");
  assert.equal(filled.day, "2026-02-28");
});

test("numbers are kept exactly or refused (W3)", () => {
  const Amount = z.object({ amount: z.number(), count: z.int().min(0).max(9) });
  const page = new FormPage(schemaOf(Amount));
  assert.deepEqual(page.control("value/amount").attributes["step"], "any");
  const { step, min, max, inputmode } = page.control("value/count").attributes;
  assert.deepEqual([step, min, max, inputmode], ["1", "0", "9", "numeric"]);
  assert.deepEqual(submitted(Amount, { "value/amount": "-12.50", "value/count": "3" }), {
    amount: -12.5,
    count: 3,
  });
  for (const text of ["0", "-0", ".5", "1e3", "0.1", "9007199254740991", "1e-7", "123456789.125", "5e-324"]) {
    const { amount } = submitted(Amount, { "value/amount": text, "value/count": "1e0" });
    assert.ok(Object.is(amount, Number(text)), text);
  }
  for (
    const text of [
      "",
      "x",
      "0x10",
      "1e400",
      "1e-400",
      "9007199254740993",
      "0.12345678901234567890",
      "1,5",
      "∞",
    ]
  ) {
    assert.equal(refused(Amount, { "value/amount": text, "value/count": "1" }).length, 1, text);
  }
  assert.deepEqual(refused(Amount, { "value/amount": "1", "value/count": "1.5" }), [
    "count: give a whole number",
  ]);
});

test("browsers are told of steps only when they count them from where the schema does (W3)", () => {
  const stepOf = (schema: z.ZodType) => new FormPage(schemaOf(schema)).control("value").attributes["step"];
  assert.equal(stepOf(z.number().multipleOf(5)), "5");
  assert.equal(stepOf(z.number().multipleOf(5).min(10)), "5");
  assert.equal(stepOf(z.number().multipleOf(5).min(3)), "any");
  assert.equal(stepOf(z.int().default(3)), "1");
  const half = { type: "integer", minimum: 0.5 };
  assert.equal(new FormPage(half).control("value").attributes["step"], "any");
});

test("a yes or no that may be left out can be not given (W3)", () => {
  const Flags = z.object({
    a: z.boolean().optional(),
    b: z.boolean().default(false),
    c: z.boolean().nullable(),
  });
  assert.deepEqual(refused(Flags), ["c: choose one"]);
  assert.deepEqual(submitted(Flags, { "value/c": "null" }), { b: false, c: null });
  assert.deepEqual(submitted(Flags, { "value/a": "false", "value/b": "true", "value/c": "true" }), {
    a: false,
    b: true,
    c: true,
  });
  const page = new FormPage(schemaOf(Flags));
  assert.deepEqual(page.controls("value/a").map(({ attributes }) => attributes["value"]), [
    "true",
    "false",
    "",
  ]);
  assert.deepEqual(page.controls("value/b").map(({ attributes }) => "checked" in attributes), [false, true]);
});

test("up to five choices are radio buttons, more are a list; either means the same (W3)", () => {
  const values = ["a", "b", "c", "d", "e", "f"] as const;
  const Few = z.object({ one: z.enum(["a", "b"]), other: z.literal(["x", 1, null]).optional() });
  assert.deepEqual(submitted(Few, { "value/one": '"b"', "value/other": "1" }), { one: "b", other: 1 });
  assert.deepEqual(submitted(Few, { "value/one": '"b"', "value/other": "null" }), { one: "b", other: null });
  assert.deepEqual(submitted(Few, { "value/one": '"a"' }), { one: "a" });
  const Many = z.object({
    one: z.enum(values),
    other: z.enum(values).optional(),
    last: z.enum(values).default("e"),
  });
  const page = new FormPage(schemaOf(Many));
  assert.deepEqual(page.controls().map(({ name }) => name), ["select", "select", "select"]);
  assert.deepEqual(page.fill({ "value/one": '"f"' }).value(), { one: "f", last: "e" });
  assert.deepEqual(refused(Many), ["one: choose one"]);
});

test("what must be one value is chosen all the same (W3)", () => {
  const Consent = z.object({ agree: z.literal(true) });
  assert.deepEqual(refused(Consent), ["agree: choose one"]);
  assert.deepEqual(submitted(Consent, { "value/agree": "true" }), { agree: true });
});

test("choices of a union have the titles of their schemas; those that look the same are shown as JSON (W3)", () => {
  const Level = z.union([
    z.literal(1).meta({ title: "Low" }),
    z.literal(2).meta({ title: "High" }),
    z.null(),
  ]);
  const page = new FormPage(schemaOf(z.object({ level: Level, odd: z.literal(["1", 1]) })));
  assert.deepEqual(page.texts("label"), [
    "Low",
    "High",
    "None (null)",
    '"1"',
    "1",
  ]);
});

test("a value that may be null is null when it is empty; what else that may mean is chosen, and can be chosen back (W3)", () => {
  const Maybe = z.object({
    text: z.string().nullish(),
    count: z.int().nullable(),
    tags: z.array(z.string()).nullable(),
  });
  const page = new FormPage(schemaOf(Maybe));
  assert.deepEqual(page.texts("legend"), ["If text is empty", "If tags is empty"]);
  assert.deepEqual(page.texts("small"), []);
  assert.match(page.texts("p").join(), /If left empty: none \(null\)/);
  assert.deepEqual(Object.fromEntries(page.submit()), {
    "value/text": "",
    "value/text?": "absent",
    "value/count": "",
    "value/tags": "",
    "value/tags?": "null",
  });
  assert.deepEqual(submitted(Maybe), { count: null, tags: null });
  const typed = { "value/count": "7", "value/tags?": "blank", "value/text?": "null" };
  assert.deepEqual(submitted(Maybe, typed), { text: null, count: 7, tags: [] });
  assert.equal(submitted(Maybe, { "value/text": "null" }).text, "null");
});

test("what was typed is the value also where null was chosen for an empty text (W3)", () => {
  const typed = { "value/a": "x", "value/a?": "null" };
  assert.deepEqual(submitted(z.object({ a: z.string().nullish() }), typed), { a: "x" });
});

test("defaults are filled in, and what comes back for a field that is left out is told (W3)", () => {
  const Defaults = z.object({
    text: z.string().default("two\nlines"),
    count: z.int().default(5),
    level: z.enum(["low", "high"]).default("high"),
    tags: z.array(z.string()).default(["a", "b"]),
    meta: z.record(z.string(), z.number()).default({ x: 1 }),
    none: z.string().nullable().default(null),
    at: z.iso.datetime().default("2026-01-01T10:00:00Z"),
  });
  const all = Defaults.parse({});
  assert.deepEqual(new FormPage(schemaOf(Defaults)).value(), all);
  const help = new FormPage(schemaOf(Defaults)).texts("p").join("\n");
  assert.match(help, /If left out: 5/);
  const emptied = { "value/text": "", "value/count": "", "value/tags": "", "value/none?": "null" };
  assert.deepEqual(submitted(Defaults, emptied), { ...all, text: "", tags: [] });
});

test("a default that a control would change is not filled in but told (W3)", () => {
  const Odd = z.object({ text: z.string().default("a\rb"), day: z.iso.date().default("soon\0") });
  const page = new FormPage(schemaOf(Odd));
  assert.deepEqual([...page.submit().values()], ["", ""]);
  assert.deepEqual(page.value(), {});
});

test("lists of texts and numbers are typed a line each (W3)", () => {
  const Lists = z.object({
    tags: z.array(z.string()),
    sizes: z.array(z.number()).optional(),
    ids: z.array(z.int()).min(1),
  });
  const typed = { "value/tags": "a\n b \n\nc\n", "value/sizes": "1\n\n 2.5\n", "value/ids": "3" };
  assert.deepEqual(submitted(Lists, typed), { tags: ["a", " b ", "", "c"], sizes: [1, 2.5], ids: [3] });
  assert.deepEqual(submitted(Lists, { "value/ids": "3" }), { tags: [], ids: [3] });
  assert.deepEqual(refused(Lists, { "value/sizes": "1\n2\nx" }), [
    "sizes[2]: give a number",
    "ids: give a value",
  ]);
});

test("titles are labels, descriptions are help, and what must be given says so in words (W3)", () => {
  const Told = z.object({
    by: z.string().min(1).meta({ title: "Your name", description: "As in the directory" }),
    free: z.string().optional(),
  });
  const page = new FormPage(schemaOf(Told));
  const control = page.control("value/by");
  const help = page.all("p").find(({ attributes }) =>
    attributes["id"] === control.attributes["aria-describedby"]
  );
  assert.equal(help!.text, "As in the directory");
  assert.deepEqual(page.all("label").map(({ text }) => text), ["Your name ", "free"]);
  assert.deepEqual(page.all("label").map(({ children }) => children[0]?.text), ["(required)", undefined]);
  assert.equal(textHeld(control), "");
});
