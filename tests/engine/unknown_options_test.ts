import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResumeOptions } from "../../mod.ts";
import { engine, graphOf, notes } from "../support/graphs.ts";

/** What only someone without a compiler can write. */
const untyped = <T>(value: unknown) => value as T;

test("13: an option that nobody reads is refused with the one that was meant, and nothing is written", async () => {
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
