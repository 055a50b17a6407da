// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { pathText as storedPathText, type Segment } from "../../../../src/checkpoint/path.ts";
import { pathText, type Step, stepsOf } from "../../../../src/http/ui/form/path.ts";
import { parseWith } from "../../../../src/checkpoint/validate.ts";
import { ValidationError } from "../../../../src/errors.ts";
import { allOf, byClass } from "../../../support/xml.ts";
import { FormPage, type Issues, schemaOf, textHeld, type Typed } from "./page.ts";

/** A form that comes back with what was sent, and what the API or the form has against it. */
function again(schema: z.ZodType, typed: Typed, issues?: Issues): FormPage {
  const made = schemaOf(schema);
  const page = new FormPage(made).fill(typed);
  return new FormPage(made, { entries: page.submit(), issues: issues ?? judged(schema, page.value()) });
}

/** What the API has against a value. */
function judged(schema: z.ZodType, value: unknown): Issues {
  try {
    parseWith(schema, value, "the answer");
  } catch (error) {
    if (error instanceof ValidationError) return error.issues as Issues;
    throw error;
  }
  return assert.fail("the value is refused");
}

/** What is said of the control of a name. */
function saidOf(page: FormPage, name: string): string {
  const control = page.controls(name)[0]!;
  const ids = control.attributes["aria-describedby"]?.split(" ") ?? [];
  return allOf(page.root).filter(({ attributes }) =>
    attributes["class"] === "issue" && ids.includes(attributes["id"] ?? "")
  ).map(({ text }) => text.trim()).join();
}

function alerts(page: FormPage): readonly string[] {
  return allOf(page.root).filter(({ attributes }) => attributes["role"] === "alert")
    .flatMap((list) => allOf(list)).filter(({ name }) => name === "li").map(({ text }) => text.trim());
}

test("what the API has against a value is shown at the field, which holds what was sent (W3)", () => {
  const Order = z.object({
    "a b": z.object({ "first.name": z.string().min(3) }),
    size: z.int().max(9).optional(),
    note: z.string().refine((text) => !text.includes("<")).optional(),
    sizes: z.array(z.int().min(1)),
    rest: z.array(z.object({ qty: z.int().min(1) })),
  });
  const typed = {
    "value/a%20b/first.name": ` "`,
    "value/size": "10",
    "value/note": "\n<b>&amp;\n",
    "value/sizes": "1\n0",
    "value/rest": '[{"qty": 0}]',
  };
  const page = again(Order, typed);
  for (const [name, text] of Object.entries(typed)) {
    const control = page.control(name);
    assert.equal(textHeld(control), text, name);
    assert.equal(control.attributes["aria-invalid"], "true", name);
    assert.notEqual(saidOf(page, name), "", name);
  }
  assert.match(saidOf(page, "value/sizes"), /^line 2: /);
  assert.match(saidOf(page, "value/rest"), /^\[0\]\.qty: /);
  assert.deepEqual(alerts(page), []);
  assert.equal(
    again(Order, typed, []).all("p").some(({ attributes }) => attributes["class"] === "issue"),
    false,
  );
});

test("what is wrong with a choice is told at its group (W3)", () => {
  const Verdict = z.object({ approve: z.boolean(), level: z.enum(["a", "b", "c", "d", "e", "f"]) });
  const page = again(Verdict, {}, new FormPage(schemaOf(Verdict)).issues());
  const [group] = page.all("fieldset");
  assert.deepEqual([group!.attributes["role"], group!.attributes["aria-invalid"]], ["radiogroup", "true"]);
  assert.deepEqual(byClass(group!, "issue").map(({ text }) => text.trim()), ["choose one"]);
  assert.equal(saidOf(page, "value/level"), "choose one");
});

test("of variants the chosen one is told, and stays chosen (W3)", () => {
  const Shape = z.object({
    shape: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("circle"), size: z.number().min(5) }),
      z.object({ kind: z.literal("text"), size: z.string().min(5) }),
    ]),
    also: z.union([z.string().min(3), z.number()]),
  });
  const typed = {
    "value/shape?": ":text",
    "value/shape:circle/size": "7",
    "value/shape:text/size": "x",
    "value/also?": ":Text",
    "value/also:Text": "y",
  };
  const page = again(Shape, typed, [
    { path: "shape.size", message: "too short" },
    { path: "also", message: "no" },
  ]);
  assert.equal(saidOf(page, "value/shape:text/size"), "too short");
  assert.equal(saidOf(page, "value/shape:circle/size"), "");
  assert.equal(saidOf(page, "value/also:Text"), "no");
  assert.equal(textHeld(page.control("value/shape:circle/size")), "7");
  assert.equal(page.submit().get("value/shape?"), ":text");
  const unchosen = again(Shape, {}, [{ path: "shape", message: "choose one" }]);
  assert.deepEqual(byClass(unchosen.root, "issue").map(({ text }) => text.trim()), ["choose one"]);
});

test("issues of no field stand before the fields (W3)", () => {
  const Flat = z.object({ a: z.string() });
  const page = again(Flat, { "value/a": "x" }, [
    { path: "", message: "a and b <differ>" },
    { path: "other[3]", message: "unknown" },
    { path: "a", message: "bad" },
  ]);
  assert.deepEqual(alerts(page), ["a and b <differ>", "other[3]: unknown"]);
  assert.equal(saidOf(page, "value/a"), "bad");
  const single = again(z.string(), { value: "x" }, [{ path: "", message: "bad" }, {
    path: "a.b",
    message: "odd",
  }]);
  assert.deepEqual(alerts(single), []);
  assert.equal(saidOf(single, "value"), "bad\na.b: odd");
});

test("paths are read as the API writes them: those of values, and those of requests (W3)", () => {
  const paths: readonly (readonly Step[])[] = [
    [],
    ["a"],
    ["items", 0, "name"],
    ["a b", "ä", "$x", "_"],
    ["a.b", "0", 'q"\\]', ""],
    [3, "__proto__", "é", "😀"],
  ];
  for (const steps of paths) {
    const segments = steps.map((step): Segment =>
      typeof step === "number" ? { kind: "index", index: step } : { kind: "field", key: step }
    );
    assert.equal(pathText(steps), storedPathText(segments));
    assert.deepEqual(stepsOf(pathText(steps)), steps);
  }
  assert.deepEqual(stepsOf("items.0.name"), ["items", 0, "name"]);
  const long = ["a".repeat(150), "b".repeat(150), "c"];
  assert.equal(pathText(long), storedPathText(long.map((key) => ({ kind: "field", key }))));
  assert.equal(stepsOf(pathText(long))[0], long[0]);
});

test("what was typed into a control that browsers would clean comes back in a plain one (W3)", () => {
  const Cleaned = z.object({
    n: z.number(),
    day: z.iso.date(),
    at: z.iso.datetime(),
    mail: z.email(),
    line: z.string().max(9),
  });
  const sent = new Map([
    ["value/n", "1,5"],
    ["value/day", "31.12."],
    ["value/at", "2026-02-31T10:00"],
    ["value/mail", " kim@x"],
    ["value/line", "a\nb"],
  ]);
  const page = new FormPage(schemaOf(Cleaned), { entries: sent });
  assert.deepEqual(Object.fromEntries(page.submit()), {
    ...Object.fromEntries(sent),
    "value/line": "a\r\nb",
  });
});

test("a time that was refused can be typed, with a fraction or another zone (W3)", () => {
  const Exact = z.object({ at: z.iso.datetime({ precision: 3, offset: true }) });
  const page = again(Exact, { "value/at": "2026-01-02T03:04" });
  assert.equal(page.control("value/at").attributes["type"], "text");
  const typed = "2026-01-02T03:04:05.120+02:00";
  assert.deepEqual(Exact.parse(page.fill({ "value/at": typed }).value()), { at: typed });
});

test("a choice that is offered no more is refused, and nothing else is chosen in its place (W3)", () => {
  const made = schemaOf(
    z.object({ level: z.enum(["low", "high"]), shape: z.union([z.string(), z.number()]) }),
  );
  const entries = new Map([["value/level", '"gone"'], ["value/shape?", ":Gone"]]);
  const page = new FormPage(made, { entries });
  assert.deepEqual([...page.submit().keys()], ["value/shape:Text", "value/shape:Number"]);
});
