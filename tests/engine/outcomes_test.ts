// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskContext } from "../../src/model/context.ts";
import {
  completed,
  type Engine,
  engine,
  type Gate,
  gate,
  graphOf,
  interrupted,
  type Notes,
  notes,
} from "../support/graphs.ts";

const boom = new Error("boom");

/** `start` and then `a`, `b`, `c`, which end when the test says so, and a finish. */
function held() {
  const gates: Record<string, Gate> = { a: gate(), b: gate(), c: gate() };
  const body = (id: string) => ({ run: () => gates[id]!.promise, to: "fin" });
  const graph = graphOf<Notes>({
    vertices: { start: { to: ["a", "b", "c"] }, a: body("a"), b: body("b"), c: body("c"), fin: {} },
  });
  return { graph, gates };
}

/** Lets one body after the other end, each in a turn of its own. */
async function open(e: Engine<Notes>, ...gates: readonly Gate[]): Promise<void> {
  for (const g of gates) {
    g.open();
    await e.clock.settle();
  }
}

test("an outcome is durable before the barrier, and what has one never runs again (E4, FC-01)", async () => {
  const { graph, gates } = held();
  const e = engine(graph);
  const handle = await e.runner.start(notes());
  await e.clock.settle();
  await open(e, gates.b!);
  assert.deepEqual((await e.eventsOf(handle.runId, "done")).map((d) => d.vertexId), ["start", "b"]);
  assert.deepEqual((await e.runner.get(handle.runId)).state, notes({ log: ["start", "b"] }));
  e.kill();
  gates.a!.open();
  gates.c!.open();
  const { state } = completed(await e.restart().resume(handle.runId, { takeover: true }));
  assert.deepEqual(state.log, ["start", "a", "b", "c", "fin"]);
  assert.deepEqual(["a", "b", "c"].map((id) => e.ran(id)), [2, 1, 2]);
});

test("the last outcome of a step rides in its boundary record, without its output (E4)", async () => {
  const { graph, gates } = held();
  const e = engine(graph);
  const running = e.run(notes());
  await e.clock.settle();
  await open(e, gates.c!, gates.a!, gates.b!);
  const { run } = completed(await running);
  const records = (await e.runner.history(run.runId)).rows.map((entry) =>
    entry.events.map((event) => event.type)
  );
  const boundary = ["done", "folded", "routed"];
  assert.deepEqual(records, [["created"], boundary, ["done"], ["done"], boundary, [
    ...boundary,
    "completed",
  ]]);
  const done = await e.eventsOf(run.runId, "done");
  assert.deepEqual(done.map((d) => [d.vertexId, "output" in d]), [
    ["start", false],
    ["c", true],
    ["a", true],
    ["b", false],
    ["fin", false],
  ]);
});

test("what becomes known in one turn is one record (E4)", async () => {
  const ids = Array.from({ length: 50 }, (_, i) => i);
  const e = engine(graphOf<Notes>({
    vertices: {
      m: { each: () => ids, run: async (i) => (await undefined, i), reduce: (s, out) => void (s.out = out) },
    },
  }));
  const { run, state } = completed(await e.run(notes()));
  assert.deepEqual(state.out, ids);
  assert.ok(run.revision <= 3, `${run.revision} revisions`);
});

test("with a checkpoint every step done siblings are not appended on their own, and run again after a crash (E4)", async () => {
  const { graph, gates } = held();
  const e = engine(graph);
  const handle = await e.runner.start(notes(), { checkpointEvery: "step" });
  await e.clock.settle();
  await open(e, gates.a!, gates.b!);
  assert.deepEqual((await e.eventsOf(handle.runId, "done")).map((d) => d.vertexId), ["start"]);
  e.kill();
  gates.c!.open();
  const other = e.restart();
  const { state, run } = completed(
    await other.resume(handle.runId, { takeover: true, checkpointEvery: "step" }),
  );
  assert.deepEqual(state.log, ["start", "a", "b", "c", "fin"]);
  assert.deepEqual(["start", "a", "b", "c"].map((id) => e.ran(id)), [1, 2, 2, 2]);
  const records = (await other.runner.history(run.runId)).rows.map((entry) =>
    entry.events.map((event) => event.type)
  );
  assert.deepEqual(records.map((types) => types.filter((type) => type === "done").length), [0, 1, 0, 3, 1]);
});

test("with a checkpoint every step failures, waits and once are durable at once all the same, with what is known then (E4)", async () => {
  const hold = gate();
  let made = 0;
  const e = engine(graphOf<Notes>({
    vertices: {
      start: { to: ["a", "o", "r", "w", "z"] },
      a: {},
      o: {
        run: async (_input, ctx) => {
          await ctx.once("o", () => ++made);
          await hold.promise;
        },
      },
      r: { retry: { maxAttempts: 2, backoff: { initial: "1m" } }, run: () => Promise.reject(boom) },
      w: { run: (_input, ctx) => ctx.interrupt() },
      z: { run: () => hold.promise },
    },
  }));
  const handle = await e.runner.start(notes(), { checkpointEvery: "step" });
  await e.clock.settle();
  const types = (await e.events(handle.runId)).slice(4).map((event) => event.type);
  for (const type of ["once", "attempt_failed", "opened", "suspended"]) {
    assert.ok(types.includes(type as never), type);
  }
  e.kill();
  const other = e.restart();
  hold.open();
  await other.resume(handle.runId, { takeover: true });
  assert.equal(made, 1);
});

/** Runs three siblings of which one is slow and one pauses, in every way there is, and returns what came of it. */
async function foldedWhen(slow: string, paused: string): Promise<Notes> {
  const late = gate();
  const body = (id: string) => ({
    select: (s: Readonly<Notes>) => s.n,
    run: async (input: unknown, ctx: TaskContext) => {
      if (id === slow) await late.promise;
      if (id === paused && ctx.answer() === undefined) return ctx.interrupt();
      return `${id} saw ${input}`;
    },
    reduce: (s: Notes, out: unknown) => void (s.log.push(out as string), s.n = `${s.n}${id}`),
  });
  const e = engine(graphOf<Notes>({
    vertices: { start: { to: ["a", "b", "c"], reduce: () => {} }, a: body("a"), b: body("b"), c: body("c") },
  }));
  const running = e.run(notes({ n: "S" }));
  await e.clock.settle();
  late.open();
  const result = await running;
  if (paused === "") return completed(result).state;
  const { run, waits } = interrupted(result, "awaiting");
  return completed(await e.restart().resume(run.runId, { answers: { [waits[0]!.waitId]: 1 } })).state;
}

for (const slow of ["", "a", "b", "c"]) {
  for (const paused of ["", "a", "b", "c"]) {
    test(`the next state does not depend on who was slow (${slow || "none"}) or paused (${paused || "none"}) (E5)`, async () => {
      assert.deepEqual(await foldedWhen(slow, paused), { log: ["a saw S", "b saw S", "c saw S"], n: "Sabc" });
    });
  }
}

test("while a step is under way the result shows the fold of the outcomes so far, and S_N stands underneath (E5)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: {
      start: { to: ["a", "b", "c"] },
      a: {},
      b: { run: (_input, ctx) => ctx.answer() ?? ctx.interrupt() },
      c: {
        select: (s) => [...s.log],
        run: (input) => input,
        reduce: (s, out) => void (s.c = out, s.log.push("c")),
      },
    },
  }));
  const { run, state } = interrupted(await e.run(notes()), "awaiting");
  assert.deepEqual(state, { log: ["start", "a", "c"], c: ["start"] });
  assert.deepEqual((await e.restart().runner.get(run.runId)).state, state);
  assert.deepEqual(completed(await e.restart().resume(run.runId, { payload: 1 })).state, {
    log: ["start", "a", "b", "c"],
    c: ["start"],
  });
});

for (const restarted of [false, true]) {
  test(`a reducer that failed is applied again to the recorded output on resume ${restarted ? "elsewhere" : "here"}; no task runs (E5)`, async () => {
    let broken = true;
    let reduced: unknown;
    const e = engine(graphOf<Notes>({
      vertices: {
        start: { to: ["a", "b"] },
        a: {
          run: () => ({ made: "once" }),
          reduce: (s, out) => {
            if (broken) throw boom;
            reduced = out;
            s.log.push("a");
          },
        },
        b: {},
      },
    }));
    const { run, failures, state } = interrupted(await e.run(notes()), "errored");
    assert.deepEqual([failures[0]!.vertexId, failures[0]!.failure.phase, state.log], ["a", "reduce", [
      "start",
      "b",
    ]]);
    const again = restarted ? e.restart() : e;
    interrupted(await again.resume(run.runId), "errored");
    broken = false;
    assert.deepEqual(completed(await again.resume(run.runId)).state.log, ["start", "a", "b"]);
    assert.deepEqual([reduced, e.ran("a"), e.ran("b")], [{ made: "once" }, 1, 1]);
  });
}

test("a reduction that could not be stored is applied again to the recorded output, too (E5, E10)", async () => {
  let broken = true;
  const e = engine(graphOf<Notes>({
    vertices: { v: { run: () => 7, reduce: (s, out) => void (s.out = broken ? () => {} : out) } },
  }));
  const { run } = interrupted(await e.run(notes()), "errored");
  broken = false;
  assert.equal(completed(await e.restart().resume(run.runId)).state.out, 7);
  assert.equal(e.ran("v"), 1);
});

test("a vertex that is routed to from several sides runs once in the step (E6)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: {
      start: { to: ["a", "b", "c"] },
      a: { to: ["t", "t"] },
      b: { targets: ["t", "u"], pick: () => ["t", "t"] },
      c: { run: () => Promise.reject(boom), onError: { route: "t" }, to: "u" },
      u: {},
      t: { finish: true },
    },
  }));
  const { run } = completed(await e.run(notes()));
  assert.equal(e.ran("t"), 1);
  const last = (await e.eventsOf(run.runId, "routed"))[1]!.routes;
  assert.deepEqual(last.map((r) => `${r.from} ${r.kind}`), [
    "a static",
    "a static",
    "b conditional",
    "c error",
  ]);
});

test("a finish that is done in any earlier step lets the run complete when the frontier is empty (E7)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: { f: { finish: true, to: ["x", "y"] }, x: { to: "z" }, y: {}, z: {} },
  }));
  const { path } = completed(await e.run(notes()));
  assert.deepEqual(path, ["f", "x", "y", "z"]);
});

test("without a finish the run that drains is a dead end, never completed (E7)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: { r: { targets: ["f", "x"], pick: () => "x" }, x: {}, f: { finish: true } },
  }));
  const { halt } = interrupted(await e.run(notes()), "halted");
  assert.deepEqual([halt?.kind, halt?.step, e.ran("f")], ["dead_end", 1, 0]);
});
