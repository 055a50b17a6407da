// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskContext } from "../../src/model/context.ts";
import {
  chainOf,
  completed,
  engine,
  gate,
  graphOf,
  interrupted,
  type Notes,
  notes,
} from "../support/graphs.ts";

test("revision 0 is routed, running, at step 0, with the entry as its frontier and the input as its state (STP-01)", async () => {
  const e = engine(graphOf({ entry: "m", vertices: { a: {}, m: { to: ["a", "z"] }, z: {} }, finish: "z" }));
  const handle = await e.runner.start(notes({ x: [1] }));
  const view = await e.runner.get(handle.runId);
  assert.deepEqual([view.run.revision, view.status, view.run.step, view.state], [
    0,
    "running",
    0,
    notes({ x: [1] }),
  ]);
  await e.clock.drive(handle.result());
  const { rows: [first] } = await e.runner.history(handle.runId);
  assert.deepEqual(
    [first!.revision, first!.phase, first!.status, first!.step, first!.frontier, first!.routes],
    [0, "routed", "running", 0, ["m"], []],
  );
  assert.deepEqual(first!.events.map((event) => event.type), ["created"]);
});

test("a step selects everything in id order, then runs, then reduces in id order, then picks (STP-02, STP-03)", async () => {
  const order: string[] = [];
  const slow = gate();
  const part = (id: string, end?: Promise<void>) => ({
    select: () => void order.push(`select ${id}`),
    run: async (_input: unknown, ctx: TaskContext) => {
      order.push(`run ${id}`);
      assert.match(ctx.vertexRunId, /^[0-9a-f-]{36}$/);
      await end;
      order.push(`end ${id}`);
    },
    reduce: () => void order.push(`reduce ${id}`),
    targets: ["fin"],
    pick: () => (order.push(`pick ${id}`), "fin"),
  });
  const e = engine(graphOf({
    vertices: {
      start: { to: ["a", "b", "c"] },
      a: part("a", slow.promise),
      b: part("b"),
      c: part("c"),
      fin: {},
    },
  }));
  const running = e.run(notes());
  await e.clock.settle();
  order.push("all but a ended");
  slow.open();
  completed(await running);
  assert.deepEqual(order, [
    ...["select a", "select b", "select c"],
    ...["run a", "run b", "run c", "end b", "end c"],
    "all but a ended",
    "end a",
    ...["reduce a", "reduce b", "reduce c"],
    ...["pick a", "pick b", "pick c"],
  ]);
});

test("every selector of a step has returned before its first body starts, one body at a time too (STP-03)", async () => {
  const order: string[] = [];
  const part = (id: string) => ({
    select: () => void order.push(`select ${id}`),
    run: () => void order.push(`run ${id}`),
  });
  const e = engine(graphOf({ vertices: { start: { to: ["a", "b"] }, a: part("a"), b: part("b") } }));
  completed(await e.run(notes(), { concurrency: 1 }));
  assert.deepEqual(order, ["select a", "select b", "run a", "run b"]);
});

test("every step ends in one routed record, and the one of the last step is completed already (STP-04, STP-05)", async () => {
  const slow = gate();
  const e = engine(graphOf({
    vertices: { start: { to: ["a", "b"] }, a: {}, b: { run: () => slow.promise, to: "fin" }, fin: {} },
  }));
  const running = e.run(notes());
  await e.clock.settle();
  slow.open();
  const { run } = completed(await running);
  const { rows: history } = await e.runner.history(run.runId);
  const boundaries = history.filter((entry) => entry.events.some((event) => event.type === "routed"));
  assert.deepEqual(boundaries.map((entry) => [entry.step, entry.phase, entry.status, entry.frontier]), [
    [0, "routed", "running", ["a", "b"]],
    [1, "routed", "running", ["fin"]],
    [2, "routed", "completed", []],
  ]);
  assert.equal(
    history.filter((entry) => entry.events.filter((event) => event.type === "routed").length > 1).length,
    0,
  );
  assert.equal(history.at(-1), boundaries.at(-1));
  assert.equal((await e.eventsOf(run.runId, "completed")).length, 1);
});

test("all executions of a step read one base, through retries, answers and restarts, while the result shows the fold so far (STP-07)", async () => {
  const read: unknown[] = [];
  const seen = (s: Readonly<Notes>) => s.n;
  const add = (s: Notes, out: unknown) => void (s.n = (s.n as number) + (out as number));
  const e = engine(graphOf<Notes>({
    vertices: {
      start: { to: ["a", "b", "c"], reduce: () => {} },
      a: { select: seen, run: (input) => (read.push(input), 1), reduce: add },
      b: {
        select: seen,
        run: (input, ctx) => {
          read.push(input);
          return ctx.answer() === undefined ? ctx.interrupt() : 10;
        },
        reduce: add,
      },
      c: {
        select: seen,
        run: (input, ctx) => {
          read.push(input);
          return ctx.answer() === undefined ? ctx.interrupt() : 100;
        },
        reduce: add,
      },
    },
  }));
  const first = interrupted(await e.run(notes({ n: 5 })), "awaiting");
  assert.equal(first.state.n, 6);
  const [b, c] = first.waits;
  await e.runner.answer(first.run.runId, c!.waitId, 0);
  const other = e.restart();
  const second = interrupted(await other.resume(first.run.runId), "awaiting");
  assert.equal(second.state.n, 106);
  await other.runner.answer(first.run.runId, b!.waitId, 0);
  assert.equal(completed(await e.restart().resume(first.run.runId)).state.n, 116);
  assert.deepEqual(read, [5, 5, 5, 5, 5]);
});

test("a run whose finish has an edge to a sink completes when the sink has run; everything ran once (STP-08)", async () => {
  const e = engine(graphOf({ vertices: { a: { to: "f" }, f: { finish: true, to: "sink" }, sink: {} } }));
  const result = completed(await e.run(notes()));
  assert.deepEqual(result.path, ["a", "f", "sink"]);
  assert.deepEqual([e.ran("a"), e.ran("f"), e.ran("sink"), result.run.step], [1, 1, 1, 2]);
});

test("a run goes on after its finish as long as another branch is in the frontier (STP-09)", async () => {
  const e = engine(graphOf({
    vertices: { a: { to: ["f", "x"] }, f: { finish: true }, x: { to: "y" }, y: { to: "z" }, z: {} },
  }));
  const result = completed(await e.run(notes()));
  assert.deepEqual(result.path, ["a", "f", "x", "y", "z"]);
});

/** A finish that pauses, and ends as the test says when it is answered. */
const finishing = (end: () => unknown) =>
  graphOf({
    vertices: {
      f: {
        finish: true,
        run: (_input, ctx) => ctx.answer() === undefined ? ctx.interrupt() : end(),
        onError: { route: "handler" },
        to: "sink",
      },
      handler: {},
      sink: {},
    },
  });

test("a finish that paused counts once it is done (STP-12)", async () => {
  const e = engine(finishing(() => 1));
  const paused = interrupted(await e.run(notes()), "awaiting");
  assert.deepEqual(completed(await e.resume(paused.run.runId, { payload: 1 })).path, ["f", "sink"]);
});

test("a finish that only paused, and then failed, does not complete the run (STP-12)", async () => {
  const e = engine(finishing(() => {
    throw new Error("no");
  }));
  const paused = interrupted(await e.run(notes()), "awaiting");
  const result = interrupted(await e.resume(paused.run.runId, { payload: 1 }), "halted");
  assert.equal(result.halt?.kind, "dead_end");
  assert.deepEqual(result.path, ["f", "handler"]);
});

for (const ids of [["a"], ["a", "b"], ["a", "b", "c", "d", "e"]]) {
  test(`a completed chain of ${ids.length} has the step ${ids.length - 1} (STP-13)`, async () => {
    const { run } = completed(await engine(chainOf(...ids)).run(notes()));
    assert.equal(run.step, ids.length - 1);
  });
}

test("selectors, bodies, outcomes, hooks and routes of a step all follow the code units of the ids, and the routes of one vertex the order of its edges (STP-14, FT-D9)", async () => {
  const ids = ["b", "a10", "B", "a9", "Z.z"];
  const sorted = ["B", "Z.z", "a10", "a9", "b"];
  const order: Record<string, string[]> = {
    select: [],
    run: [],
    reduce: [],
    start: [],
    finish: [],
    edge: [],
  };
  const all = gate();
  const parts = ids.map((id) =>
    [id, {
      select: () => void order.select!.push(id),
      run: () => (order.run!.push(id), all.promise),
      reduce: () => void order.reduce!.push(id),
      to: "fin",
    }] as const
  );
  const e = engine(graphOf({ vertices: { start: { to: ids }, ...Object.fromEntries(parts), fin: {} } }), {
    hooks: {
      vertexStart: (event) => void (event.step === 1 && order.start!.push(event.vertexId)),
      vertexFinish: (event) => void (event.step === 1 && order.finish!.push(event.vertexId)),
      edge: ({ route }) => void (route.to === "fin" && order.edge!.push(route.from)),
    },
  });
  const running = e.run(notes());
  await e.clock.settle();
  all.open();
  const { run } = completed(await running);
  for (const [what, seen] of Object.entries(order)) assert.deepEqual(seen, sorted, what);
  const routed = (await e.runner.history(run.runId)).rows.filter((entry) => entry.routes.length > 0);
  assert.deepEqual(routed.map((entry) => entry.frontier), [sorted, ["fin"]]);
  assert.deepEqual(routed.map((entry) => entry.routes.map((r) => r.from)), [ids.map(() => "start"), sorted]);
  assert.deepEqual(routed[0]!.routes.map((r) => r.to), ids, "the edges of one vertex are in declared order");
});

test("bodies that end in the reverse order within one turn are told of in id order (STP-14)", async () => {
  const told: string[] = [];
  const gates = { a: gate(), b: gate(), c: gate() };
  const e = engine(
    graphOf({
      vertices: {
        start: { to: ["a", "b", "c"] },
        a: { run: () => gates.a.promise },
        b: { run: () => gates.b.promise },
        c: { run: () => gates.c.promise },
      },
    }),
    { hooks: { vertexFinish: (event) => void (event.step === 1 && told.push(event.vertexId)) } },
  );
  const running = e.run(notes());
  await e.clock.settle();
  for (const id of ["c", "b", "a"] as const) gates[id].open();
  completed(await running);
  assert.deepEqual(told, ["a", "b", "c"]);
});
