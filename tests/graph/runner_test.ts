// Runs on deno by default: graphs are plain data, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile } from "../../src/compile.ts";
import { GraphVersionMismatchError, isSuperstepError } from "../../src/errors.ts";
import type { VertexOf } from "../support/graphs.ts";
import { engine, graphOf, notes, processOn } from "../support/graphs.ts";
import { memoryStore } from "../../src/store/memory.ts";

test("every call of a runner uses exactly the store it was compiled with (BLD-33)", async () => {
  const [used, other] = [memoryStore(), memoryStore()];
  const graph = graphOf({
    vertices: { ask: { run: (_, ctx) => ctx.interrupt(), to: "end" }, end: {} },
    finish: "end",
  });
  const runner = compile(graph, { store: used });
  const elsewhere = compile(graph, { store: other });
  const { run: { runId } } = await runner.run(notes());
  await runner.resume(runId);
  await runner.get(runId);
  assert.equal((await runner.status(runId)).status, "interrupted");
  assert.equal((await runner.waits()).rows.length, 1);
  assert.equal((await runner.list()).rows.length, 1);

  assert.equal(await other.tail(runId), undefined);
  assert.deepEqual([(await elsewhere.waits()).rows, (await elsewhere.list()).rows], [[], []]);
  for (const call of ["get", "status", "resume", "history"] as const) {
    await assert.rejects(elsewhere[call](runId), (e) => isSuperstepError(e, "CHECKPOINT_NOT_FOUND"), call);
  }
});

test("a paused run goes on with the same graph only; another one is told what differs, and nothing is written (VER-10, V1)", async () => {
  const spec = (version: number, more: Record<string, VertexOf<{ log: string[] }>> = {}) =>
    graphOf({
      version,
      schema: z.object({ log: z.array(z.string()) }),
      vertices: {
        ask: { run: (_, ctx) => ctx.answer()?.value ?? ctx.interrupt(), to: ["end", ...Object.keys(more)] },
        end: {},
        ...more,
      },
      finish: "end",
    });
  const first = engine(spec(1));
  const { run: { runId, revision } } = await first.run(notes());

  for (const [graph, names] of [[spec(1, { extra: {} }), /extra/], [spec(2), /version/]] as const) {
    const changed = engine(graph, { store: processOn(first.store).store, clock: first.clock });
    for (const call of ["resume", "get"] as const) {
      await assert.rejects(
        changed.runner[call](runId),
        (e) => e instanceof GraphVersionMismatchError && names.test(e.message),
      );
    }
    assert.equal(changed.ran(), 0);
    assert.equal((await first.runner.status(runId)).revision, revision);
  }

  const same = first.restart(spec(1));
  const result = await same.resume(runId, { payload: 0 });
  assert.equal(result.status, "completed");
});
