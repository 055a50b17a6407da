// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
/** Answers that name the definition of a wait in the place of its id. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import {
  type AnswerError,
  BuildError,
  defineWait,
  type Schema,
  type TaskContext,
  type WaitDefinition,
} from "../../mod.ts";
import { anotherHandle, gate, INPUT, interrupted, Lab, openId } from "./lab.ts";

const Ok = defineWait("ok", z.object({ yes: z.boolean(), note: z.string().default("") }));
const Count = defineWait("count", z.coerce.number());
const Stray = defineWait("stray", z.string());

/** Vertex `a` waits for an ok, `b` for a count and then for an ok, `c` for anything. */
function pair(lab: Lab) {
  return lab.graph({
    v: { body: () => 0, to: ["a", "b", "c"] },
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    b: { waits: [Ok, Count], body: async (ctx) => [await ctx.waitFor(Count), await ctx.waitFor(Ok)] },
    c: { body: (ctx) => ctx.answer() ?? ctx.interrupt() },
  });
}

test("an answer to a definition goes to the one open wait of that name, from any process, as its schema makes it (I2)", async () => {
  const lab = new Lab();
  const graph = pair(lab);
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  await lab.elsewhere(graph).answer(run.runId, Ok, { yes: true });
  await lab.elsewhere(graph).answer(run.runId, Count, "3");
  const result = interrupted(await lab.drive(lab.elsewhere(graph).resume(run.runId)));
  assert.deepEqual(result.state.out.a, { yes: true, note: "" });
  await lab.elsewhere(graph).answer(run.runId, Ok, { yes: false });
  const later = interrupted(await lab.drive(lab.engine(graph).resume(run.runId)));
  assert.deepEqual(later.state.out.b, [3, { yes: false, note: "" }]);
  assert.deepEqual(later.waits.map((w) => w.vertexId), ["c"]);
});

test("an answer to a definition with several open waits is refused and names each; nothing has changed (I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    m: { waits: [Ok], each: () => [1, 2, 3], body: (ctx) => ctx.waitFor(Ok), reduce: () => {} },
  });
  const runner = lab.engine(graph);
  const { run, waits } = interrupted(await lab.drive(runner.run(INPUT)));
  const error = await lab.fails<AnswerError>(runner.answer(run.runId, Ok, { yes: true }), "AnswerError");
  assert.equal(error.reason, "ambiguous");
  assert.deepEqual(error.fields.waits, waits.map((w) => w.waitId));
  const places = waits.map((w, i) => `${w.waitId} (ok of m item ${i})`).join(", ");
  assert.match(error.message, /3 waits ok are open: /);
  assert.ok(error.message.includes(places), error.message);
  assert.equal((await runner.waits()).rows.length, 3);
  await runner.answer(run.runId, waits[1]!.waitId, { yes: true });
  await runner.answer(run.runId, waits[0]!.waitId, { yes: true });
  await runner.answer(run.runId, Ok, { yes: false });
  assert.equal((await lab.drive(runner.resume(run.runId))).status, "completed");
});

test("an answer to a definition of which no wait is open says what became of it (I2)", async () => {
  const lab = new Lab();
  const graph = pair(lab);
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  const { runId } = run;
  const refused = async (wait: WaitDefinition, reason: string, problem: RegExp) => {
    const error = await lab.fails<AnswerError>(runner.answer(runId, wait, "x"), "AnswerError");
    assert.equal(error.reason, reason);
    assert.match(error.message, problem);
  };
  await refused(Stray, "unknown", /graph g declares no wait stray \(declared: count, ok\)/);
  await refused(Ok, "invalid", /the answer to wait ok does not satisfy its schema/);
  await runner.answer(runId, Ok, { yes: true });
  await refused(Ok, "answered", /another answer was accepted/);
  await lab.drive(runner.resume(runId, { wait: Count, payload: 1 }));
  await runner.answer(runId, Ok, { yes: true });
  await lab.drive(runner.resume(runId));
  await lab.drive(runner.resume(runId, { payload: 1 }));
  await refused(Ok, "not_open", /no wait ok is open, the run is completed/);
  await lab.fails(runner.answer("nobody", Ok, { yes: true }), "CheckpointNotFoundError");
  const other = lab.engine(lab.graph({ a: { waits: [Ok], body: () => 0 } }, { id: "other" }));
  await lab.fails(other.answer(runId, Ok, { yes: true }), "GraphMismatchError");
});

test("a wait that has expired does not hide the one that is open, and refuses where it is the only one (I2)", async () => {
  const lab = new Lab();
  const waiting = (ms: number) => (ctx: TaskContext) => ctx.waitFor(Ok, { deadline: ms });
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { waits: [Ok], body: waiting(100_000) },
    b: { waits: [Ok], body: waiting(200_000) },
  });
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  await lab.clock.advance(150_000);
  await runner.answer(run.runId, Ok, { yes: true });
  const error = await lab.fails<AnswerError>(runner.answer(run.runId, Ok, { yes: true }), "AnswerError");
  assert.equal(error.reason, "expired");
});

test("of two answers to a definition at once one is accepted (I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  const both = gate();
  const racing = () => {
    const store = anotherHandle(lab.store);
    return lab.engine(graph, {
      store: { ...store, waits: (query) => both.promise.then(() => store.waits(query)) },
    });
  };
  const calls = [racing(), racing()].map((runner) => runner.answer(run.runId, Ok, { yes: true }));
  both.open();
  const settled = await Promise.allSettled(calls);
  assert.deepEqual(settled.map((s) => s.status).sort(), ["fulfilled", "rejected"]);
});

test("of several open waits of a definition the one with the key that is given is answered (I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: (ctx) => Promise.all(["ada", "ben"].map((key) => ctx.waitFor(Ok, { key }))),
    },
  });
  const runner = lab.engine(graph);
  const { runId } = (await lab.drive(runner.run(INPUT))).run;
  const several = await lab.fails<AnswerError>(runner.answer(runId, Ok, { yes: true }), "AnswerError");
  assert.match(several.message, /w\w+ \(ok ada of a\), w\w+ \(ok ben of a\); name its key/);
  const none = await lab.fails<AnswerError>(
    runner.answer(runId, Ok, { yes: true }, { key: "eve" }),
    "AnswerError",
  );
  assert.deepEqual([none.reason, /no wait ok with the key eve is open/.test(none.message)], [
    "not_open",
    true,
  ]);
  await runner.answer(runId, Ok, { yes: true, note: "b" }, { key: "ben" });
  await runner.answer(runId, Ok, { yes: false });
  const { state } = await lab.drive(runner.resume(runId));
  assert.deepEqual(state.out.a, [{ yes: false, note: "" }, { yes: true, note: "b" }]);
});

test("a wait whose schema transforms is refused where it is defined, naming the place (FT-A14)", () => {
  const toDate = z.codec(z.iso.datetime(), z.date(), {
    decode: (text) => new Date(text),
    encode: (date) => date.toISOString(),
  });
  const cases: readonly (readonly [z.ZodType, RegExp])[] = [
    [z.string().transform(Number), /wait due transforms what it accepts;/],
    [toDate, /wait due transforms what it accepts;/],
    [z.stringbool(), /transforms/],
    [z.object({ by: z.string(), at: z.object({ from: toDate }) }), / at at\.from;/],
    [z.array(z.union([z.number(), toDate.optional()])), /transforms/],
    [z.map(z.string(), z.tuple([toDate])), /transforms/],
    [z.record(z.string(), toDate).nullable().default(null), /transforms/],
    [z.lazy(() => z.object({ n: z.string().transform(Number) }).and(z.object({}))), / at n;/],
    [z.string().pipe(z.transform(Number)).readonly(), /transforms/],
  ];
  for (const [schema, problem] of cases) {
    assert.throws(
      () => defineWait("due", schema),
      (e) => e instanceof BuildError && problem.test(e.message) && /convert it in the body/.test(e.message),
    );
    assert.throws(
      () =>
        new Lab().graph({
          a: { waits: [{ name: "due", schema }], body: (ctx) => ctx.waitFor({ name: "due", schema }) },
        }),
      (e) => e instanceof BuildError && problem.test(e.message),
    );
  }
  type Tree = { readonly children: readonly Tree[] };
  const tree: z.ZodType<Tree> = z.lazy(() => z.object({ children: z.array(tree) }));
  for (
    const schema of [
      tree,
      z.coerce.number(),
      z.preprocess(Number, z.number()),
      z.object({ note: z.string().trim().default("") }),
      z.string().refine((text) => text !== ""),
    ]
  ) defineWait("due", schema as z.ZodType);
});

/** A schema of a library that does not tell what it does. */
function opaque(schema: z.ZodType): Schema {
  const { validate } = schema["~standard"];
  return { "~standard": { version: 1, vendor: "mine", validate: (value) => validate(value) as never } };
}

test("an answer that its schema would not read back is refused when it is given, by id and by payload (I2, FT-A14)", async () => {
  const lab = new Lab();
  const Number5 = defineWait("number", opaque(z.string().transform(Number)));
  const Longer = defineWait("longer", opaque(z.string().transform((text) => `${text}!`)));
  for (
    const [wait, problem] of [[Number5, /refuses its own output/], [
      Longer,
      /changes its own output/,
    ]] as const
  ) {
    const graph = lab.graph({ a: { waits: [wait], body: (ctx) => ctx.waitFor<unknown>(wait) } });
    const { run, waits } = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
    const { runId, revision } = run;
    const runner = lab.elsewhere(graph);
    const calls = [
      () => runner.answer(runId, waits[0]!.waitId, "5"),
      () => runner.resume(runId, { payload: "5" }),
    ];
    for (const call of calls) {
      const error = await lab.fails<AnswerError>(call(), "AnswerError");
      assert.equal(error.reason, "invalid");
      assert.match(error.message, problem);
      assert.match(error.message, /move transforms out of the wait's schema, into the body/);
    }
    assert.equal((await runner.status(runId)).revision, revision);
  }
});

test("a payload of resume for a definition leaves the other waits alone (I3)", async () => {
  const lab = new Lab();
  const graph = pair(lab);
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  const { runId } = run;
  const none = await lab.fails<AnswerError>(
    runner.resume(runId, { wait: Stray, payload: "" }),
    "AnswerError",
  );
  assert.equal(none.reason, "ambiguous");
  assert.match(
    none.message,
    /no wait stray is open, but w\w+ \(ok of a\), w\w+ \(count of b\), w\w+ \(interrupt of c\)/,
  );
  await lab.fails(runner.resume(runId, { wait: Ok }), "ArgumentError");
  const result = interrupted(await lab.drive(runner.resume(runId, { wait: Count, payload: "7" })));
  assert.deepEqual(result.waits.map((w) => `${w.vertexId} ${w.name}`), ["a ok", "b ok", "c interrupt"]);
  const several = await lab.fails<AnswerError>(
    runner.resume(runId, { wait: Ok, payload: { yes: true } }),
    "AnswerError",
  );
  assert.match(several.message, /2 waits ok are open/);
  const all = interrupted(
    await lab.drive(runner.resume(runId, { wait: Ok, payload: { yes: true }, all: true })),
  );
  assert.deepEqual(all.state.out.b, [7, { yes: true, note: "" }]);
  assert.deepEqual(all.waits.map((w) => w.vertexId), ["c"]);
  openId(all, "interrupt");
});

test("the id of a run is known from its idempotency key (E1)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: () => 0 } }));
  const { run } = await lab.drive(runner.run(INPUT, { idempotencyKey: "order 7" }));
  assert.equal(runner.runIdOf("order 7"), run.runId);
  assert.notEqual(runner.runIdOf("order 8"), run.runId);
});
