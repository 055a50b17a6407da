// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ArgumentError, MaxStepsExceededError } from "../../src/errors.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { completed, engine, gate, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";

/** A ⇄ B for ever, or until `rounds` vertices have run; every third step pauses when `pausing`. */
function cycle(options: { readonly pausing?: boolean; readonly rounds?: number } = {}) {
  const steps: number[] = [];
  const { pausing = false, rounds = Infinity } = options;
  const body = (to: string) => ({
    run: (_input: unknown, ctx: TaskContext) => {
      if (pausing && ctx.step % 3 === 2 && ctx.answer() === undefined) return ctx.interrupt();
      steps.push(ctx.step);
    },
    targets: [to, "fin"],
    pick: (s: Readonly<Notes>) => s.log.length >= rounds ? "fin" : to,
  });
  return { graph: graphOf<Notes>({ vertices: { a: body("b"), b: body("a"), fin: {} } }), steps };
}

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);

for (const n of [1, 2, 10]) {
  test(`a budget of ${n} runs exactly ${n} steps and halts; a larger one goes on with step ${n} (E9, FC-23)`, async () => {
    const { graph, steps } = cycle();
    const e = engine(graph);
    const result = interrupted(await e.run(notes(), { maxSteps: n }), "halted");
    assert.deepEqual(steps, upTo(n));
    const { halt, run } = result;
    assert.deepEqual([halt?.kind, halt?.step, run.step, run.maxSteps], ["max_steps", n, n - 1, n]);
    assert.ok(halt?.error instanceof MaxStepsExceededError);
    assert.equal(result.state.log.length, n);
    const more = interrupted(await e.restart().resume(run.runId, { maxSteps: n + 3 }), "halted");
    assert.deepEqual([steps, more.state.log.length], [upTo(n + 3), n + 3]);
    const same = interrupted(await e.restart().resume(run.runId), "halted");
    assert.deepEqual([steps.length, same.run.maxSteps], [n + 3, n + 3]);
  });

  test(`a budget of ${n} is the same with a pause every third step and a restart at each (E9, FC-23)`, async () => {
    const { graph, steps } = cycle({ pausing: true });
    let e = engine(graph);
    let result = await e.run(notes(), { maxSteps: n });
    let pauses = 0;
    while (result.status === "interrupted" && result.reason === "awaiting") {
      pauses += 1;
      e.kill();
      e = e.restart();
      result = await e.resume(result.run.runId, { payload: 1 });
    }
    const { halt, state } = interrupted(result, "halted");
    assert.deepEqual([halt?.kind, halt?.step, pauses], ["max_steps", n, Math.floor(n / 3)]);
    assert.deepEqual([steps, state.log.length], [upTo(n), n]);
  });
}

test("a step that a crash interrupts has the same number when it is run again, and the next one follows (E9)", async () => {
  const steps: number[] = [];
  let held = gate();
  const graph = graphOf<Notes>({
    vertices: {
      a: {
        run: async (_input, ctx) => {
          steps.push(ctx.step);
          await held.promise;
        },
        targets: ["a", "f"],
        pick: (s) => s.log.length < 3 ? "a" : "f",
      },
      f: { run: (_input, ctx) => void steps.push(ctx.step) },
    },
  });
  let e = engine(graph);
  const { runId } = await e.runner.start(notes());
  for (let i = 0; i < 3; i++) {
    await e.clock.settle();
    e.kill();
    e = e.restart();
    const old = held;
    held = gate();
    const running = e.resume(runId, { takeover: true });
    running.catch(() => {});
    await e.clock.settle();
    held.open();
    old.open();
    held = gate();
    if (i === 2) held.open();
    await e.clock.settle();
  }
  assert.deepEqual(steps, [0, 0, 1, 1, 2, 2, 3]);
  const { run } = completed(await e.runner.get(runId) as never);
  assert.equal(run.step, 3);
});

test("a run that ends within its budget is not halted by it (E9)", async () => {
  const { graph } = cycle({ rounds: 4 });
  const { run } = completed(await engine(graph).run(notes(), { maxSteps: 5 }));
  assert.equal(run.step, 4);
  interrupted(await engine(cycle({ rounds: 4 }).graph).run(notes(), { maxSteps: 4 }), "halted");
});

test("the default budget is 10000 steps, and a budget that is none is refused (E9)", async () => {
  const { graph } = cycle({ rounds: 2 });
  const e = engine(graph);
  assert.equal(completed(await e.run(notes())).run.maxSteps, 10_000);
  const { run } = interrupted(await e.run(notes(), { maxSteps: 1 }), "halted");
  for (const maxSteps of [0, -1, 1.5, NaN, Infinity]) {
    await assert.rejects(e.runner.start(notes(), { maxSteps }), ArgumentError, String(maxSteps));
    await assert.rejects(e.runner.resume(run.runId, { maxSteps }), ArgumentError, String(maxSteps));
  }
  assert.equal((await e.runner.status(run.runId)).revision, run.revision);
});
