// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
/** A write to a value that superstep has frozen is reported with what to do instead. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile, GraphBuilder, isSuperstepError } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";

const State = z.object({
  list: z.array(z.number()),
  point: z.object({ x: z.number().optional(), y: z.number().optional() }),
});
type State = z.infer<typeof State>;
const INPUT: State = { list: [3, 1, 2], point: { x: 1 } };
const ADVICE = /what superstep hands over is frozen: change a copy, .* or let a reducer change the state/;

/** One vertex, with the code that is given in one of its places. */
function run(place: "select" | "execute" | "reduce" | "pick", write: (state: State) => unknown) {
  const at = (here: typeof place, value: unknown) => here === place ? write(value as State) : undefined;
  const graph = new GraphBuilder({ id: "frozen", schema: State })
    .addVertex({
      id: "a",
      task: { execute: (input: State): State => (at("execute", input), input) },
      select: (s) => (at("select", s), s),
      reduce: (_s, out) => void at("reduce", out),
    })
    .addConditionalEdge("a", { targets: ["a"], pick: (s) => (at("pick", s), []) })
    .build({ entry: "a", finish: "a" });
  return compile(graph, { store: memoryStore() }).run(INPUT);
}

const WRITES: Readonly<Record<string, (state: State) => unknown>> = {
  "assigns a field": (s) => s.point.x = 2,
  "adds a field": (s) => s.point.y = 2,
  "deletes a field": (s) => delete s.point.x,
  "sorts a list": (s) => s.list.sort(),
  "pushes to a list": (s) => s.list.push(4),
  "pops from a list": (s) => s.list.pop(),
  "empties a list": (s) => s.list.length = 0,
};

for (const [name, write] of Object.entries(WRITES)) {
  test(`a task that ${name} of its input fails with what to do instead (E2)`, async () => {
    const result = await run("execute", write);
    assert.ok(result.status === "interrupted");
    const { error, failure } = result.failures[0]!;
    assert.match(error.message, ADVICE);
    assert.match(error.message, /vertex a failed in execute .* at .*frozen_test\.[jt]s:\d+:\d+\)?$/);
    assert.equal(failure.name, "TypeError");
    assert.match(failure.message, ADVICE);
    assert.doesNotMatch(failure.message, /frozen_test/, "no state depends on where code lies");
    assert.ok(error.cause instanceof TypeError, "the cause is what was thrown");
  });
}

for (const place of ["select", "reduce"] as const) {
  test(`a write to a frozen value in ${place} is reported with what to do instead (E2)`, async () => {
    const result = await run(place, WRITES["sorts a list"]!);
    assert.ok(result.status === "interrupted");
    assert.equal(result.failures[0]!.failure.phase, place);
    assert.match(result.failures[0]!.error.message, ADVICE);
    assert.match(result.failures[0]!.error.message, /frozen_test\.[jt]s:\d+:\d+\)?$/);
  });
}

test("a pick that writes to the state halts the run with what to do instead (E2)", async () => {
  const result = await run("pick", WRITES["assigns a field"]!);
  assert.ok(result.status === "interrupted" && isSuperstepError(result.halt?.error, "CONDITION"));
  assert.match(result.halt.error.message, ADVICE);
  assert.match(result.halt.message, ADVICE);
});

test("another TypeError, and another error with such a text, are left as they are (E2)", async () => {
  for (const error of [new TypeError("x is not a function"), new Error("not extensible")]) {
    const result = await run("execute", () => {
      throw error;
    });
    assert.ok(result.status === "interrupted");
    assert.ok(result.failures[0]!.error.message.endsWith(error.message));
  }
});
