// Runs on deno by default: checkpoints are plain data, the same everywhere; the codec has tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENTS, packEvent, unpackEvent } from "../../src/checkpoint/event_encoding.ts";
import type { RecordEvent } from "../../src/checkpoint/records.ts";

/** What is stored: places are codes, and places of fields are bits. */
const STORED = [
  [
    "created",
    [
      "runId",
      "graphId",
      "graphVersion",
      "form",
      "entry",
      "owner",
      "maxSteps",
      "deadline",
      "tags",
      "inputDigest",
      "caller",
      "waitSalt",
      "flow",
    ],
  ],
  ["claimed", ["owner", "recovery", "maxSteps"]],
  ["released", ["status", "reason", "recovery"]],
  ["retried", ["executions"]],
  ["mapped", ["vertexId", "count", "digest"]],
  ["attempt_failed", ["vertexId", "item", "at", "failure", "nextAt", "spentMs", "stack"]],
  ["once", ["vertexId", "item", "name", "value"]],
  [
    "opened",
    ["vertexId", "item", "id", "kind", "name", "n", "openedAt", "due", "info", "continuation", "key"],
  ],
  ["resolved", ["vertexId", "item", "id", "result"]],
  ["closed", ["vertexId", "item", "id", "reason"]],
  ["reopened", ["vertexId", "item", "id", "newId", "at", "problem"]],
  ["suspended", ["vertexId", "item", "startedAt", "at", "spentMs"]],
  ["done", ["vertexId", "item", "attempt", "startedAt", "at", "output"]],
  ["failed", ["vertexId", "item", "startedAt", "at", "failure", "handler", "stack"]],
  ["folded", ["finish"]],
  ["routed", ["routes", "frontier", "arrivals"]],
  ["halted", ["halt"]],
  ["completed", []],
  ["cancelled", ["reason"]],
  ["forked", ["parent", "form"]],
  ["updated", ["maps"]],
  ["returned", ["vertexId", "item", "posted", "slow"]],
  ["queued", ["permit", "since", "until"]],
  ["granted", ["permit", "n"]],
  ["freed", ["permit", "n"]],
  ["adopted", ["from", "to", "form", "entry"]],
  ["migrated", ["from", "to", "form", "vertices", "entry"]],
];

test("the codes of events and the bits of their fields that are stored never change, and each has one (C2)", () => {
  assert.deepEqual(EVENTS, STORED);
});

test("an event comes back as it was, whichever of its fields it has, undefined ones too (C2)", () => {
  for (const [type, fields] of EVENTS) {
    for (let mask = 0; mask < 1 << fields.length; mask++) {
      const event = Object.fromEntries([
        ["type", type],
        ...fields.filter((_, i) => mask & (1 << i)).map((
          field,
          i,
        ) => [field, i === 0 ? undefined : `${field}!`]),
      ]) as unknown as RecordEvent;
      assert.deepEqual(unpackEvent(packEvent(event)), event);
    }
  }
});

test("an event is written as its code, its mask and its values (C2)", () => {
  const of = (event: unknown) => packEvent(event as RecordEvent);
  assert.deepEqual(of({ type: "done", vertexId: "v", attempt: 1, startedAt: 2, at: 3, output: 4 }), [
    12,
    61,
    "v",
    1,
    2,
    3,
    4,
  ]);
  assert.deepEqual(of({ type: "folded", finish: true }), [14, 1, true]);
  assert.deepEqual(of({ type: "routed", routes: [], frontier: ["v"] }), [15, 3, [], ["v"]]);
  assert.deepEqual(of({ type: "cancelled", reason: "deadline" }), [18, 1, "deadline"]);
});

test("what is no written event is none (C4)", () => {
  for (
    const damaged of [null, {}, [], [12], [99, 0], [-1, 0], ["done", 0], [14, 3, true], [14, 1], [
      14,
      0,
      true,
    ], [14, 1.5, true, 1]]
  ) {
    assert.equal(unpackEvent(damaged), undefined, JSON.stringify(damaged));
  }
});
