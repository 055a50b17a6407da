// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConditionError, DeadEndError, MaxStepsExceededError, UndeclaredTargetError } from "../../mod.ts";
import { damage } from "../waits/damage.ts";
import { INPUT, interrupted, Lab, recorded, recorder, type Spec, type State } from "../waits/lab.ts";

/** `a` decides by `pick` between `b` and `end`. */
function deciding(lab: Lab, pick: (state: State) => unknown) {
  return lab.graph({
    a: { body: () => 0, route: { targets: ["b", "end"], pick: pick as (state: State) => string } },
    b: { body: () => 0, to: "end" },
    end: { body: () => 0 },
  });
}

/** A chain of vertices v0 … v(n-1). */
function chain(lab: Lab, n: number) {
  const entries = Array.from({ length: n }, (_, i): [string, Spec] => [
    `v${i}`,
    { body: () => i, ...(i < n - 1 ? { to: `v${i + 1}` } : {}) },
  ]);
  return lab.graph(Object.fromEntries(entries));
}

function throwing(message: string): never {
  throw new RangeError(message);
}

test("a pick that throws halts the run with its error as cause; no wait, no failure, told once, no rejection (HLT-01)", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const graph = deciding(lab, () => throwing("no idea"));
  const result = interrupted(await lab.drive(lab.engine(graph, { hooks }).run(INPUT)));
  assert.equal(result.reason, "halted");
  assert.deepEqual([result.waits, result.failures], [[], []]);
  const { halt } = result;
  assert.deepEqual([halt?.kind, halt?.vertexId, halt?.message], ["condition", "a", "no idea"]);
  assert.ok(halt?.error instanceof ConditionError);
  assert.equal(halt.error.from, "a");
  assert.ok(halt.error.cause instanceof RangeError);
  assert.equal(events.filter((e) => e.type === "halt").length, 1);
  const last = (await lab.engine(graph).history(result.run.runId)).rows.at(-1)!;
  assert.deepEqual([last.phase, last.status, last.reason], ["halted", "interrupted", "halted"]);
});

for (
  const [what, pick, text] of [
    ["throws what is no error", throwNothing, "undefined"],
    ["returns a promise", () => Promise.reject(new Error("late")), "promise"],
  ] as const
) {
  test(`a pick that ${what} halts in the same way (HLT-02)`, async () => {
    const lab = new Lab();
    const result = interrupted(await lab.drive(lab.engine(deciding(lab, pick)).run(INPUT)));
    assert.deepEqual([result.reason, result.halt?.kind], ["halted", "condition"]);
    assert.match(result.halt!.message, new RegExp(text));
  });
}

function throwNothing(): never {
  throw undefined;
}

for (const [what, picked] of [["undefined", undefined], ["an empty list", []]] as const) {
  test(`a pick that returns ${what} halts as an undeclared target, and the text says that nothing was picked (HLT-03)`, async () => {
    const lab = new Lab();
    const result = interrupted(await lab.drive(lab.engine(deciding(lab, () => picked)).run(INPUT)));
    const { halt } = result;
    assert.deepEqual([halt?.kind, halt?.vertexId, halt?.target], ["undeclared_target", "a", ""]);
    assert.ok(halt?.error instanceof UndeclaredTargetError);
    assert.match(halt.error.message, /a.*(nothing|no target|empty)/);
  });
}

for (const picked of ["a", ["end", "nowhere"], [7]] as const) {
  test(`a pick that returns the undeclared ${JSON.stringify(picked)} halts naming it and where it came from (HLT-04)`, async () => {
    const lab = new Lab();
    const result = interrupted(await lab.drive(lab.engine(deciding(lab, () => picked)).run(INPUT)));
    const { halt } = result;
    const stranger = String([picked].flat().at(-1));
    assert.deepEqual([halt?.kind, halt?.vertexId, halt?.target], ["undeclared_target", "a", stranger]);
    assert.ok(halt?.error instanceof UndeclaredTargetError);
    assert.deepEqual([halt.error.from, halt.error.target], ["a", stranger]);
    assert.equal(lab.count("end"), 0);
  });
}

function deadEnd(lab: Lab) {
  return lab.graph({
    a: { body: () => 0, route: { targets: ["b", "fin"], pick: () => "b" } },
    b: { body: () => 0, finish: false },
    fin: { body: () => 0, finish: true },
  });
}

test("a frontier that runs dry without a finish halts as a dead end, on every resume again (HLT-05, HLT-17)", async () => {
  const lab = new Lab();
  const graph = deadEnd(lab);
  const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  assert.deepEqual([result.reason, result.halt?.kind, result.halt?.step], ["halted", "dead_end", 1]);
  assert.ok(result.halt?.error instanceof DeadEndError);
  const again = interrupted(await lab.drive(lab.elsewhere(graph).resume(result.run.runId)));
  assert.deepEqual([again.halt?.kind, again.halt?.step], ["dead_end", 1]);
  assert.ok(again.run.revision > result.run.revision);
  assert.deepEqual([lab.count("a"), lab.count("b")], [1, 1]);
  const halts = (await recorded(lab.engine(graph), result.run.runId)).flat().filter((t) => t === "halted");
  assert.equal(halts.length, 2);
});

test("a cycle halts at its step budget; the halt names the step refused, and the frontier stands (HLT-06, HLT-07)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { body: () => 0, route: { targets: ["a", "end"], pick: () => "a" } },
    end: { body: () => 0 },
  });
  const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT, { maxSteps: 4 })));
  assert.deepEqual([result.halt?.kind, result.halt?.step], ["max_steps", 4]);
  assert.ok(result.halt?.error instanceof MaxStepsExceededError);
  assert.equal(result.halt.error.max, 4);
  assert.equal(lab.count("a"), 4);
  assert.deepEqual((await lab.engine(graph).history(result.run.runId)).rows.at(-1)!.frontier, ["a"]);
});

test("every other halt names the step that had just run (HLT-07)", async () => {
  for (
    const [pick, kind] of [[() => throwing("x"), "condition"], [
      () => "stranger",
      "undeclared_target",
    ]] as const
  ) {
    const lab = new Lab();
    const graph = lab.graph({
      start: { body: () => 0, to: "a" },
      a: { body: () => 0, route: { targets: ["end"], pick: pick as () => string } },
      end: { body: () => 0 },
    });
    const { halt, run } = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
    assert.deepEqual([halt?.kind, halt?.step, run.step], [kind, 1, 1]);
  }
});

test("a halt at the step budget holds the vertices that would have run, no outcome and no route (HLT-10)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { body: () => 0, to: ["b", "c"] },
    b: { body: () => 0 },
    c: { body: () => 0 },
  });
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT, { maxSteps: 1 }));
  const last = (await runner.history(run.runId)).rows.at(-1)!;
  assert.deepEqual([last.phase, last.frontier], ["halted", ["b", "c"]]);
  const about = last.events.flatMap((e) => "vertexId" in e ? [e.vertexId] : []);
  assert.ok(!about.includes("b") && !about.includes("c"));
  assert.equal(lab.count("b") + lab.count("c"), 0);
});

test("the state of a halted run is the committed one, with the outcomes of the halted step, live and stored (HLT-11)", async () => {
  const lab = new Lab();
  const graph = deciding(lab, () => throwing("x"));
  const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  assert.deepEqual(result.state, { out: { a: 0 }, log: ["a"] });
  assert.deepEqual((await lab.elsewhere(graph).get(result.run.runId)).state, result.state);
});

test("after a halt at the step budget a larger one goes on with the frontier; nothing runs twice (HLT-12)", async () => {
  const lab = new Lab();
  const graph = chain(lab, 4);
  const { run } = await lab.drive(lab.engine(graph).run(INPUT, { maxSteps: 2 }));
  const result = await lab.drive(lab.elsewhere(graph).resume(run.runId, { maxSteps: 10 }));
  assert.equal(result.status, "completed");
  assert.deepEqual(result.state.log, ["v0", "v1", "v2", "v3"]);
  assert.deepEqual([0, 1, 2, 3].map((i) => lab.count(`v${i}`)), [1, 1, 1, 1]);
});

test("with the same budget a resume halts again at once and runs nothing (HLT-13)", async () => {
  const lab = new Lab();
  const graph = chain(lab, 4);
  const first = await lab.drive(lab.engine(graph).run(INPUT, { maxSteps: 2 }));
  for (const options of [{}, { maxSteps: 2 }]) {
    const result = interrupted(await lab.drive(lab.elsewhere(graph).resume(first.run.runId, options)));
    assert.deepEqual([result.halt?.kind, result.halt?.step], ["max_steps", 2]);
  }
  assert.equal(lab.count("v2"), 0);
});

test("after a pick is mended a resume asks it again, records the routes of the same step, and runs no vertex twice (HLT-14, HLT-18)", async () => {
  const lab = new Lab();
  let picks = 0;
  const graph = deciding(lab, () => ++picks === 1 ? throwing("x") : "b");
  const halted = await lab.drive(lab.engine(graph).run(INPUT));
  const runner = lab.elsewhere(graph);
  const result = await lab.drive(runner.resume(halted.run.runId));
  assert.equal(result.status, "completed");
  assert.equal(picks, 2);
  assert.deepEqual([lab.count("a"), lab.count("b"), lab.count("end")], [1, 1, 1]);
  assert.deepEqual(result.state.log, ["a", "b", "end"], "the outcome of the halted step is reduced once");
  const routed = (await runner.history(halted.run.runId)).rows.filter((h) => h.routes.length > 0);
  assert.deepEqual(routed.map((h) => [h.step, h.routes[0]?.from, h.routes[0]?.to]), [
    [0, "a", "b"],
    [1, "b", "end"],
  ]);
});

test("the handler of a vertex that failed in a halted step runs once the step is routed again (HLT-16)", async () => {
  const lab = new Lab();
  let mended = false;
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: { body: () => throwing("broken"), onError: { route: "handler" }, to: "end" },
    b: {
      body: () => 0,
      route: { targets: ["end"], pick: () => mended ? "end" : throwing("not yet") },
    },
    handler: { body: () => 0, to: "end" },
    end: { body: () => 0 },
  });
  const halted = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  assert.deepEqual([halted.halt?.kind, lab.count("handler")], ["condition", 0]);
  mended = true;
  const result = await lab.drive(lab.elsewhere(graph).resume(halted.run.runId));
  assert.equal(result.status, "completed");
  assert.deepEqual([lab.count("a"), lab.count("handler")], [1, 1]);
});

test("a halted run read by another process has kind, step and a cause of the recorded text, and no waits (HLT-20)", async () => {
  const lab = new Lab();
  const graph = deciding(lab, () => throwing("no idea"));
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  const view = interrupted(await lab.elsewhere(graph).get(run.runId));
  assert.deepEqual([view.halt?.kind, view.halt?.step, view.halt?.message], ["condition", 0, "no idea"]);
  assert.ok(view.halt?.error instanceof ConditionError);
  assert.deepEqual(String((view.halt.error.cause as Error).message), "no idea");
  assert.ok(!(view.halt.error.cause instanceof RangeError));
  assert.deepEqual([view.waits, view.failures], [[], []]);
});

test("a halted checkpoint whose halt is missing is refused with a typed error, and its status can still be read (HLT-21)", async () => {
  const lab = new Lab();
  const graph = deciding(lab, () => throwing("x"));
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  await damage(lab.store, run.runId, { without: ["halt"] });
  const error = await lab.fails<Error & { field: string }>(runner.get(run.runId), "CheckpointDecodeError");
  assert.equal(error.field, "Phase");
  assert.equal((await runner.status(run.runId)).reason, "halted");
});

test("routing is halted only once a step is settled, so no halt stands beside a wait or a failure (HLT-22)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b", "c"] },
    a: { body: (ctx) => ctx.answer() ?? ctx.interrupt(), to: "end" },
    b: { body: () => lab.count("b") < 2 ? throwing("broken") : 0, to: "end" },
    c: { body: () => 0, route: { targets: ["end"], pick: () => throwing("no way") } },
    end: { body: () => 0 },
  });
  const runner = lab.engine(graph);
  const first = interrupted(await lab.drive(runner.run(INPUT)));
  assert.deepEqual([first.reason, first.waits.length, first.failures.length], ["errored", 1, 1]);
  assert.ok(!("halt" in first));
  const second = interrupted(await lab.drive(runner.resume(first.run.runId)));
  assert.deepEqual([second.reason, second.waits.length, "halt" in second], ["awaiting", 1, false]);
  const third = interrupted(await lab.drive(runner.resume(first.run.runId, { payload: 1 })));
  assert.deepEqual([third.reason, third.halt?.kind], ["halted", "condition"]);
  assert.deepEqual([third.waits, third.failures], [[], []]);
});
