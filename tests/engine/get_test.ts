// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chainOf, engine, notes } from "../support/graphs.ts";

const LONG = chainOf(...Array.from({ length: 100 }, (_, i) => `v${String(i).padStart(3, "0")}`));

test("a run can be read as it was at any revision (H1)", async () => {
  const { runner, run } = engine(LONG);
  const { run: { runId, revision: last } } = await run(notes());
  const { rows } = await runner.history(runId, { limit: 1000 });
  for (const revision of [0, 1, 50, 65, 66, last - 1, last]) {
    const view = await runner.get(runId, { revision });
    assert.equal(view.run.revision, revision);
    assert.equal(view.status, rows[revision]!.status);
    const reduced = rows.slice(0, revision + 1).flatMap(({ events }) => events).filter((e) =>
      e.type === "folded"
    );
    assert.equal(view.state.log.length, reduced.length, `at revision ${revision}`);
  }
  assert.deepEqual(await runner.get(runId, { revision: last }), await runner.get(runId));
});

test("a revision that there is not, or that is none, is refused (H1)", async () => {
  const { runner, run } = engine(chainOf("a"));
  const { run: { runId, revision: last } } = await run(notes());
  await assert.rejects(runner.get(runId, { revision: last + 1 }), { code: "CHECKPOINT_NOT_FOUND" });
  for (const revision of [-1, 0.5, NaN]) {
    await assert.rejects(runner.get(runId, { revision }), { code: "ARGUMENT" });
  }
});
