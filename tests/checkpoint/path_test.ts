// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { extended, type Path, PATH_LIMIT, verticesOf } from "../../src/model/checkpoint.ts";
import { engine, graphOf } from "../support/graphs.ts";

test("a path has the newest vertices in order, whatever was added at a time, and what it was before stays", () => {
  const all: string[] = [];
  let path: Path = { older: [], newer: [] };
  for (let step = 0; all.length < 3 * PATH_LIMIT; step++) {
    const ids = Array.from({ length: 1 + step * 7 % 90 }, (_, i) => `v${step}-${i}`);
    const before = path;
    const was = verticesOf(before);
    path = extended(path, ids);
    assert.deepEqual(verticesOf(before), was);
    all.push(...ids);
    assert.deepEqual(verticesOf(path), all.slice(-PATH_LIMIT));
    assert.ok(path.older.length <= PATH_LIMIT && path.newer.length < 64);
  }
});

test("the path of a long run that is read back is that of its result", async () => {
  let turns = 0;
  const e = engine(graphOf({
    vertices: {
      even: { to: "odd" },
      odd: { targets: ["even", "end"], pick: () => ++turns < 100 ? "even" : "end" },
      end: {},
    },
  }));
  const { path, run } = await e.run({ log: [] });
  assert.deepEqual(path, [...Array.from({ length: 200 }, (_, i) => i % 2 === 0 ? "even" : "odd"), "end"]);
  assert.deepEqual((await e.restart().runner.get(run.runId)).path, path);
  const early = await e.runner.get(run.runId, { revision: 150 });
  assert.deepEqual(early.path, path.slice(0, 150));
});
