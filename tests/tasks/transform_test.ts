// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FatalError } from "superstep";
import { z } from "zod";
import { Transform } from "../../tasks/transform.ts";

test("Transform computes its output, from and to what its schemas make of it", () => {
  assert.equal(new Transform((n: number) => n + 1).execute(1), 2);
  const trimmed = new Transform((s: string) => ({ s }), {
    input: z.string().trim(),
    output: z.object({ s: z.string(), n: z.number().default(3) }) as z.ZodType<{ s: string }>,
  });
  assert.deepEqual(trimmed.execute("  a "), { s: "a", n: 3 });
});

const FAULTS: Readonly<Record<string, readonly [() => unknown, RegExp]>> = {
  "a refused input": [
    () =>
      new Transform((n: { n: number }) => n, { input: z.object({ n: z.number() }) }).execute({
        n: "1" as never,
      }),
    /the input of the transformation is refused: n: /,
  ],
  "a refused output": [
    () => new Transform((n: number) => n, { output: z.number().positive() }).execute(-1),
    /the output of the transformation is refused: /,
  ],
  "a fault of its own": [
    () =>
      new Transform(() => {
        throw new TypeError("broken");
      }).execute(0),
    /the transformation failed: broken/,
  ],
  "a fatal error of its own": [
    () =>
      new Transform(() => {
        throw new FatalError("told so");
      }).execute(0),
    /^told so$/,
  ],
  "a promise": [() => new Transform(() => Promise.reject(new Error("late"))).execute(0), /promise/],
  "an asynchronous schema": [
    () =>
      new Transform((n: number) => n, { input: z.number().refine(() => Promise.resolve(true)) }).execute(0),
    /async/i,
  ],
};

for (const [what, [run, message]] of Object.entries(FAULTS)) {
  test(`Transform: ${what} is fatal, for another attempt would come to the same`, () => {
    assert.throws(run, (error) => error instanceof FatalError && message.test(error.message));
  });
}

test("Transform tells what was refused as data", () => {
  const transform = new Transform((x: unknown) => x, {
    input: z.object({ a: z.object({ b: z.string() }) }) as z.ZodType<unknown>,
  });
  assert.throws(() => transform.execute({ a: { b: 1 } }), (error) => {
    assert.ok(error instanceof FatalError);
    const { issues } = error.data as { issues: readonly { path: string }[] };
    assert.deepEqual(issues.map((issue) => issue.path), ["a.b"]);
    return true;
  });
});
