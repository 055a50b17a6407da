// Runs on deno by default: what is refused is decided by code that is the same everywhere.
/** What a checkpoint that was read must be, so that it can be run: what no record of this package leads to is damage. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstCheckpoint } from "../../src/checkpoint/beginning.ts";
import { evolve } from "../../src/checkpoint/evolve.ts";
import type { RecordEvent } from "../../src/checkpoint/records.ts";
import { validateCheckpoint } from "../../src/engine/load.ts";
import type { Checkpoint } from "../../src/model/checkpoint.ts";
import { graphOf } from "../support/graphs.ts";

const graph = graphOf({ vertices: { m: { each: () => [1, 2], to: "z" }, z: {} } });
const created: Extract<RecordEvent, { type: "created" }> = {
  type: "created",
  runId: "r",
  graphId: graph.id,
  graphVersion: graph.version,
  form: "",
  entry: "m",
  maxSteps: 9,
  tags: [],
  inputDigest: "",
};
const done = (item: number): RecordEvent => ({
  type: "done",
  vertexId: "m",
  item,
  attempt: 1,
  startedAt: 0,
  at: 0,
  output: 0,
});

function after(
  events: readonly RecordEvent[],
  edit: (checkpoint: Checkpoint) => Checkpoint = (c) => c,
): void {
  validateCheckpoint(graph, edit(evolve(firstCheckpoint(created, 0), events, 1, 0)));
}

test("a checkpoint is refused with an item that its map vertex has not, or that ends in the middle of a step (C4)", () => {
  const mapped: RecordEvent = { type: "mapped", vertexId: "m", count: 2, digest: "" };
  after([mapped, done(0), done(1)]);
  assert.throws(() => after([mapped, done(2)]), /it has no such item/);
  const ended = (c: Checkpoint): Checkpoint => ({ ...c, run: { ...c.run, status: "completed" } });
  assert.throws(() => after([], ended), /completed in the middle of a step/);
  assert.throws(
    () => after([mapped, done(0)], (c) => ended({ ...c, frontier: [] })),
    /it is not of the step|no map vertex/,
  );
  after([], (c) => ended({ ...c, frontier: [] }));
});
