// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../../../mod.ts";
import { GraphBuilder } from "../../../../src/graph/mod.ts";
import type { TaskContext } from "../../../../src/model/context.ts";
import type { CompiledGraph } from "../../../../src/model/definition.ts";
import { inStatus, site } from "../../support.ts";
import { Visitor } from "../support.ts";
import { entriesOf, FormPage, refused, schemaOf, submitted } from "./page.ts";

const AT = "2026-02-28T09:30:00.000Z";

test("one date or bigint leaves all other fields as they are, and has a control of its own (W2, W3)", () => {
  const Claim = z.object({
    to: z.string().max(50),
    at: z.date(),
    cents: z.bigint(),
    note: z.string().optional(),
  });
  const page = new FormPage(schemaOf(Claim));
  assert.deepEqual(page.names, ["value/to", "value/at", "value/cents", "value/note"]);
  assert.deepEqual(page.texts("small"), ["(required)", "(required)", "(required)"]);
  assert.equal(page.control("value/at").attributes["type"], "datetime-local");
  assert.equal(page.control("value/cents").attributes["type"], "text");
  assert.deepEqual(page.texts("p"), ["Up to 50 characters", "In UTC", "A whole number"]);
  const typed = {
    "value/to": "Rome",
    "value/at": "2026-02-28T09:30",
    "value/cents": " -123456789012345678901 ",
  };
  assert.deepEqual(submitted(Claim, typed), { to: "Rome", at: new Date(AT), cents: -123456789012345678901n });
  assert.deepEqual(refused(Claim), ["to", "at", "cents"].map((path) => `${path}: give a value`));
});

test("a time can be typed with a zone and a fraction, and is refused where it is none (W3)", () => {
  const When = z.object({ at: z.date(), n: z.bigint() });
  const at = (text: string) => submitted(When, { "value/at": text, "value/n": "1" }).at.toISOString();
  assert.equal(at("2026-02-28T10:30:00.120+01:00"), "2026-02-28T09:30:00.120Z");
  assert.equal(at("2026-02-28"), "2026-02-28T00:00:00.000Z");
  for (const text of ["soon", "5", "2026-02-30T10:00", "2026-02-28 09:30", "2026-02-28T09:30:00.1234Z"]) {
    assert.deepEqual(refused(When, { "value/at": text, "value/n": "1.5" }), [
      "at: give a date and time, such as 2026-12-31T23:59:59Z",
      "n: give a whole number",
    ]);
  }
});

test("a date or bigint may be null, left out, have a default, or be one of several kinds (W3)", () => {
  const Kinds = z.object({
    a: z.date().nullable(),
    b: z.bigint().optional(),
    c: z.date().default(new Date(AT)),
    d: z.bigint().default(7n),
    e: z.union([z.string(), z.date(), z.bigint()]),
    f: z.literal([1n, 2n]),
    g: z.date().nullish(),
  });
  const page = new FormPage(schemaOf(Kinds));
  assert.equal(page.control("value/c").attributes["value"], "2026-02-28T09:30");
  assert.match(page.texts("p").join("\n"), /If left out: 2026-02-28T09:30:00\.000Z[^]*If left out: 7/);
  assert.ok(page.texts("label").includes("1"));
  const least = {
    "value/e?": ":Date%20and%20time",
    "value/e:Date%20and%20time": "2026-02-28T09:30",
    "value/f": '{"$bigint":"2"}',
  };
  const filled = { a: null, c: new Date(AT), d: 7n, e: new Date(AT), f: 2n as const };
  assert.deepEqual(submitted(Kinds, least), filled);
  assert.deepEqual(submitted(Kinds, { ...least, "value/c": "", "value/d": "", "value/g?": "null" }), {
    ...filled,
    g: null,
  });
  assert.deepEqual(
    submitted(Kinds, { ...least, "value/a": "2026-02-28T09:30", "value/b": "12", "value/d": "8" }),
    { ...filled, a: new Date(AT), b: 12n, d: 8n },
  );
});

test("maps, sets, and lists of dates are typed as JSON, with an example of how it is written (W3)", () => {
  const Rest = z.object({ m: z.map(z.string(), z.bigint()), s: z.set(z.string()), l: z.array(z.date()) });
  const page = new FormPage(schemaOf(Rest));
  assert.deepEqual(page.texts("p"), [
    'JSON, such as {"$map":[["…",{"$bigint":"12345678901234567890"}]]}',
    'JSON, such as {"$set":["…"]}',
    'JSON, such as [{"$date":"2026-12-31T23:59:59Z"}]',
  ]);
  const typed = {
    "value/m": '{"$map":[["a",{"$bigint":"1"}]]}',
    "value/s": '{"$set":["x"]}',
    "value/l": `[{"$date":"${AT}"}]`,
  };
  assert.deepEqual(submitted(Rest, typed), { m: new Map([["a", 1n]]), s: new Set(["x"]), l: [new Date(AT)] });
});

test("variants are told apart also where a date is one of them (W3)", () => {
  const Either = z.union([
    z.date(),
    z.object({ kind: z.literal("days"), days: z.int() }),
    z.object({ kind: z.literal("never") }),
  ]);
  assert.deepEqual(submitted(Either, { "value?": ":days", "value:days/days": "3" }), {
    kind: "days",
    days: 3,
  });
  const at = { "value?": ":Date%20and%20time", "value:Date%20and%20time": "2026-02-28T09:30" };
  assert.deepEqual(submitted(Either, at), new Date(AT));
});

test("an object of the user with a key such as $date is no date (W3)", () => {
  const Extended = z.object({ $date: z.iso.datetime() });
  assert.deepEqual(submitted(Extended, { "value/%24date": "2026-02-28T09:30" }), {
    $date: "2026-02-28T09:30:00Z",
  });
});

test("a time that no control can hold is typed as JSON (W3)", () => {
  const made = schemaOf(z.date());
  assert.equal(entriesOf(made, { $date: null }), undefined);
  assert.equal(entriesOf(made, { $date: "+010000-01-01T00:00:00.000Z" }), undefined);
});

const Trip = z.object({
  to: z.string(),
  from: z.date(),
  cents: z.bigint(),
  booked: z.date().optional(),
  limit: z.bigint().optional(),
});
type Trip = z.infer<typeof Trip>;
const Booked = z.object({ booked: z.date(), limit: z.bigint().nullable() });
const Booking = defineWait("booking", Booked);

/** Waits for what its schemas say with dates and bigints. */
function trip(): CompiledGraph<unknown> {
  const builder = new GraphBuilder<Trip>({ id: "trip", version: 1, schema: Trip });
  builder.addVertex<unknown, z.infer<typeof Booked>>({
    id: "book",
    waits: [Booking],
    task: { execute: (input: unknown, ctx: TaskContext) => ctx.waitFor(Booking, { info: input }) },
    select: (s) => s.from,
    reduce: (s, { booked, limit }) => {
      s.booked = booked;
      if (limit !== null) s.limit = limit;
    },
  });
  return builder.build({ entry: "book", finish: "book" }) as unknown as CompiledGraph<unknown>;
}

test("over HTTP a form with a date and a bigint starts a run and answers it; the state holds both (W2, W3)", async () => {
  await using s = await site([trip()]);
  const { body: graph } = await s.get("/v1/graphs/trip/topology");
  const { properties } = graph["input"] as { readonly properties: Readonly<Record<string, unknown>> };
  assert.deepEqual(Object.keys(properties), ["to", "from", "cents", "booked", "limit"]);
  const visitor = new Visitor(s.app);
  const page = await visitor.open("/ui/graphs/trip");
  const wrong = await visitor.submit(page, "Start run", { "value/from": "soon", "value/cents": "1.5" });
  assert.equal(wrong.status, 422);
  for (const said of ["give a value", "give a date and time", "give a whole number"]) {
    assert.ok(wrong.text.includes(said), `${said} is told at once`);
  }
  const started = await visitor.submit(wrong, "Start run", {
    "value/to": "Rome",
    "value/from": "2026-02-28T09:30",
    "value/cents": "123456789012345678901",
  });
  const runId = started.url.pathname.split("/").at(-1)!;
  await inStatus(s, runId, "interrupted");
  const answer = { "value/booked": "2026-03-01T10:00:30", "value/limit": "-5" };
  await visitor.submit(await visitor.open("/ui/waits"), "Answer", answer);
  await inStatus(s, runId, "completed");
  assert.deepEqual((await s.runners[0]!.get(runId))?.state, {
    to: "Rome",
    from: new Date(AT),
    cents: 123456789012345678901n,
    booked: new Date("2026-03-01T10:00:30Z"),
    limit: -5n,
  });
});
