// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConditionError, UndeclaredTargetError } from "../../src/errors.ts";
import { completed, engine, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";

const boom = new Error("boom");
const raise = (): never => {
  throw boom;
};

/** A router whose answer the test can change, with its targets. */
function router(pick: () => unknown) {
  let answer = pick;
  const graph = graphOf<Notes>({
    vertices: {
      r: { targets: ["b", "c"], pick: () => answer() },
      b: { to: "d" },
      c: { to: "d" },
      d: { join: "all" },
    },
  });
  return { graph, correct: (mended: () => unknown) => void (answer = mended) };
}

const BAD: Readonly<
  Record<string, readonly [kind: "condition" | "undeclared_target", pick: () => unknown, shown: RegExp]>
> = {
  "throws": ["condition", raise, /\br\b.*boom/],
  "returns a promise that rejects": ["condition", () => Promise.reject(boom), /\br\b.*promise/],
  "returns a promise that resolves": ["condition", () => Promise.resolve("b"), /\br\b.*promise/],
  "returns an undeclared vertex": ["undeclared_target", () => "d", /\br\b.*"d".*b, c/],
  "returns a vertex that does not exist": ["undeclared_target", () => "nowhere", /\br\b.*"nowhere".*b, c/],
  "returns an empty list": ["undeclared_target", () => [], /\br\b.*empty/],
  "returns nothing": ["undeclared_target", () => undefined, /\br\b.*empty/],
  "returns null": ["undeclared_target", () => null, /\br\b.*null/],
  "returns a number": ["undeclared_target", () => 7, /\br\b.*7/],
  "returns a declared and an undeclared one": ["undeclared_target", () => ["b", "x"], /\br\b.*"x"/],
};

for (const [what, [kind, pick, shown]] of Object.entries(BAD)) {
  test(`a router that ${what} halts the run with a typed error; corrected, a resume goes on without running it again (FC-22, E8)`, async () => {
    const { graph, correct } = router(pick);
    const e = engine(graph);
    const { halt, run, state, waits, failures } = interrupted(await e.run(notes()), "halted");
    assert.deepEqual([halt?.kind, halt?.vertexId, halt?.step], [kind, "r", 0]);
    assert.ok(
      kind === "condition"
        ? halt?.error instanceof ConditionError
        : halt?.error instanceof UndeclaredTargetError,
    );
    assert.match(halt?.error.message ?? "", shown);
    assert.deepEqual([state.log, waits, failures, e.ran()], [["r"], [], [], 1]);
    const other = e.restart();
    const stored = await other.runner.get(run.runId);
    assert.equal(stored.status === "interrupted" && stored.halt?.error.message, halt?.error.message);
    interrupted(await other.resume(run.runId), "halted");
    correct(() => "b");
    const { path } = completed(await other.resume(run.runId));
    assert.deepEqual([path, e.ran("r")], [["r", "b", "d"], 1]);
  });
}

for (
  const [what, pick] of Object.entries({
    "the same vertex twice": () => ["b", "b"],
    "a list of one": () => ["b"],
  })
) {
  test(`a router that returns ${what} runs it once, and the join behind it once (FC-22)`, async () => {
    const e = engine(router(pick).graph);
    assert.deepEqual(completed(await e.run(notes())).path, ["r", "b", "d"]);
    assert.deepEqual([e.ran("b"), e.ran("c"), e.ran("d")], [1, 0, 1]);
  });
}

test("no run is completed without its finish (FC-22)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: { r: { targets: ["b", "d"], pick: () => "b" }, b: {}, d: { finish: true } },
  }));
  const { halt } = interrupted(await e.run(notes()), "halted");
  assert.equal(halt?.kind, "dead_end");
});

test("a halted step keeps what its vertices did: they are folded once, whatever the number of resumes (FC-22, E8)", async () => {
  const { graph, correct } = router(raise);
  const e = engine(graph);
  const { run } = interrupted(await e.run(notes()), "halted");
  for (let i = 0; i < 3; i++) {
    const { state } = interrupted(await e.restart().resume(run.runId), "halted");
    assert.deepEqual(state.log, ["r"]);
  }
  correct(() => ["b", "c"]);
  assert.deepEqual(completed(await e.restart().resume(run.runId)).state.log, ["r", "b", "c", "d"]);
  assert.equal(e.ran("r"), 1);
});
