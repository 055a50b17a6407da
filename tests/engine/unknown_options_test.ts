// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResumeOptions } from "../../mod.ts";
import { engine, graphOf, notes } from "../support/graphs.ts";

/** What only someone without a compiler can write. */
const untyped = <T>(value: unknown) => value as T;

test("an option that nobody reads is refused with the one that was meant, and nothing is written (SPEC 13)", async () => {
  const e = engine(graphOf({ vertices: { start: {} }, finish: ["start"] }));
  const { runner } = e;
  for (
    const [call, message] of [
      [
        () => runner.run(notes(), untyped({ runID: "r" })),
        /start: there is no option "runID"; did you mean "runId"\?/,
      ],
      [() => runner.start(notes(), untyped({ tag: "t" })), /did you mean "tags"\?/],
      [() => runner.submit(notes(), untyped({ runid: "r" })), /submit: .* did you mean "runId"\?/],
      [() => runner.submit(notes(), untyped({ concurrency: 2 })), /option of the worker that takes the run/],
      [
        () => runner.resume("r", untyped<ResumeOptions>({ answer: {} })),
        /resume: .* did you mean "answers"\?/,
      ],
      [() => runner.recover(untyped({ hook: {} })), /recover: .* did you mean "hooks"\?/],
      [() => runner.fork("r", 0, untyped({ stat: {} })), /fork: .* did you mean "state"\?/],
      [() => runner.list(untyped({ statuss: "running" })), /list: .* did you mean "status"\?/],
      [() => runner.purge(untyped({ olderThn: "1d" })), /purge: .* did you mean "olderThan"\?/],
    ] as const
  ) {
    await assert.rejects(call, (error: Error & { code?: string }) => {
      assert.equal(error.code, "ARGUMENT");
      assert.match(error.message, message);
      return true;
    });
  }
  assert.deepEqual((await runner.list()).rows, []);
});

test("a value that an option cannot have is refused with those that it can, and nothing is written (FT-D10)", async () => {
  const e = engine(graphOf({ vertices: { start: {} }, finish: ["start"] }));
  const { runner } = e;
  const calls: readonly (readonly [() => Promise<unknown>, RegExp])[] = [
    [
      () => runner.run(notes(), untyped({ checkpointEvery: "never" })),
      /start: checkpointEvery is "never"; give "vertex" or "step"$/,
    ],
    [
      () => runner.resume("r", untyped<ResumeOptions>({ checkpointEvery: null })),
      /resume: checkpointEvery is object;/,
    ],
    [() => runner.recover(untyped({ checkpointEvery: "Step" })), /recover: checkpointEvery is "Step";/],
    [
      () => runner.resume("r", untyped<ResumeOptions>({ takeover: "no" })),
      /takeover is "no"; give true or false$/,
    ],
    [() => runner.resume("r", untyped<ResumeOptions>({ payload: 1, all: 0 })), /all is number;/],
    [() => runner.purge(untyped({ force: "false" })), /force is "false";/],
    [() => runner.purge(untyped({ status: "done" })), /status is "done"; give "running", .* or "cancelled"$/],
    [() => runner.list(untyped({ reason: "failed" })), /reason is "failed"; give "halted", /],
  ];
  for (const [call, message] of calls) {
    await assert.rejects(call, (error: Error & { code?: string }) => {
      assert.equal(error.code, "ARGUMENT");
      assert.match(error.message, message);
      return true;
    });
  }
  assert.deepEqual((await runner.list({ status: undefined } as never)).rows, []);
  for (const checkpointEvery of ["vertex", "step", undefined] as const) {
    await e.run(notes(), untyped({ checkpointEvery }));
  }
  assert.equal((await runner.list({ status: "completed" })).rows.length, 3);
});
