import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile, defineWait, Graph, Vertex, Workflow } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { serve } from "../../src/worker/mod.ts";
import { chainOf, gate, graphOf, notes } from "../support/graphs.ts";
import { WorkerLab } from "./lab.ts";

const Go = defineWait("go", z.object({ by: z.string() }));

const asking = graphOf({
  vertices: {
    ask: { run: async (_, ctx) => (await ctx.waitFor(Go)).by, waits: [Go], to: "end" },
    end: {},
  },
});

test("a worker completes what was submitted, under its id, and a claim is the only thing that makes it one's own (W1, SRV-01)", async () => {
  const lab = new WorkerLab();
  const { runner, worker } = await lab.serve(chainOf("a", "b"));
  const other = lab.process(chainOf("a", "b"));
  await other.runner.submit(notes(), { runId: "r" });
  await lab.pass("2s");
  const { status, owner } = await runner.status("r");
  assert.deepEqual([status, owner], ["completed", undefined]);
  assert.deepEqual(lab.bodies.map((b) => b.vertexId), ["a", "b"]);
  assert.equal(worker.active, 0);
  await lab.end();
});

test("what is submitted in the process of the worker is taken at once, without a polling period (W1)", async () => {
  const lab = new WorkerLab();
  const { runner } = await lab.serve(chainOf("a"));
  await lab.pass(100);
  await runner.submit(notes(), { runId: "r" });
  await lab.clock.settle();
  assert.equal((await runner.status("r")).status, "completed");
  await lab.end();
});

test("an answer, from whatever process, and a timer wake a run, which then goes on (W1, SRV-02)", async () => {
  const lab = new WorkerLab();
  const { runner } = await lab.serve(asking);
  const other = lab.process(asking);
  await other.runner.submit(notes(), { runId: "r" });
  await lab.pass("2s");
  assert.equal((await runner.status("r")).status, "interrupted");
  const { rows: [wait] } = await other.runner.waits({ runId: "r" });
  await other.runner.answer("r", wait!.waitId, { by: "me" });
  await lab.pass("2s");
  assert.equal((await runner.status("r")).status, "completed");

  const sleepy = graphOf({ id: "s", vertices: { s: { run: (_, ctx) => ctx.sleep("nap", "2h") } } });
  const third = await lab.serve(sleepy);
  await third.runner.submit(notes(), { runId: "nap" });
  await lab.pass("1h");
  assert.equal((await third.runner.status("nap")).reason, "sleeping");
  const before = lab.clock.now();
  await lab.pass("1h");
  const { status, completedAt } = await third.runner.status("nap");
  assert.equal(status, "completed");
  assert.equal(completedAt, before + 3_600_000, "at its time, not at the next poll after it");
  await lab.end();
});

test("at most so many runs are at work at once, and the others follow (W1)", async () => {
  const lab = new WorkerLab();
  const gates = new Map<string, ReturnType<typeof gate<void>>>();
  const graph = graphOf({
    vertices: {
      v: {
        run: (_, ctx) => {
          const open = gate();
          gates.set(ctx.runId, open);
          return open.promise;
        },
      },
    },
  });
  const { runner, worker } = await lab.serve(graph, { concurrency: 3 });
  for (let i = 0; i < 8; i++) await runner.submit(notes(), { runId: `r${i}` });
  await lab.pass("3s");
  assert.equal(gates.size, 3);
  assert.equal(worker.active, 3);
  assert.equal((await runner.list({ status: "running" })).rows.length, 8);
  const done = new Set<string>();
  while (done.size < 8) {
    for (const [id, open] of gates) {
      if (!done.has(id)) open.open();
      done.add(id);
    }
    await lab.pass("2s");
    assert.ok(gates.size - done.size <= 3, `${gates.size - done.size} at once`);
  }
  assert.equal((await runner.list({ status: "completed" })).rows.length, 8);
  await lab.end();
});

test("a run whose body comes back after its release waits for a place of the worker, as whatever is due does (T9, W1)", async () => {
  const lab = new WorkerLab();
  const [back, work] = [gate(), gate()];
  const ran: string[] = [];
  const graph = graphOf({
    vertices: {
      v: {
        waits: [Go],
        run: async (_, ctx) => {
          ran.push(ctx.runId);
          await (ctx.runId === "r" ? Promise.race([ctx.waitFor(Go), back.promise]) : work.promise);
        },
      },
    },
  });
  const { runner, worker } = await lab.serve(graph, { concurrency: 1 });
  await runner.submit(notes(), { runId: "r" });
  await lab.pass("2s");
  assert.equal((await runner.status("r")).reason, "awaiting");
  await runner.submit(notes(), { runId: "busy" });
  await lab.pass("2s");
  assert.equal(worker.active, 1);
  back.open();
  await lab.pass("1m");
  assert.deepEqual(ran, ["r", "busy"], "the only place is taken");
  assert.equal((await lab.store.wakes(lab.clock.now(), 10)).length, 1, "it is due");
  work.open();
  await lab.pass("2s");
  assert.deepEqual(ran, ["r", "busy", "r"]);
  for (const runId of ["r", "busy"]) assert.equal((await runner.status(runId)).status, "completed");
  assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
  await lab.end();
});

test("a run whose body comes back in the process of the worker goes on at once, without a polling period (T9, W1)", async () => {
  const lab = new WorkerLab();
  const back = gate();
  const graph = graphOf({
    vertices: { v: { waits: [Go], run: (_, ctx) => Promise.race([ctx.waitFor(Go), back.promise]) } },
  });
  const { runner } = await lab.serve(graph);
  await runner.submit(notes(), { runId: "r" });
  await lab.pass("2s");
  assert.equal((await runner.status("r")).reason, "awaiting");
  back.open();
  await lab.clock.settle();
  assert.equal((await runner.status("r")).status, "completed");
  await lab.end();
});

test("a run of another version is left alone, however much of it is due, for a worker that has it (W1, H3, SRV-04, HND-14)", async () => {
  const lab = new WorkerLab();
  // Runs that have not begun move to a later version by themselves, but none to an earlier one.
  const old = graphOf({ version: 2, vertices: { v: {} } });
  const next = graphOf({ version: 1, vertices: { v: {} } });
  const submitter = lab.process(old);
  for (let i = 0; i < 250; i++) await submitter.runner.submit(notes(), { runId: `old${i}` });
  const newer = await lab.serve(next);
  await lab.pass("1s");
  await newer.runner.submit(notes(), { runId: "new" });
  await lab.pass("5s");
  assert.equal((await newer.runner.status("new")).status, "completed");
  assert.deepEqual(lab.bodies.length, 1);
  assert.equal((await newer.runner.status("old0")).revision, 0, "nothing was written to it");
  const older = await lab.serve(old);
  await lab.pass("20s");
  assert.equal((await older.runner.list({ status: "completed" })).rows.length, 100, "the first page of them");
  assert.equal(lab.bodies.length, 251);
  await lab.end();
});

test("several workers share the runs, each of which runs once (W1)", async () => {
  const lab = new WorkerLab();
  const graph = chainOf("a", "b", "c");
  const workers = [];
  for (let i = 0; i < 4; i++) workers.push(await lab.serve(graph, { concurrency: 2 }));
  const submitter = lab.process(graph);
  for (let i = 0; i < 60; i++) await submitter.runner.submit(notes(), { runId: `r${i}` });
  await lab.pass("20s");
  assert.equal((await submitter.runner.list({ status: "completed", limit: 1000 })).rows.length, 60);
  assert.equal(lab.bodies.length, 180);
  assert.deepEqual(workers.flatMap((w) => w.log), []);
  await lab.end();
});

test("an idle worker reads the store about once a polling period, and a busy one does not spin (W1)", async () => {
  const lab = new WorkerLab();
  let reads = 0;
  const counting = new Proxy(lab.store, {
    get: (store, key) => {
      if (key === "wakes") reads++;
      const value: unknown = Reflect.get(store, key);
      return typeof value === "function" ? value.bind(store) : value;
    },
  });
  const open = gate();
  const graph = graphOf({ vertices: { v: { run: () => open.promise } } });
  const { runner } = await lab.serve(graph, { engine: { store: counting } });
  await lab.pass("100s");
  assert.ok(reads >= 75 && reads <= 140, `${reads} reads in 100 s of nothing`);
  await runner.submit(notes(), { runId: "r" });
  reads = 0;
  await lab.pass("100s");
  assert.ok(reads <= 140, `${reads} reads in 100 s of work`);
  open.open();
  await lab.end();
});

test("a worker that stops takes nothing more, gives its runs the grace, aborts them and lets them go (SRV-12, SRV-17, E11)", async () => {
  const lab = new WorkerLab();
  const seen: string[] = [];
  const open = gate();
  const graph = graphOf({
    vertices: {
      quick: { run: () => lab.clock.sleep("2s"), to: "slow" },
      slow: {
        run: (_, ctx) => {
          ctx.signal.addEventListener("abort", () => seen.push(String(ctx.signal.reason.code)));
          return open.promise;
        },
      },
    },
  });
  const { runner, worker } = await lab.serve(graph, { grace: "5s" });
  await runner.submit(notes(), { runId: "r" });
  await lab.clock.settle();
  assert.equal(worker.active, 1);
  const stopping = worker.stop();
  await runner.submit(notes(), { runId: "late" });
  await lab.pass("4s");
  assert.deepEqual([worker.active, seen], [1, []], "within the grace the run goes on");
  await lab.pass("2s");
  await lab.clock.drive(stopping);
  assert.deepEqual([worker.active, seen], [0, ["RUN_ABORTED"]]);
  const { status, owner, recoveries } = await runner.status("r");
  assert.deepEqual([status, owner, recoveries], ["running", undefined, 0]);
  assert.equal((await runner.status("late")).revision, 0);
  assert.equal(lab.clock.pending, 0, "no timer is left");

  open.open();
  const heir = await lab.serve(graph);
  await lab.pass("3s");
  assert.equal((await heir.runner.status("r")).status, "completed");
  assert.equal(
    lab.bodies.filter((b) => b.vertexId === "quick").length,
    2,
    "that of the late run is one of them",
  );
  await lab.end();
});

test("a worker that stops waits for no timer: runs that only sleep, or try again later, are let go at once, and are due elsewhere (W1, O6)", async () => {
  const lab = new WorkerLab();
  const graph = graphOf({
    vertices: {
      start: { to: ["nap", "again"] },
      nap: { run: (_input, ctx) => ctx.sleep("nap", "20s") },
      again: {
        retry: { maxAttempts: 2, backoff: { initial: "25s" } },
        run: (_input, ctx) => ctx.attempt === 1 ? Promise.reject(new Error("later")) : undefined,
      },
    },
    finish: ["nap", "again"],
  });
  const { runner, worker } = await lab.serve(graph, { grace: "5s" });
  const { runId } = await runner.submit(notes());
  await lab.pass("1s");
  assert.equal((await runner.status(runId)).status, "running", "near timers are awaited in the process");
  const before = lab.clock.now();
  await lab.clock.drive(worker.stop());
  assert.equal(lab.clock.now(), before, "no time went by");
  const { status, reason, owner, recoveries } = await runner.status(runId);
  assert.deepEqual([status, reason, owner, recoveries], ["interrupted", "sleeping", undefined, 0]);

  await lab.serve(graph);
  await lab.pass("30s");
  assert.equal((await runner.status(runId)).status, "completed");
  const begun = (id: string) => lab.bodies.filter((body) => body.vertexId === id).length;
  assert.deepEqual([begun("start"), begun("nap"), begun("again")], [1, 2, 2]);
  await lab.end();
});

test("a signal that aborts, an asynchronous disposal and a second stop all stop a worker, and leave no listener (W1)", async () => {
  const lab = new WorkerLab();
  const forever = graphOf({ vertices: { v: { run: () => new Promise(() => {}) } } });
  const leave = new AbortController();
  let listeners = 0;
  const { signal } = leave;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  Object.assign(signal, {
    addEventListener: (...args: Parameters<typeof add>) => (listeners++, add(...args)),
    removeEventListener: (...args: Parameters<typeof remove>) => (listeners--, remove(...args)),
  });
  const first = await lab.serve(forever, { signal, grace: "1h" });
  await first.runner.submit(notes(), { runId: "r" });
  await lab.clock.settle();
  leave.abort();
  await lab.pass("1m");
  assert.equal(first.worker.active, 1);
  void first.worker.stop(0);
  await lab.clock.drive(first.worker.stopped);
  assert.equal(listeners, 0);

  const second = await lab.serve(forever, { grace: 0 });
  await lab.clock.drive(second.worker[Symbol.asyncDispose]());
  assert.equal(lab.clock.pending, 0);
});

test("recover finds what is due behind a thousand runs of graphs that it does not know (O2, W1)", async () => {
  const lab = new WorkerLab();
  const foreign = lab.process(graphOf({ id: "foreign", vertices: { v: {} } }));
  for (let i = 0; i < 1_000; i++) await foreign.runner.submit(notes(), { runId: `a${i}` });
  const { runner } = lab.process(chainOf("a"));
  await runner.submit(notes(), { runId: "z" });
  const handles = await runner.recover();
  assert.deepEqual(handles.map((handle) => handle.runId), ["z"]);
  assert.equal((await lab.clock.drive(handles[0]!.result())).status, "completed");
});

test("workflows are compiled on the store as `compile` says, and hooks see every run that the worker works on (W1, D10)", async () => {
  const clock = new VirtualClock();
  const store = memoryStore();
  @Graph({ id: "classes" })
  class Classes extends Workflow(z.object({ said: z.string().default("") })) {}
  @Vertex({
    graph: Classes,
    id: "say",
    entry: true,
    finish: true,
    select: () => 0,
    reduce: (s, said: string) => {
      s.said = said;
    },
  })
  class Say {
    constructor(readonly words: string = "by default") {}
    execute(_: number): string {
      return this.words;
    }
  }
  const seen: string[] = [];
  const worker = await serve({
    store,
    workflows: [Classes],
    compile: { provide: (cls) => cls === Say ? new Say("as provided") : new cls() },
    hooks: { runFinish: (event) => void seen.push(event.run.runId) },
    runtime: clock,
  });
  const runner = compile(Classes, { store, runtime: clock });
  await runner.submit({}, { runId: "r" });
  await clock.advance("2s");
  assert.equal((await runner.get("r")).state.said, "as provided");
  assert.deepEqual(seen, ["r"]);
  await clock.drive(worker.stop());
});

test("a run that stays due although there is nothing to do with it is looked at once a polling period, not in a loop (W1)", async () => {
  const lab = new WorkerLab();
  const { runner } = lab.process(chainOf("a"));
  await runner.submit(notes(), { runId: "r" });
  let claims = 0;
  const stubborn = {
    graph: runner.graph,
    store: runner.store,
    status: (runId: string) => runner.status(runId),
    submit: () => Promise.reject(new Error("not here")),
    claim: () => {
      claims++;
      return Promise.resolve(undefined);
    },
  };
  const worker = await serve({ runners: [stubborn], runtime: lab.clock });
  await lab.pass("60s");
  assert.ok(claims >= 30 && claims <= 80, `${claims} claims in a minute`);
  await lab.clock.drive(worker.stop());
});

test("a runner among the workflows is refused in words that say where it belongs (FT-F13)", async () => {
  const store = memoryStore();
  const runner = compile(asking, { store });
  await assert.rejects(
    serve({ store, workflows: [runner as never] }),
    { code: "ARGUMENT", message: /workflows\[0\] is a runner; give it as `runners: \[runner\]`/ },
  );
});
