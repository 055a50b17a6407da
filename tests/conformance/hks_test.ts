// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hooks, RunEvent, Store } from "../../mod.ts";
import { StoreError } from "../../mod.ts";
import { EVENTS, gate, INPUT, Lab, recorder, type Spec } from "../waits/lab.ts";

const CHAIN: Readonly<Record<string, Spec>> = {
  a: { body: () => 0, to: "b" },
  b: { body: () => 0, to: "c" },
  c: { body: () => 0 },
};
const ASKING: Spec = { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt() };

type Of<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>;

const all = <T extends RunEvent["type"]>(events: readonly RunEvent[], type: T): Of<T>[] =>
  events.filter((e): e is Of<T> => e.type === type);

/** Which event, of which vertex, and at which revision. */
const short = (e: RunEvent): string =>
  e.type === "checkpoint" ? `checkpoint ${e.revision}` : "vertexId" in e ? `${e.type} ${e.vertexId}` : e.type;

test("a chain of three tells of its start and end once, of each vertex twice, of every checkpoint once (HKS-01)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const runner = lab.engine(lab.graph(CHAIN), { hooks });
  const { run } = await lab.drive(runner.run(INPUT));
  assert.deepEqual(all(events, "runStart").map((e) => e.run.status), ["running"]);
  assert.deepEqual(all(events, "runFinish").map((e) => e.run.status), ["completed"]);
  assert.deepEqual(all(events, "vertexStart").map((e) => e.vertexId), ["a", "b", "c"]);
  assert.deepEqual(all(events, "vertexFinish").map((e) => e.vertexId), ["a", "b", "c"]);
  const revisions = (await runner.history(run.runId)).rows.map((h) => h.revision);
  assert.deepEqual(all(events, "checkpoint").map((e) => e.revision), revisions);
});

test("the start of a vertex has its time and ids; its end the same ids, the status, both times and the last attempt (HKS-02, HKS-03)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  let vertexRunId = "";
  const began = lab.clock.now();
  const runner = lab.engine(
    lab.graph({
      a: {
        retry: { maxAttempts: 2, backoff: { initial: "2s" } },
        body: (ctx) => {
          vertexRunId = ctx.vertexRunId;
          if (ctx.attempt === 1) throw new Error("again");
          return 0;
        },
      },
    }),
    { hooks },
  );
  const { run } = await lab.drive(runner.run(INPUT));
  const { type: _, ...start } = all(events, "vertexStart")[0]!;
  const ids = { runId: run.runId, vertexId: "a", vertexRunId, step: 0 };
  assert.deepEqual({ ...start }, { ...ids, attempt: 1, startedAt: began });
  const [finish, ...more] = all(events, "vertexFinish");
  assert.equal(more.length, 0);
  const { type: __, ...end } = finish!;
  const endedAt = began + 2_000;
  assert.deepEqual({ ...end }, { ...ids, status: "done", attempt: 2, startedAt: endedAt, endedAt });
  const [failed] = all(events, "attemptFailed");
  assert.deepEqual([failed?.attempt, failed?.failure.message, failed?.nextAt], [1, "again", endedAt]);
});

test("several sets of hooks are all told, in the order of registration, the run's own last (HKS-04)", async () => {
  const lab = new Lab();
  const order: string[] = [];
  const set = (name: string): Hooks => ({ runStart: () => void order.push(name) });
  const runner = lab.engine(lab.graph(CHAIN), { hooks: [set("first"), set("second")] });
  await lab.drive(runner.run(INPUT, { hooks: set("own") }));
  assert.deepEqual(order, ["first", "second", "own"]);
});

test("an empty set and a set of one are told what they ask for (HKS-05)", async () => {
  const lab = new Lab();
  let steps = 0;
  const runner = lab.engine(lab.graph(CHAIN), { hooks: [{}, { step: () => void steps++ }, {}] });
  assert.equal((await lab.drive(runner.run(INPUT))).status, "completed");
  assert.equal(steps, 3);
});

for (const type of EVENTS) {
  for (const how of ["throws", "rejects"] as const) {
    test(`a hook on ${type} that ${how} changes nothing, is logged, and the next set is told (HKS-06)`, async () => {
      const graph = (lab: Lab) =>
        lab.graph({
          v: { body: () => 0, to: "a" },
          a: {
            body: (ctx) => {
              ctx.emit("hello");
              if (ctx.attempt === 1) throw new Error("again");
              return ctx.answer()?.value ?? ctx.interrupt();
            },
            retry: { maxAttempts: 2 },
            route: { targets: ["end"], pick: () => Promise.reject(1) as never },
          },
          end: { body: () => 0 },
        });
      const lab = new Lab();
      let faults = 0;
      const fault = how === "throws"
        ? () => {
          faults++;
          throw new Error("hook");
        }
        : () => {
          faults++;
          return Promise.reject(new Error("hook"));
        };
      const { hooks, events } = recorder();
      const runner = lab.engine(graph(lab), { hooks: [{ [type]: fault }, hooks] });
      const { run } = await lab.drive(runner.run(INPUT));
      const result = await lab.drive(runner.resume(run.runId, { payload: 1 }));
      assert.deepEqual([result.status, result.state.out.a], ["interrupted", 1]);
      assert.equal("reason" in result && result.reason, "halted");
      assert.ok(faults > 0);
      assert.equal(all(events, type).length, faults);
      await lab.clock.settle();
      assert.equal(lab.warnings.filter((w) => w.includes(type)).length, faults);
    });
  }
}

test("the checkpoint of revision 0 is told first, then the start of the run (HKS-08)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  await lab.drive(lab.engine(lab.graph(CHAIN), { hooks }).run(INPUT));
  assert.deepEqual(events.slice(0, 3).map(short), ["checkpoint 0", "runStart", "vertexStart a"]);
});

test("siblings start in ascending id; of each record first the checkpoint, then vertex by vertex the end and its wait (HKS-09, HKS-10)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const graph = lab.graph({
    v: { body: () => 0, to: ["c", "b", "a"] },
    a: ASKING,
    b: { body: () => 0 },
    c: ASKING,
  });
  await lab.drive(lab.engine(graph, { hooks }).run(INPUT));
  const told = events.map(short);
  const from = told.indexOf("vertexStart a");
  assert.deepEqual(told.slice(from, from + 3), ["vertexStart a", "vertexStart b", "vertexStart c"]);
  const rest = told.slice(from + 3);
  assert.match(rest[0]!, /^checkpoint/);
  assert.deepEqual(rest.filter((e) => !e.startsWith("checkpoint")), [
    "vertexFinish a",
    "wait a",
    "vertexFinish b",
    "vertexFinish c",
    "wait c",
    "runFinish",
  ]);
});

test("a halt is told after the checkpoint that holds it; no edge and no step of the halted step are told (HKS-12)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const pick = () => {
    throw new Error("no way");
  };
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { body: () => 0, to: "end" },
    b: { body: () => 0, route: { targets: ["end"], pick } },
    end: { body: () => 0 },
  });
  const { run } = await lab.drive(lab.engine(graph, { hooks }).run(INPUT));
  const told = events.map(short);
  const last = told.lastIndexOf(`checkpoint ${run.revision}`);
  assert.deepEqual(told.slice(last), [
    `checkpoint ${run.revision}`,
    "vertexFinish a",
    "vertexFinish b",
    "halt",
    "runFinish",
  ]);
  assert.equal(all(events, "step").length, 1);
  assert.deepEqual(all(events, "halt").map((e) => [e.halt.kind, e.halt.vertexId]), [["condition", "b"]]);
});

test("a resume tells of no start of the run, of the vertices that run again only, and of the end once (HKS-13)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const graph = lab.graph({ v: { body: () => 0, to: ["a", "b"] }, a: ASKING, b: { body: () => 0 } });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  await lab.drive(lab.elsewhere(graph, { hooks }).resume(run.runId, { payload: 1 }));
  assert.deepEqual(events.map(short).filter((e) => !e.startsWith("checkpoint")), [
    "answer a",
    "vertexStart a",
    "vertexFinish a",
    "step",
    "runFinish",
  ]);
  assert.deepEqual(all(events, "runFinish").map((e) => e.run.status), ["completed"]);
});

test("a run that is interrupted tells of its end, once each time, with the reason (HKS-14)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const runner = lab.engine(lab.graph({ a: ASKING }), { hooks });
  const { run } = await lab.drive(runner.run(INPUT));
  assert.deepEqual(all(events, "runFinish").map((e) => [e.run.status, e.run.reason]), [
    ["interrupted", "awaiting"],
  ]);
  await lab.drive(runner.resume(run.runId, { payload: 1 }));
  assert.deepEqual(all(events, "runFinish").map((e) => e.run.status), ["interrupted", "completed"]);
});

test("a run that its deadline cancels tells of its end once, as cancelled (HKS-15)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const runner = lab.engine(lab.graph({ a: { body: () => gate().promise } }), { hooks });
  const result = await lab.drive(runner.run(INPUT, { deadline: "5s" }));
  assert.equal(result.status, "cancelled");
  assert.deepEqual(all(events, "runFinish").map((e) => [e.run.status, e.run.cancelReason]), [
    ["cancelled", "deadline"],
  ]);
});

test("what could not be appended is told to nobody: no checkpoint, no outcome, no end; the status stays (HKS-18, HKS-23)", async () => {
  for (const deadline of [undefined, "5s"] as const) {
    const lab = new Lab();
    const { hooks, events } = recorder();
    const store: Store = {
      ...lab.store,
      append: (runId, at, entry, options) =>
        at === 1
          ? Promise.reject(new StoreError("append", "the disk is gone"))
          : lab.store.append(runId, at, entry, options),
    };
    const body = () => deadline === undefined ? 0 : gate().promise;
    const runner = lab.engine(lab.graph({ a: { body } }), { hooks, store });
    const options = deadline === undefined ? {} : { deadline };
    await lab.fails(runner.run(INPUT, { runId: "r", ...options }), "StoreError");
    assert.deepEqual(events.map(short), ["checkpoint 0", "runStart", "vertexStart a"]);
    assert.equal((await runner.status("r")).status, "running");
  }
});

test("a step names all its vertices, also those that a resume did not run again (HKS-19)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const graph = lab.graph({ v: { body: () => 0, to: ["a", "b"] }, a: ASKING, b: { body: () => 0 } });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  await lab.drive(lab.elsewhere(graph, { hooks }).resume(run.runId, { payload: 1 }));
  assert.deepEqual(all(events, "step").map((e) => [e.step, e.vertices]), [[1, ["a", "b"]]]);
});

test("edges and step of a record carry the run as of that record; with the last one it is completed already (HKS-20)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const { run } = await lab.drive(lab.engine(lab.graph(CHAIN), { hooks }).run(INPUT));
  const steps = all(events, "step");
  assert.deepEqual(steps.map((e) => e.run.status), ["running", "running", "completed"]);
  assert.equal(steps.at(-1)!.run.revision, run.revision);
  const edges = all(events, "edge");
  assert.deepEqual(edges.map((e) => [e.route.from, e.route.to, e.run.revision]), [
    ["a", "b", steps[0]!.run.revision],
    ["b", "c", steps[1]!.run.revision],
  ]);
});

test("a hook is called in the loop, before the next body begins, and what it returns is not awaited (HKS-21)", async () => {
  const lab = new Lab();
  const order: string[] = [];
  const graph = lab.graph({
    a: { body: () => void order.push("a"), to: "b" },
    b: { body: () => void order.push("b") },
  });
  const hooks: Hooks = {
    step: (e) => {
      order.push(`step ${e.step}`);
      return new Promise<void>(() => {}) as never;
    },
  };
  assert.equal((await lab.drive(lab.engine(graph, { hooks }).run(INPUT))).status, "completed");
  assert.deepEqual(order, ["a", "step 0", "b", "step 1"]);
});

test("a checkpoint is told with run, revision and step once the store has it (HKS-23)", async () => {
  const lab = new Lab();
  const heads: Promise<number>[] = [];
  const { hooks, events } = recorder();
  const look: Hooks = {
    checkpoint: (e) => void heads.push(lab.store.tail(e.runId).then((tail) => tail!.position.revision)),
  };
  const runner = lab.engine(lab.graph(CHAIN), { hooks: [hooks, look] });
  const { run } = await lab.drive(runner.run(INPUT));
  const told = all(events, "checkpoint");
  assert.deepEqual(
    (await Promise.all(heads)).map((head, i) => head >= told[i]!.revision),
    told.map(() => true),
  );
  const { rows: history } = await runner.history(run.runId);
  assert.deepEqual(
    told.map((e) => [e.runId, e.revision, e.step]),
    history.map((h) => [run.runId, h.revision, h.step]),
  );
});

test("with a checkpoint every step the end of a vertex is told with the record that makes it durable (HKS-24)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const slow = gate<number>();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { body: () => 0 },
    b: { body: () => slow.promise },
  });
  const handle = await lab.engine(graph, { hooks }).start(INPUT, { checkpointEvery: "step" });
  await lab.clock.settle();
  assert.deepEqual(all(events, "vertexFinish").map((e) => e.vertexId), ["v"]);
  slow.open(1);
  await lab.drive(handle.result());
  assert.deepEqual(all(events, "vertexFinish").map((e) => e.vertexId), ["v", "a", "b"]);
});
