// Runs on deno by default: the commands are the same everywhere; they run as processes on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { fillIn } from "../../src/cli/answer/form.ts";
import { type Answered, problemOf, type Prompter, valueOf } from "../../src/cli/answer/prompter.ts";
import { type Question, questionsOf } from "../../src/cli/answer/questions.ts";
import { nextCommands } from "../../src/cli/next.ts";
import { AnswerError } from "../../src/errors.ts";
import { jsonSchemaOf } from "../../src/checkpoint/validate.ts";
import { DESK, fixture, Shell } from "./shell.ts";

const asked = (schema: z.ZodType) => questionsOf(jsonSchemaOf(schema), "value");

test("every field of a schema becomes a question of its kind; what may be left out says so (W4)", () => {
  const questions = asked(z.object({
    verdict: z.enum(["yes", "no"]).describe("what you think"),
    level: z.union([z.literal(1), z.literal(2), z.null()]),
    sure: z.boolean(),
    score: z.number(),
    count: z.int().optional(),
    note: z.string().default("none"),
    lines: z.array(z.string()),
    more: z.object({ a: z.string() }).optional(),
    either: z.union([z.string(), z.number()]),
    fixed: z.literal("x"),
  }));
  const told = questions.map(({ field, kind, optional, choices, hint, initial }) => [
    field,
    kind,
    optional,
    ...[choices, hint, initial].filter((x) => x !== undefined),
  ]);
  assert.deepEqual(told, [
    ["verdict", "choice", false, ["yes", "no"], "what you think"],
    ["level", "choice", false, [1, 2, null]],
    ["sure", "boolean", false],
    ["score", "number", false],
    ["count", "number", true],
    ["note", "text", true, "none"],
    ["lines", "json", false],
    ["more", "json", true],
    ["either", "json", false],
    ["fixed", "choice", false, ["x"]],
  ]);
});

test("a schema without fields is one question; without a schema JSON is asked for (W4)", () => {
  assert.deepEqual(asked(z.boolean()), [{ label: "value", kind: "boolean", optional: false }]);
  assert.deepEqual(asked(z.string()), [{ label: "value", kind: "text", optional: false }]);
  assert.deepEqual(asked(z.enum(["a"])), [{
    label: "value",
    kind: "choice",
    optional: false,
    choices: ["a"],
  }]);
  assert.deepEqual(asked(z.record(z.string(), z.number())), [{
    label: "value",
    kind: "json",
    optional: false,
  }]);
  for (const schema of [undefined, null, true, "x", {}, { type: "object", properties: 5 }]) {
    assert.deepEqual(questionsOf(schema, "value").map((q) => q.kind), ["json"]);
  }
});

test("dates and bigints are questions of their own, beside all others (W4)", () => {
  const schema = z.object({
    at: z.date(),
    cents: z.bigint().optional(),
    until: z.date().nullable(),
    from: z.date().default(new Date(0)),
    level: z.literal([1n, 2n]),
    members: z.map(z.string(), z.bigint()),
    name: z.string(),
    number: z.strictObject({ number: z.number() }),
  });
  const told = asked(schema).map(({ kind, nullable, initial, choices }) =>
    [kind, nullable, initial ?? choices].filter((x) => x !== undefined)
  );
  assert.deepEqual(told, [
    ["time"],
    ["bigint"],
    ["time", true],
    ["time", new Date(0)],
    ["choice", [1n, 2n]],
    ["json"],
    ["text"],
    ["json"],
  ]);
  assert.deepEqual(asked(z.date()), [{ label: "value", kind: "time", optional: false }]);
  assert.deepEqual(asked(z.set(z.string())), [{ label: "value", kind: "json", optional: false }]);
  assert.deepEqual(asked(z.strictObject({ string: z.string() })).map(({ field }) => field), ["string"]);
});

test("what is typed is judged before any schema sees it (W4)", () => {
  const of = (kind: Question["kind"], optional = false): Question => ({ label: "x", kind, optional });
  assert.equal(problemOf(of("number"), "twelve"), "give a number");
  assert.equal(problemOf(of("number"), ""), "give a number");
  assert.equal(problemOf(of("number"), "Infinity"), "give a number");
  assert.equal(problemOf(of("number", true), ""), undefined);
  assert.equal(problemOf(of("number"), "-1.5e3"), undefined);
  assert.match(problemOf(of("json"), "[1,")!, /no JSON: column 4/);
  assert.equal(problemOf(of("json"), " "), "give JSON");
  assert.match(problemOf(of("json"), '{"$date":"x"}')!, /\$date is "x"; it must be an ISO 8601 time/);
  assert.equal(problemOf(of("text"), ""), undefined);
  for (const text of ["", "soon", "5", "null", "2026-13-01"]) {
    assert.equal(problemOf(of("time"), text), "give a time such as 2026-12-31T23:59:59Z", text);
  }
  for (const text of ["", "1.5", "1e3", "0x1", "null"]) {
    assert.equal(problemOf(of("bigint"), text), "give a whole number", text);
  }
  assert.equal(problemOf({ ...of("time"), nullable: true }, "null"), undefined);
  assert.equal(valueOf({ ...of("bigint"), nullable: true }, "null"), null);
  assert.deepEqual(valueOf(of("time"), " 1970-01-01T00:00:00Z "), new Date(0));
  assert.equal(valueOf(of("bigint"), "-12345678901234567890"), -12345678901234567890n);
  assert.deepEqual(valueOf(of("json"), '{"$date":"1970-01-01T00:00:00Z"}'), new Date(0));
  assert.deepEqual([valueOf(of("number"), " 7 "), valueOf(of("text"), " 7 ")], [7, " 7 "]);
});

test("once a run is answered, get and answer say so and how to go on (W4, I2)", () =>
  Shell.with(async (shell) => {
    const wait = await shell.waiting("r1");
    await shell.run("answer", "r1", DESK, "-v", '{"verdict":"approve","score":7}');
    const { out } = await shell.run("get", "r1", DESK);
    assert.match(out, /^status +answered$/m);
    assert.ok(
      out.includes(`answered: ${wait}; go on with: superstep resume r1 ${DESK} --db ${shell.db}\n`),
      out,
    );
    assert.doesNotMatch(out, /superstep answer|waits for/);
    const bare = await shell.run("get", "r1");
    assert.match(bare.out, /go on with: superstep resume r1 --db \S+, and the source of the workflow$/m);
    const shown = JSON.parse((await shell.run("get", "r1", "--json")).out);
    assert.deepEqual([shown.waits, shown.answered], [[], [wait]]);
    const again = await shell.run("answer", "r1", DESK, "-v", '{"verdict":"approve","score":7}');
    assert.deepEqual([again.code, again.out], [1, ""]);
    assert.match(again.err, /run r1 is answered already; go on with: superstep resume r1 /);
  }));

test("a command to type next begins as the program was started, where that is known (W4)", () => {
  const next = (env: Record<string, string>) => nextCommands(env, ["a b.ts"], "./superstep.db").resume("r1");
  assert.equal(next({}), "superstep resume r1 'a b.ts'");
  assert.equal(next({ npm_lifecycle_event: "npx" }), "npx superstep resume r1 'a b.ts'");
  assert.equal(next({ npm_lifecycle_event: "bunx" }), "bunx superstep resume r1 'a b.ts'");
  const task = { INIT_CWD: "/work", npm_config_user_agent: "deno/2.9.6 npm/? deno/2.9.6 linux x86_64" };
  assert.equal(next(task), "deno task superstep resume r1 'a b.ts'");
  const npx = { npm_lifecycle_event: "npx", npm_lifecycle_script: "deno" };
  assert.equal(next(npx), "npx -y deno@2 task superstep resume r1 'a b.ts'");
  assert.equal(next({ ...task, npm_config_user_agent: "npm/11" }), "superstep resume r1 'a b.ts'");
});

/** A form filled in by a list of answers; what was asked, and what was told. */
async function filled(schema: z.ZodType, answers: readonly unknown[]) {
  const left = [...answers];
  const [asked, faults]: [string[], string[]] = [[], []];
  const prompter: Prompter = {
    choose: () => Promise.reject(new Error("nothing to choose")),
    ask(question): Promise<Answered> {
      asked.push(question.label);
      const value = left.shift();
      return Promise.resolve(value === undefined ? undefined : { value });
    },
  };
  const value = await fillIn(jsonSchemaOf(schema), "value", {
    prompter,
    fault: (text) => faults.push(text),
    submit(value) {
      const { error } = schema.safeParse(value);
      if (error === undefined) return Promise.resolve();
      const issues = error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
      return Promise.reject(new AnswerError("invalid", "r1", "w1", "no", undefined, { issues }));
    },
  });
  return { value, asked, faults };
}

test("fields that are refused are told and asked for again, the others are kept (W4)", async () => {
  const schema = z.object({
    name: z.string().min(3),
    score: z.number().max(10),
    more: z.object({ a: z.number() }),
    note: z.string().optional(),
  });
  const { value, asked, faults } = await filled(schema, ["ok", 11, { a: "x" }, undefined, "long", 9, {
    a: 1,
  }]);
  assert.deepEqual(value, { name: "long", score: 9, more: { a: 1 } });
  assert.deepEqual(asked, ["name", "score", "more", "note", "name", "score", "more"]);
  assert.equal(faults.length, 3);
  assert.match(faults[2]!, /^more\.a: /);
});

test("a fault of the whole asks for everything again (W4)", async () => {
  const schema = z.object({ a: z.number(), b: z.number() }).refine((v) => v.a < v.b, "a must be below b");
  const { value, asked, faults } = await filled(schema, [2, 1, 1, 2]);
  assert.deepEqual(value, { a: 1, b: 2 });
  assert.deepEqual([asked, faults], [["a", "b", "a", "b"], ["a must be below b"]]);
});

test("a field named __proto__ stays a field of the answer (FC-29)", async () => {
  const schema = {
    type: "object",
    properties: JSON.parse('{"__proto__":{"type":"string"},"b":{"type":"string"}}'),
  };
  const values: unknown[] = [];
  await fillIn(schema, "value", {
    prompter: { ask: () => Promise.resolve({ value: "x" }), choose: () => Promise.resolve(0) },
    fault: () => {},
    submit: (value) => Promise.resolve(void values.push(value)),
  });
  assert.deepEqual(Object.keys(values[0] as object), ["__proto__", "b"]);
  assert.equal(Object.getPrototypeOf(values[0]), Object.prototype);
});

const DOWN = "\u001b[B";

test("on a terminal an answer is asked for field by field, refused ones again, and the run goes on (W4)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1");
    const typed = [
      [/verdict \(what to do with it\)/, `${DOWN}\r`],
      [/score \(a number\)/, "99\r"],
      [/urgent \(may be left out\)/, "\r"],
      [/note \(may be left out\)/, "\r"],
      [/lines \(JSON, may be left out\)/, "[1\r"],
      [/no JSON: column 3/, "]\r"],
      [/score: Too big[^]*score \(a number\)/, "7\r"],
      // Refined, the run comes back with the same question.
    ] as const;
    const ran = await shell.runIn({ typed }, "answer", DESK);
    assert.equal(ran.code, 0, ran.err);
    assert.match(ran.err, /verdict of review, run r1\n\{\n {2}"text": "T!"\n\}\n/);
    assert.match(ran.out, /^accepted; a worker takes it up, or go on with: superstep resume r1 /);
    const { waits } = JSON.parse((await shell.run("resume", "r1", DESK, "--json")).out);
    assert.equal(waits.length, 1);
    const { state } = JSON.parse((await shell.run("get", "r1", "--json")).out);
    assert.deepEqual([state.verdict, state.score], ["refine", 7]);
  }));

test("on a terminal a date and a bigint are typed as what they are (W4)", () =>
  Shell.with(async (shell) => {
    const source = fixture("trip.ts");
    await shell.run("run", source, "--run-id", "r1");
    const typed = [
      [/at \(a time such as 2026-12-31T23:59:59Z\)/, "soon\r"],
      [/give a time such as/, "\u007f\u007f\u007f\u007f2026-02-28T09:30Z\r"],
      [/cents \(a whole number\)/, "12345678901234567890\r"],
      [/until \(a time such as 2026-12-31T23:59:59Z, or null\)/, "null\r"],
    ] as const;
    const ran = await shell.runIn({ typed }, "answer", "r1", source, "--resume");
    assert.equal(ran.code, 0, ran.err);
    const { state } = JSON.parse((await shell.run("get", "r1", "--json")).out);
    assert.deepEqual(state.booked, {
      at: { $date: "2026-02-28T09:30:00.000Z" },
      cents: { $bigint: "12345678901234567890" },
      until: null,
    });
  }));

test("on a terminal one of several waits is chosen, and Ctrl-C answers nothing (W4)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1");
    await shell.waiting("r2");
    const typed = [[/Which wait\?/, `${DOWN}\r`], [/what to do with it/, "\u0003"]] as const;
    const ran = await shell.runIn({ typed }, "answer", DESK);
    assert.equal(ran.code, 130);
    assert.match(ran.err, /verdict of review, run r2[^]*nothing was answered\n$/);
    assert.equal((await shell.run("waits", "--json")).out.trim().split("\n").length, 2);
  }));

test("an interrupt without a schema takes any JSON (T4)", () =>
  Shell.with(async (shell) => {
    const other = fixture("other.ts");
    await shell.run("run", other, "--run-id", "r1");
    const typed = [[/\(JSON\)/, '{"a":[1]}\r']] as const;
    const ran = await shell.runIn({ typed }, "answer", "r1", other, "--resume");
    assert.equal(ran.code, 0, ran.err);
    assert.match(ran.out, /completed[^]*"answer": \{\n {4}"a": \[\n {6}1\n/);
  }));
