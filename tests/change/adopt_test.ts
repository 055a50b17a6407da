// Runs on deno by default: what fits is decided by code that is the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { compile } from "../../src/compile.ts";
import type { CompiledGraph } from "../../src/model/definition.ts";
import { engine, type EngineOptions, type GraphOf, graphOf, type Notes, notes } from "../support/graphs.ts";
import { WorkerLab } from "../worker/lab.ts";

const Go = defineWait("go", z.object({ by: z.string() }));
const Narrow = defineWait("go", z.object({ by: z.string().min(3) }));
const COMPATIBLE: EngineOptions = { adopt: "compatible" };

const asks = {
  run: (_: unknown, ctx: { waitFor(wait: typeof Go): unknown }) => ctx.waitFor(Go),
  waits: [Go],
};
const of = (version: number, vertices: GraphOf<Notes>["vertices"], more: Partial<GraphOf<Notes>> = {}) =>
  graphOf({ version, vertices, ...more });
const first = of(1, { ask: { ...asks, to: "end" }, end: {} });

/** A run of one graph that is paused, and a process of another one. */
async function paused(old: CompiledGraph<Notes>, next: CompiledGraph<Notes>, input: Notes = notes()) {
  const before = engine(old);
  await before.run(input, { runId: "r" });
  return { before, after: before.restart(next, COMPATIBLE) };
}

test("a waiting run goes on under code with more vertices, edges and waits, keeping its wait and its past (V2)", async () => {
  const More = defineWait("more", z.string());
  const next = of(2, {
    ask: { ...asks, waits: [Go, More], to: ["end", "audit"] },
    audit: { to: "end" },
    end: {},
  });
  const { before, after } = await paused(first, next);
  const [wait] = (await before.runner.waits()).rows;
  await after.runner.answer("r", wait!.waitId, { by: "ann" });
  const result = await after.resume("r");
  assert.equal(result.status, "completed");
  assert.deepEqual(result.path, ["ask", "audit", "end", "end"]);
  assert.equal(result.run.graphVersion, next.version);
  const [adopted] = await after.eventsOf("r", "adopted");
  assert.deepEqual([adopted!.from, adopted!.to, "entry" in adopted!], [first.version, next.version, false]);
  assert.deepEqual([after.ran("ask"), after.ran("audit")], [2, 1]);
  await assert.rejects(before.runner.get("r"), { code: "GRAPH_VERSION_MISMATCH" });
  assert.equal(await before.runner.adopt("r"), false, "never back");
});

test("the rows of open waits get the schemas of the code that takes the run over, in the same append (V2)", async () => {
  const { after } = await paused(first, of(2, { ask: { ...asks, waits: [Narrow], to: "end" }, end: {} }));
  const shown = async () =>
    (await after.runner.waits()).rows.map(({ waitId, schema }) => ({ waitId, schema }));
  const [old] = await shown();
  assert.equal(await after.runner.adopt("r"), true);
  const [now, ...others] = await shown();
  assert.deepEqual([now!.waitId, others], [old!.waitId, []]);
  assert.match(JSON.stringify(now!.schema), /"minLength":3/);
  assert.doesNotMatch(JSON.stringify(old!.schema), /minLength/);
  const { revision, versionSince } = await after.runner.status("r");
  assert.equal(versionSince, revision);
});

test("what does not fit is refused with the first reason, the same for every call, and nothing is written (V2)", async () => {
  const { before, after } = await paused(
    first,
    of(2, { ask: { to: "end" }, end: {} }),
  );
  const { revision } = await before.runner.status("r");
  const refusal = {
    code: "GRAPH_VERSION_MISMATCH",
    message: /vertex ask waits for go, which it does not declare now/,
  };
  await assert.rejects(after.runner.resume("r"), refusal);
  await assert.rejects(after.runner.get("r"), refusal);
  await assert.rejects(after.runner.update("r", notes()), refusal);
  await assert.rejects(after.runner.fork("r", revision), refusal);
  assert.equal(await after.runner.adopt("r"), false);
  assert.equal((await before.runner.status("r")).revision, revision);
  assert.equal(
    (await before.runner.get("r")).status,
    "interrupted",
    "the code that it began with goes on with it",
  );
});

test("an answer to a run of another version is judged by the schema stored with its wait, and by the code that takes the run over (V5, I2)", async () => {
  const { before, after } = await paused(
    first,
    of(2, { ask: { ...asks, waits: [Narrow], to: "end" }, end: {} }),
  );
  const plain = before.restart(after.graph);
  const [wait] = (await after.runner.waits()).rows;
  for (const { runner } of [plain, after]) {
    await assert.rejects(runner.answer("r", wait!.waitId, { by: 7 }), {
      code: "ANSWER",
      message: /by: .*string/,
    });
  }
  await assert.rejects(after.runner.answer("r", wait!.waitId, { by: "al" }), {
    code: "ANSWER",
    message: /by:/,
  });
  await plain.runner.answer("r", wait!.waitId, { by: "al" });
  await assert.rejects(plain.runner.answer("r", wait!.waitId, { by: "bob" }), {
    message: /another answer was accepted/,
  });
  await assert.rejects(after.runner.resume("r"), {
    message: /an answer that it has got no longer passes: .*by/,
  });
  assert.equal((await before.resume("r")).status, "completed");
});

test("without the option a run that has begun stays, whatever fits; of the same version it moves once nobody serves its own (V1, V2)", async () => {
  const { before, after } = await paused(
    first,
    of(1, { ask: { ...asks, to: ["end", "more"] }, more: { to: "end" }, end: {} }),
  );
  const plain = before.restart(after.graph);
  await assert.rejects(plain.runner.resume("r"), { code: "GRAPH_VERSION_MISMATCH" });
  assert.equal(await plain.runner.adopt("r"), false);
  assert.equal(await after.runner.adopt("r"), true);
});

test("a state that lacks only what the schema completes is completed and recorded; another one is refused (V2, C4)", async () => {
  const Old = z.object({ n: z.number(), log: z.array(z.string()) });
  const vertices = { ask: { ...asks, to: "end" }, end: {} };
  const schema = (shape: z.ZodType) => ({ schema: shape as never });
  const { after } = await paused(
    of(1, vertices, schema(Old)),
    of(2, vertices, schema(Old.extend({ unit: z.string().default("kg") }))),
    { log: [], n: 1 },
  );
  const { run, state } = await after.runner.get("r");
  assert.deepEqual(state, { log: [], n: 1, unit: "kg" });
  assert.match(run.graphVersion, /:1$/, "shown as this code has it, it is still of its own version");
  assert.equal(await after.runner.adopt("r"), true);
  const again = after.restart(of(2, vertices, schema(Old.extend({ unit: z.string() }))), COMPATIBLE);
  assert.deepEqual((await again.runner.get("r")).state, { log: [], n: 1, unit: "kg" });
  const third = after.restart(of(3, vertices, schema(Old.extend({ unit: z.number() }))), COMPATIBLE);
  await assert.rejects(third.runner.get("r"), { message: /unit: .*number/ });
});

test("workers take over what fits when it is due, also from dead processes, and leave the rest to those that have it (V2)", async () => {
  const lab = new WorkerLab();
  const old = lab.process(first);
  for (const runId of ["due", "idle"]) await old.run(notes(), { runId });
  const held = lab.process(of(1, { ask: { run: () => new Promise(() => {}), to: "end" }, end: {} }));
  await held.runner.start(notes(), { runId: "held" });
  await lab.clock.settle();
  held.kill();
  const [wait] = (await old.runner.waits({ runId: "due" })).rows;
  await old.runner.answer("due", wait!.waitId, { by: "ann" });
  const next = await lab.serve(of(2, { ask: { ...asks, to: "end" }, end: {} }), { engine: COMPATIBLE });
  await lab.pass("60s");
  const standing = async (runId: string) => {
    const { status, graphVersion } = await next.runner.status(runId);
    return [status, graphVersion];
  };
  assert.deepEqual(await standing("due"), ["completed", next.graph.version]);
  assert.deepEqual(await standing("idle"), ["interrupted", first.version]);
  assert.deepEqual(await standing("held"), ["interrupted", next.graph.version]);
  assert.equal((await next.eventsOf("held", "released")).filter((e) => e.recovery === true).length, 1);
  await lab.end();
});

test("adopt is compatible or left out (V2)", () => {
  const { store } = engine(first);
  assert.throws(() => compile(first, { store, adopt: "all" as never }), {
    code: "BUILD",
    message: /adopt is "all"; give "compatible"/,
  });
});
