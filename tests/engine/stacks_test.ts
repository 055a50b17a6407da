import assert from "node:assert/strict";
import { test } from "node:test";
import { stackOf } from "../../src/engine/stacks.ts";
import { userFrame } from "../../src/errors/user_frame.ts";
import { INPUT, interrupted, Lab } from "../waits/lab.ts";

class DownError extends Error {
  override readonly name = "DownError";
}

function askProvider(): never {
  throw new DownError("the provider is down", { cause: new TypeError("fetch failed") });
}

test("a failed attempt and a failed vertex are recorded with their stack and what caused them (SPEC 11)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ v: { retry: { maxAttempts: 2 }, body: () => askProvider() } });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  const { rows } = await lab.elsewhere(graph).history(run.runId);
  const stacks = rows.flatMap(({ events }) =>
    events.flatMap((e) => e.type === "attempt_failed" || e.type === "failed" ? [e.stack ?? ""] : [])
  );
  assert.equal(stacks.length, 2);
  for (const stack of stacks) {
    assert.match(stack, /^DownError: the provider is down\n(.*\n)*.*askProvider.*stacks_test/);
    assert.match(stack, /\nCaused by: TypeError: fetch failed\n/);
    assert.match(userFrame(stack)!, /askProvider.*stacks_test\.[jt]s:\d+:\d+/);
  }
  const [failed] = interrupted(await lab.elsewhere(graph).get(run.runId)).failures;
  assert.equal(
    (failed!.error.cause as Error).stack,
    stacks[1],
    "a process that has not seen it knows where it was",
  );
  assert.ok(!("stack" in failed!.failure), "no state depends on where code lies");
});

test("each failed attempt and vertex, and each halt, is one line of the log with the first frame of the user's code (SPEC 11)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ v: { retry: { maxAttempts: 2 }, body: () => askProvider() } });
  const { run: { runId } } = await lab.drive(lab.engine(graph).run(INPUT));
  const frame = /at askProvider .*stacks_test\.[jt]s:\d+:\d+/;
  assert.equal(lab.failures.length, 2);
  for (
    const [i, what] of [
      "attempt 1 of vertex v failed, and there is another one",
      "vertex v failed at attempt 2",
    ].entries()
  ) {
    const logged = lab.failures[i]!;
    assert.ok(
      logged.startsWith(`superstep: run ${runId}: ${what}: DownError: the provider is down at `),
      logged,
    );
    assert.match(logged, frame);
    assert.ok(!logged.includes("\n"));
  }
  const dead = lab.graph({
    v: { body: () => 0, route: { targets: ["w"], pick: () => [] } },
    w: { body: () => 0 },
  });
  const halted = await lab.drive(lab.engine(dead).run(INPUT));
  assert.equal(interrupted(halted).reason, "halted");
  assert.match(
    lab.failures.at(-1)!,
    new RegExp(`^superstep: run ${halted.run.runId} is halted at step 0 \\(`),
  );
});

test("a stack that cannot be read, or has no end, is told as far as it goes (SPEC 11, C5)", () => {
  assert.equal(stackOf("down"), undefined);
  assert.equal(stackOf(null), undefined);
  const trap = new Error("trap");
  Object.defineProperty(trap, "stack", {
    get() {
      throw new Error("no");
    },
  });
  assert.equal(stackOf(trap), undefined);
  const circle = new Error("circle");
  circle.cause = new Error("back", { cause: circle });
  assert.equal(stackOf(circle)!.match(/Caused by: /g)!.length, 1);
  const long = stackOf(new Error("x".repeat(100_000)))!;
  assert.ok(new TextEncoder().encode(long).length <= 16 * 1024);
  assert.match(long, /\[cut: \d+ bytes/);
});
