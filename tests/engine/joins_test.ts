// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { completed, engine, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";
import { all, boom, stepsOf } from "../support/steps.ts";

test("a join of uneven branches runs once, after the longest, and sees all of them (D6)", async () => {
  const { steps, result } = await stepsOf({
    start: { to: ["a", "x"] },
    a: { to: "j" },
    x: { to: "y" },
    y: { to: "z" },
    z: { to: "j" },
    j: all({ select: (s) => [...s.log], run: (input) => input, reduce: (s, out) => void (s.seen = out) }),
  });
  assert.deepEqual(steps, [["start"], ["a", "x"], ["y"], ["z"], ["j"]]);
  assert.deepEqual(result.state.seen, ["start", "a", "x", "y", "z"]);
});

test("without a join the same vertex runs once per arrival (D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: ["a", "x"] },
    a: { to: "j" },
    x: { to: "y" },
    y: { to: "j" },
    j: {},
  });
  assert.deepEqual(steps, [["start"], ["a", "x"], ["j", "y"], ["j"]]);
});

for (const [picked, steps] of [["b", [["r"], ["b"], ["d"]]], ["c", [["r"], ["c"], ["e"], ["d"]]]] as const) {
  test(`a join does not wait for a parent that the router skipped when it picks ${picked} (D6, FC-22)`, async () => {
    const ran = await stepsOf({
      r: { targets: ["b", "c"], pick: () => picked },
      b: { to: "d" },
      c: { to: "e" },
      e: { to: "d" },
      d: all(),
    });
    assert.deepEqual(ran.steps, steps);
  });
}

test("a parent that is skipped late, while the other has arrived, frees the join (D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: ["a", "r"] },
    a: { to: "j" },
    r: { to: "s" },
    s: { targets: ["b", "c"], pick: () => "c" },
    b: { to: "j" },
    c: {},
    j: all({ finish: true }),
  });
  assert.deepEqual(steps, [["start"], ["a", "r"], ["s"], ["c", "j"]]);
});

test("an error route is an in-edge: the join waits for the parent that may still fail into it (D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: ["a", "x"] },
    a: { to: "j" },
    x: { to: "y" },
    y: { run: () => Promise.reject(boom), onError: { route: "j" }, to: "other" },
    other: {},
    j: all({ finish: true }),
  });
  assert.deepEqual(steps, [["start"], ["a", "x"], ["y"], ["j"]]);
  const calm = await stepsOf({
    start: { to: ["a", "x"] },
    a: { to: "j" },
    x: { onError: { route: "j" }, to: "other" },
    other: { to: "more" },
    more: {},
    j: all({ finish: true }),
  });
  assert.deepEqual(calm.steps, [["start"], ["a", "x"], ["j", "other"], ["more"]]);
});

test("a parent that failed and went to a handler counts through what the handler leads to (D6, FC-22)", async () => {
  const { steps, result } = await stepsOf({
    start: { to: ["b", "c"] },
    b: { run: () => Promise.reject(boom), onError: { route: "h" }, to: "d" },
    h: { to: "h2" },
    h2: { to: "d" },
    c: { to: "d" },
    d: all(),
  });
  assert.deepEqual(steps, [["start"], ["b", "c"], ["h"], ["h2"], ["d"]]);
  assert.equal(result.path.filter((id) => id === "d").length, 1);
});

test("a join in a cycle runs once per round, for only the arrivals of its round (D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: ["a", "b"] },
    a: { to: "a2" },
    a2: { to: "j" },
    b: { to: "j" },
    j: all({
      targets: ["start", "fin"],
      pick: (s) => s.log.filter((id) => id === "j").length < 3 ? "start" : "fin",
    }),
    fin: {},
  });
  const round = [["start"], ["a", "b"], ["a2"], ["j"]];
  assert.deepEqual(steps, [...round, ...round, ...round, ["fin"]]);
});

test("a join behind a join waits for it (D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: ["a", "b", "c"] },
    a: { to: "j1" },
    b: { to: "b2" },
    b2: { to: "j1" },
    c: { to: "j2" },
    j1: all({ to: "j2" }),
    j2: all(),
  });
  assert.deepEqual(steps, [["start"], ["a", "b", "c"], ["b2"], ["j1"], ["j2"]]);
});

test("a join waits for what lies behind another waiting join (D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: ["a", "b", "c"] },
    a: { to: "j1" },
    b: { to: "b2" },
    b2: { to: "j1" },
    c: { to: "j2" },
    j1: all({ to: "s" }),
    s: { to: "j2" },
    j2: all(),
  });
  assert.deepEqual(steps, [["start"], ["a", "b", "c"], ["b2"], ["j1"], ["s"], ["j2"]]);
});

test("two joins that hold only each other up run together (D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: ["j1", "j2"] },
    j1: all({ targets: ["j2", "fin"], pick: (s) => s.log.includes("j2") ? "fin" : "j2" }),
    j2: all({ targets: ["j1", "fin"], pick: () => "fin" }),
    fin: all(),
  });
  assert.deepEqual(steps, [["start"], ["j1", "j2"], ["fin"]]);
});

test("a run never completes while a join waits, though a finish is done and nothing else is left (D6)", async () => {
  const { steps, result } = await stepsOf({
    start: { to: ["f", "j", "x"] },
    f: {},
    x: { targets: ["j", "y"], pick: () => "y" },
    y: { targets: ["j", "f"], pick: () => "f" },
    j: all(),
  }, "f");
  assert.deepEqual(steps, [["start"], ["f", "x"], ["y"], ["f", "j"]]);
  assert.equal(result.path.includes("j"), true);
});

test("a join whose only arrival is a self-cycle's predecessor does not wait for itself (D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: "j" },
    j: all({ targets: ["j", "fin"], pick: (s) => s.log.filter((id) => id === "j").length < 3 ? "j" : "fin" }),
    fin: {},
  });
  assert.deepEqual(steps, [["start"], ["j"], ["j"], ["j"], ["fin"]]);
});

test("a doubled edge, or two parents in one step, let a join run once (D6)", async () => {
  const { steps } = await stepsOf({
    start: { to: ["a", "b"] },
    a: { to: ["j", "j"] },
    b: { to: "j" },
    j: all(),
  });
  assert.deepEqual(steps, [["start"], ["a", "b"], ["j"]]);
});

test("arrivals are part of the checkpoint: a crash and a pause in between lose none and double none (D6)", async () => {
  const graph = graphOf<Notes>({
    vertices: {
      start: { to: ["a", "p"] },
      a: { to: "j" },
      p: { to: "q" },
      q: { run: (_input, ctx) => ctx.answer() ?? ctx.interrupt(), to: "j" },
      j: all(),
    },
  });
  const e = engine(graph);
  const { run } = interrupted(await e.run(notes()), "awaiting");
  const routed = await e.eventsOf(run.runId, "routed");
  assert.deepEqual(routed.map((r) => [...r.arrivals ?? []]), [[], [["j", ["a"]]]]);
  e.kill();
  const other = e.restart();
  const { path } = completed(await other.resume(run.runId, { payload: 1 }));
  assert.deepEqual(path, ["start", "a", "p", "q", "j"]);
  assert.equal(e.ran("j"), 1);
  assert.deepEqual((await other.eventsOf(run.runId, "routed")).map((r) => r.arrivals?.size ?? 0), [
    0,
    1,
    0,
    0,
  ]);
});
