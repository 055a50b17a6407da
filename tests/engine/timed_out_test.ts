// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskContext } from "../../src/model/context.ts";
import { completed, engine, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";

const hangs = (signal: AbortSignal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** A body whose first attempt hangs in a `once` while a timer of it fires. */
function hanging(maxAttempts: number, attempts: number[]) {
  return graphOf<Notes>({
    vertices: {
      v: {
        timeout: "5s",
        retry: { maxAttempts },
        run: async (_input: unknown, ctx: TaskContext) => {
          attempts.push(ctx.attempt);
          const nap = ctx.sleep("nap", "2s").then(() => "woken");
          const job = ctx.once("job", ({ signal }) => ctx.attempt === 1 ? hangs(signal) : "done");
          return await Promise.all([nap, job]);
        },
        reduce: (s, out) => void (s.out = out),
      },
    },
  });
}

test("a body that times out after a result of it was recorded has used up an attempt (FT-G9, O3)", async () => {
  const attempts: number[] = [];
  const e = engine(hanging(2, attempts));
  const begin = e.clock.now();
  const { run, state } = completed(await e.run(notes()));
  assert.deepEqual(state.out, ["woken", "done"]);
  const failed = await e.eventsOf(run.runId, "attempt_failed");
  assert.deepEqual(failed.map((f) => [f.failure.attempt, f.failure.phase]), [[1, "timeout"]]);
  assert.equal((await e.eventsOf(run.runId, "done")).at(-1)!.attempt, 2);
  assert.deepEqual([attempts[0], attempts.at(-1)], [1, 2]);
  assert.equal((await e.eventsOf(run.runId, "resolved")).length, 1);
  assert.equal(e.clock.now() - begin, 5_000);
});

test("a body that times out after a result of it was recorded, on its last attempt, fails for good (FT-G9, O3)", async () => {
  const attempts: number[] = [];
  const e = engine(hanging(1, attempts));
  const { failures } = interrupted(await e.run(notes()), "errored");
  assert.deepEqual([failures[0]!.failure.phase, failures[0]!.failure.attempt], ["timeout", 1]);
  assert.deepEqual(new Set(attempts), new Set([1]));
});
