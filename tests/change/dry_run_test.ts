// Runs on deno by default: what becomes of a run is decided by code that is the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile, defineWait } from "../../mod.ts";
import type { CompiledGraph } from "../../src/model/definition.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { Runner } from "../../src/engine/runner.ts";
import type { Store } from "../../src/store/store.ts";
import type { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { Subgraph } from "../../tasks/mod.ts";
import {
  type Engine,
  engine,
  type EngineOptions,
  type GraphOf,
  graphOf,
  type Notes,
  notes,
  processOn,
} from "../support/graphs.ts";

const Go = defineWait("go", z.object({ by: z.string() }));
const asks = {
  run: (_: unknown, ctx: { waitFor(wait: typeof Go): unknown }) => ctx.waitFor(Go),
  waits: [Go],
};
const of = (version: number, vertices: GraphOf<Notes>["vertices"], more: Partial<GraphOf<Notes>> = {}) =>
  graphOf({ version, vertices, ...more });
const first = of(1, { ask: { ...asks, to: "end" }, end: {} });

/** The verdict of a process with that code, which writes nothing. */
async function verdict(of: Engine<Notes>, code: CompiledGraph<Notes>, options: EngineOptions = {}) {
  const revision = async () => (await of.runner.status("r")).revision;
  const before = await revision();
  const { verdict, problem } = await of.restart(code, options).runner.tryAdopt("r");
  assert.equal(await revision(), before, "nothing is written");
  return problem === undefined ? verdict : `${verdict}: ${problem}`;
}

test("the dry run tells which runs load, fit, migrate or are refused, with the first thing that does not fit (V4)", async () => {
  const old = engine(first);
  await old.run(notes(), { runId: "r" });
  const more = of(2, { ask: { ...asks, to: ["end", "audit"] }, audit: { to: "end" }, end: {} });
  const adopt = { adopt: "compatible" } as const;
  assert.equal(await verdict(old, first), "loads");
  assert.equal(await verdict(old, more, adopt), "fits");
  assert.equal(
    await verdict(old, more),
    'refused: vertex audit was added; it fits all the same: take it over with adopt: "compatible" (--adopt)',
  );
  assert.equal(
    await verdict(old, of(2, { ask: { to: "end" }, end: {} }), adopt),
    "refused: vertex ask waits for go, which it does not declare now",
  );
  const renamed = (state?: (s: Notes) => unknown) =>
    of(2, { review: { ...asks, to: "end" }, end: {} }, {
      migrations: [{ from: 1, vertices: { ask: "review" }, ...(state === undefined ? {} : { state }) }],
    });
  assert.equal(await verdict(old, renamed()), "migrates");
  const fails = renamed(() => {
    throw new Error("no such customer");
  });
  assert.match(await verdict(old, fails), /^refused: .*from version 1 to 2: no such customer/);
  const selects = of(2, {
    ask: { ...asks, select: (s) => (s["gone"] as string).length, to: "end" },
    end: {},
  });
  assert.match(await verdict(old, selects, adopt), /^refused: vertex ask selects no input from the state: /);
  await old.resume("r", { payload: { by: "ann" } });
  await assert.rejects(old.runner.tryAdopt("r"), { code: "RESUME_TERMINAL" });
});

test("a selector that fails on the state of a run keeps the run with its own version (V2, V4)", async () => {
  const old = engine(first);
  await old.run(notes(), { runId: "r" });
  const selects = of(2, {
    ask: { ...asks, select: (s) => (s["gone"] as string).length, to: "end" },
    end: {},
  });
  const next = old.restart(selects, { adopt: "compatible" });
  await assert.rejects(next.runner.resume("r"), { message: /vertex ask selects no input from the state/ });
  assert.equal((await old.resume("r", { payload: { by: "ann" } })).status, "completed");
});

/** A process with code for three workflows, each of which calls the next one. */
function stack(version: number, innermost: CompiledGraph<Notes>, on: { store: Store; clock: VirtualClock }) {
  const at = {
    store: processOn(on.store).store,
    runtime: on.clock,
    adopt: "compatible" as const,
    logger: false as const,
  };
  const calling = (id: string, runner: Runner<Notes>) => {
    const run = (input: unknown, ctx: TaskContext) => new Subgraph(runner).execute(input, ctx);
    const select = () => ({ log: [] });
    return compile(graphOf<Notes>({ id, version, vertices: { call: { select, run, waits: [Go] } } }), at);
  };
  const middle = calling("middle", compile(innermost, at));
  return { outer: calling("outer", middle), middle };
}

test("a run fits only with the runs that work for it, however deep (V2, V4)", async () => {
  const inner = (version: number, id = "ask") =>
    graphOf({ id: "inner", version, vertices: { [id]: { ...asks, to: "end" }, end: {} } });
  const { store, clock } = engine(first);
  const code = (version: number, innermost: CompiledGraph<Notes>) =>
    stack(version, innermost, { store, clock }).outer;
  const before = code(1, inner(1));
  assert.equal((await clock.drive(before.run({ log: [] }, { runId: "r" }))).status, "interrupted");
  assert.equal((await before.tryAdopt("r")).verdict, "loads");
  assert.equal((await code(1, inner(2)).tryAdopt("r")).verdict, "loads");
  const lost = code(2, inner(2, "question"));
  const { verdict, problem } = await lost.tryAdopt("r");
  assert.equal(verdict, "refused");
  assert.match(
    problem!,
    /^run \S+ of graph middle, which works for vertex call, does not fit: run \S+ of graph inner, which works/,
  );
  assert.match(problem!, /vertex ask, which it is at, is not in this code$/);
  assert.equal(await lost.adopt("r"), false);
  const fits = code(2, inner(2));
  assert.equal((await fits.tryAdopt("r")).verdict, "fits");
  const done = await clock.drive(fits.resume("r", { payload: { by: "ann" } }));
  assert.deepEqual([done.status, done.run.graphVersion], ["completed", fits.graph.version]);
});
