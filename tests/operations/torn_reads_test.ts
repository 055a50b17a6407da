// Runs on deno by default: the rules are kept by code that is the same everywhere; the store suite has what files do.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Runner, Store } from "../../mod.ts";
import { aroundStore, type StoreOp } from "../../src/testing/around_store.ts";
import { INPUT, interrupted, Lab, type State } from "../waits/lab.ts";

/** A store that does something once, just before its next call of an operation. */
function meeting(
  store: Store,
  op: StoreOp,
  meet: () => Promise<unknown>,
): Store & { readonly met: () => boolean } {
  let met = false;
  const around = aroundStore(store, async (call) => {
    if (call.op === op && !met) {
      met = true;
      await meet();
    }
    return await call.apply();
  });
  return Object.assign(around, { met: () => met });
}

/** A run that has grown over several snapshots, whose parts are large, and rests. */
async function grown() {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      body: () => "x".repeat(20_000),
      reduce: (s, out) => void s.log.push(`${s.log.length} ${out}`),
      route: { targets: ["a", "end"], pick: (s) => s.log.length < 12 ? "a" : "end" },
    },
    end: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt() },
  });
  const runner = lab.engine(graph);
  const { run } = interrupted(await lab.drive(runner.run(INPUT, { runId: "r" })));
  return { lab, graph, runner, revision: run.revision };
}

/** Changes all of the run until it has another snapshot, and cuts off what was before. */
async function rewrite(runner: Runner<State>): Promise<void> {
  for (let i = 0; i < 8; i++) {
    await runner.update("r", (state) => ({ ...state, log: [`${i}`.repeat(20_000)] }));
  }
  await runner.retain("r", 1);
}

test("a reader that meets a purge between its reads is told that the run is not there, never to restore the store (FT-F11)", async () => {
  for (const read of ["get", "resume", "fork", "at"] as const) {
    const { lab, graph, revision } = await grown();
    const store = meeting(lab.store, "parts", () => lab.store.purge("r"));
    const reader = lab.engine(graph, { store });
    await lab.fails(
      read === "get"
        ? reader.get("r")
        : read === "resume"
        ? reader.resume("r")
        : read === "fork"
        ? reader.fork("r", revision)
        : reader.get("r", { revision: 3 }),
      "CheckpointNotFoundError",
    );
    assert.ok(store.met(), read);
  }
});

test("a reader that meets a cut reads what is there now, or is told which revision is gone (FT-F11)", async () => {
  const { lab, graph, runner, revision } = await grown();
  const store = meeting(lab.store, "parts", () => rewrite(runner));
  const view = await lab.engine(graph, { store }).get("r");
  assert.ok(store.met());
  assert.deepEqual([view.state.log.map((text) => text[0]), view.run.revision], [["7"], revision + 8]);
  const early = await grown();
  const cutting = meeting(early.lab.store, "parts", () => rewrite(early.runner));
  const error = await early.lab.fails<Error & { revision?: number }>(
    early.lab.engine(early.graph, { store: cutting }).get("r", { revision: 3 }),
    "CheckpointNotFoundError",
  );
  assert.deepEqual([cutting.met(), error.revision], [true, 3]);
});

test("a start that meets the purge of the run that had its id begins anew (FT-F11)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: () => 1 } });
  await lab.drive(lab.engine(graph).run(INPUT, { runId: "r" }));
  const store = meeting(lab.store, "tail", () => lab.store.purge("r"));
  const result = await lab.drive(lab.engine(graph, { store }).run(INPUT, { runId: "r" }));
  assert.deepEqual([store.met(), result.status, lab.count("a")], [true, "completed", 2]);
});
