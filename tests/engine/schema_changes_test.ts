// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { isSuperstepError } from "../../src/errors.ts";
import type { CompiledGraph } from "../../src/model/definition.ts";
import { completed, engine, graphOf, interrupted } from "../support/graphs.ts";

interface State {
  n: number;
  text: string;
  [field: string]: unknown;
}

const Strict = z.object({ n: z.coerce.number(), text: z.string().trim().default("none") });

/** A graph of two vertices whose schema is `schema`: the first one sleeps for a day. */
function napping(schema: z.ZodType, seen: unknown[] = []): CompiledGraph<State> {
  return graphOf<State>({
    schema: schema as never,
    vertices: {
      nap: {
        select: (s) => s,
        run: async (input, ctx) => {
          seen.push(input);
          await ctx.sleep("day", "1d");
        },
        reduce: () => {},
        to: "sum",
      },
      sum: { reduce: (s) => void (s.n = s.n + 1) },
    },
  });
}

const EDITS: readonly (readonly [field: string, edit: (s: State) => void])[] = [
  ["n", (s) => void (s.n = "5" as never)],
  ["text", (s) => void (s.text = " padded ")],
  ["text", (s) => void delete (s as Partial<State>).text],
  ["extra", (s) => void (s.extra = 1)],
];

for (const [field, edit] of EDITS) {
  test(`a state whose ${field} the schema would change is a fault (${EDITS.findIndex((each) => each[1] === edit)}), wherever it comes from (FT-D2, C4)`, async () => {
    const e = engine(graphOf<State>({ schema: Strict as never, vertices: { v: { reduce: edit } } }));
    const { failures: [failed], state, run } = interrupted(await e.run({ n: 1 }), "errored");
    assert.deepEqual([failed!.failure.phase, failed!.failure.name], ["reduce", "ValidationError"]);
    assert.match(failed!.failure.message, new RegExp(`\\b${field}: `));
    assert.deepEqual(state, { n: 1, text: "none" });
    const refused = (error: unknown) =>
      isSuperstepError(error, "VALIDATION") && new RegExp(`\\b${field}: `).test(error.message);
    await assert.rejects(e.runner.update(run.runId, edit), refused);
    await assert.rejects(e.runner.fork(run.runId, run.revision, { state: edit }), refused);
    assert.equal((await e.runner.status(run.runId)).revision, run.revision);
  });
}

test("a vertex with an error route takes it when its schema would change what it reduced (FT-D2, E10)", async () => {
  const e = engine(graphOf<State>({
    schema: Strict as never,
    vertices: { v: { reduce: EDITS[0]![1], onError: { route: "h" } }, h: { reduce: () => {}, finish: true } },
  }));
  assert.deepEqual(completed(await e.run({ n: 1 })).path, ["v", "h"]);
});

test("fields that a new schema completes by defaults are there when the run goes on, and recorded with the claim (FT-D2, C4)", async () => {
  const e = engine(napping(z.object({ n: z.number() })));
  const { run } = interrupted(await e.run({ n: 1 }), "sleeping");
  const seen: unknown[] = [];
  const added = z.object({
    n: z.number(),
    rate: z.number().default(7),
    deep: z.object({ a: z.string() }).default({ a: "x" }),
  });
  const later = e.restart(napping(added, seen));
  assert.deepEqual((await later.runner.get(run.runId)).state, { n: 1, rate: 7, deep: { a: "x" } });
  assert.equal((await later.runner.status(run.runId)).revision, run.revision);
  await later.clock.advance("1d");
  const done = completed(await later.resume(run.runId));
  assert.deepEqual([seen, done.state], [
    [{ n: 1, rate: 7, deep: { a: "x" } }],
    { n: 2, rate: 7, deep: { a: "x" } },
  ]);
  // The claim holds the completed state: from then on it needs no defaults.
  const required = z.object({ n: z.number(), rate: z.number(), deep: z.object({ a: z.string() }) });
  const after = e.restart(napping(required));
  const claimed = (await after.runner.history(run.runId)).rows.findIndex((row) =>
    row.events.some((event) => event.type === "claimed")
  );
  assert.deepEqual((await after.runner.get(run.runId, { revision: claimed })).state.rate, 7);
  assert.deepEqual((await after.runner.get(run.runId)).state, done.state);
  await assert.rejects(after.runner.get(run.runId, { revision: run.revision }), /rate/);
});

test("a fork and an update of a run whose state lacks a field with a default store the completed state (FT-D2, H2)", async () => {
  const e = engine(napping(z.object({ n: z.number() })));
  const { run } = interrupted(await e.run({ n: 1 }), "sleeping");
  const completing = e.restart(napping(z.object({ n: z.number(), rate: z.number().default(7) })));
  const { runId } = await completing.runner.fork(run.runId, run.revision);
  await completing.runner.update(run.runId, (s) => void (s.n = 5));
  const required = e.restart(napping(z.object({ n: z.number(), rate: z.number() })));
  assert.deepEqual((await required.runner.get(runId)).state, { n: 1, rate: 7 });
  assert.deepEqual((await required.runner.get(run.runId)).state, { n: 5, rate: 7 });
});

test("a run whose state a new schema would change otherwise halts with a load fault that names the field (FT-D2, C4)", async () => {
  const changes: readonly (readonly [RegExp, z.ZodType])[] = [
    [/old: .*does not know/, z.object({ n: z.number(), fresh: z.number().default(0) })],
    [/old: .*would change/, z.object({ n: z.number(), old: z.string().toUpperCase() })],
    [/missing/, z.object({ n: z.number(), old: z.string(), missing: z.number() })],
  ];
  for (const [problem, schema] of changes) {
    const e = engine(napping(z.object({ n: z.number(), old: z.string() })));
    const { run } = interrupted(await e.run({ n: 1, old: "x" }), "sleeping");
    const seen: unknown[] = [];
    const later = e.restart(napping(schema, seen));
    await assert.rejects(
      later.resume(run.runId),
      (error) =>
        isSuperstepError(error, "CHECKPOINT_DECODE") && problem.test(error.message) &&
        /default.*migration/.test(error.message),
    );
    assert.equal((await later.runner.status(run.runId)).revision, run.revision);
    await later.clock.advance("2d");
    assert.deepEqual(await later.runner.recover(), []);
    const { rows } = await later.runner.history(run.runId);
    const halted = rows.flatMap((row) => row.events).find((event) => event.type === "halted");
    assert.equal(halted?.halt.kind, "load_fault");
    assert.match(halted!.halt.message, problem);
    assert.deepEqual(seen, []);
  }
});

test("a run that was at work when its process died is completed by the schema of the one that takes it over (FT-D2)", async () => {
  const e = engine(graphOf<State>({
    schema: z.object({ n: z.number() }) as never,
    vertices: { v: { run: (_, ctx) => ctx.sleep("nap", "10s"), reduce: () => {} } },
  }));
  const handle = await e.runner.start({ n: 1 });
  await e.clock.settle();
  e.kill();
  const later = e.restart(graphOf<State>({
    schema: z.object({ n: z.number(), rate: z.number().default(7) }) as never,
    vertices: {
      v: {
        select: (s) => s.rate,
        run: async (rate, ctx) => (await ctx.sleep("nap", "10s"), rate),
        reduce: (s, out) => void (s.n = out as number),
      },
    },
  }));
  const { state } = completed(await later.resume(handle.runId, { takeover: true }));
  assert.deepEqual(state, { n: 7, rate: 7 });
});

test("without a schema, and with a loose one, a state holds whatever can be stored (C4)", async () => {
  for (const schema of [undefined, z.looseObject({ n: z.number() })]) {
    const e = engine(graphOf<State>({
      ...(schema === undefined ? {} : { schema: schema as never }),
      vertices: { v: { reduce: (s) => void (s.extra = [1n]) } },
    }));
    const { state, run } = completed(await e.run({ n: 1 }));
    assert.deepEqual(state, { n: 1, extra: [1n] });
    assert.deepEqual((await e.restart().runner.get(run.runId)).state, state);
  }
});
