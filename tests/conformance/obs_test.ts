// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile, defineWait } from "../../mod.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import type { OpenedStore } from "../../src/testing/mod.ts";
import { chainOf, gate, graphOf, notes } from "../support/graphs.ts";
import { openDenoKv, openMemory } from "../support/stores.ts";

const Go = defineWait("go", z.object({ by: z.string() }));

/** Two vertices that wait side by side, then one that fails once. */
function asking() {
  let failed = false;
  const ask = {
    run: async (_: unknown, ctx: { waitFor(wait: typeof Go): Promise<{ by: string }> }) =>
      (await ctx.waitFor(Go)).by,
  };
  return graphOf({
    id: "ask",
    vertices: {
      fork: { to: ["a", "b"] },
      a: { ...ask, waits: [Go], to: "end" },
      b: { ...ask, waits: [Go], to: "end" },
      end: {
        run: () => {
          if (failed) return;
          failed = true;
          throw new Error("once");
        },
      },
    },
  });
}

for (
  const [name, open] of [["memory", openMemory], [
    "deno kv",
    openDenoKv,
  ]] as const satisfies readonly (readonly [
    string,
    () => Promise<OpenedStore>,
  ])[]
) {
  const on = (run: (opened: OpenedStore) => Promise<void>) => async () => {
    const opened = await open();
    try {
      await run(opened);
    } finally {
      await opened.cleanup();
    }
  };

  test(
    `the row of a run follows each change of its status, with the revision that made it [${name}] (OBS-01, OBS-02, OBS-04, OBS-05, OBS-06, OBS-09)`,
    on(async ({ store }) => {
      const runner = compile(asking(), { store });
      const row = async (runId = "r") => (await store.list({})).rows.find((found) => found.runId === runId)!;
      const paused = await runner.run(notes(), { runId: "r", tags: ["blue"] });
      const { run } = paused;
      assert.deepEqual(await row(), {
        runId: "r",
        graphId: "ask",
        graphVersion: run.graphVersion,
        status: "interrupted",
        reason: "awaiting",
        tags: ["blue"],
        createdAt: run.createdAt,
        updatedAt: run.updatedAt,
        step: run.step,
        revision: run.revision,
        openWaits: 2,
      });
      const answerNext = async (runId: string) => {
        const { rows: [wait] } = await runner.waits({ runId });
        await runner.answer(runId, wait!.waitId, { by: "me" });
        return await runner.resume(runId);
      };
      const half = await answerNext("r");
      assert.equal((await row()).openWaits, 1);
      assert.equal((await row()).revision, half.run.revision);
      const errored = await answerNext("r");
      assert.deepEqual([(await row()).reason, (await row()).openWaits], ["errored", 0]);
      assert.equal((await row()).revision, errored.run.revision);
      const done = await runner.resume("r");
      assert.deepEqual([(await row()).status, (await row()).openWaits], ["completed", 0]);
      assert.deepEqual([(await row()).revision, (await row()).updatedAt], [
        done.run.revision,
        done.run.completedAt,
      ]);
      await runner.run(notes(), { runId: "s" });
      await runner.cancel("s");
      const { status, openWaits, revision } = await row("s");
      assert.deepEqual([status, openWaits, revision], ["cancelled", 0, (await runner.status("s")).revision]);
    }),
  );

  test(
    `an append that is refused changes no row [${name}] (OBS-07, OBS-09)`,
    on(async ({ store }) => {
      const runner = compile(asking(), { store });
      await runner.run(notes(), { runId: "r" });
      const before = await store.list({});
      const { position } = (await store.tail("r"))!;
      const [from] = before.rows;
      await assert.rejects(
        store.append("r", position.revision, {
          appendId: "late",
          at: { ...position, revision: position.revision - 1 },
          record: new Uint8Array([1]),
          parts: [],
          snapshot: 0,
          owner: null,
          index: { catalog: { from: from!, to: { ...from!, status: "completed" } } },
        }),
        { code: "REVISION_CONFLICT" },
      );
      assert.deepEqual(await store.list({}), before);
    }),
  );

  test(
    `runs are listed by graph [${name}] (OBS-08, OBS-09)`,
    on(async ({ store }) => {
      const [one, two] = [compile(asking(), { store }), compile(chainOf("a"), { store })];
      await one.run(notes(), { runId: "r" });
      await two.run(notes(), { runId: "s" });
      assert.deepEqual((await one.list()).rows.map((row) => row.runId), ["r"]);
      assert.deepEqual((await two.list()).rows.map((row) => row.runId), ["s"]);
      assert.equal((await store.list({ graphId: "none" })).rows.length, 0);
    }),
  );

  test(
    `a history is read page by page, from a revision on, each once also while the run goes on, and without states [${name}] (OBS-13, OBS-14, OBS-17, OBS-18, OBS-19)`,
    on(async ({ store }) => {
      const half = gate();
      const looping = graphOf({
        vertices: {
          v: {
            reduce: (s: { n?: number }) => void (s.n = (s.n ?? 0) + 1),
            run: async (_, ctx) => {
              if (ctx.step === 150) await half.promise;
            },
            targets: ["v", "end"],
            pick: (s) => (s as { n: number }).n < 250 ? "v" : "end",
          },
          end: {},
        },
      });
      const runner = compile(looping, { store });
      const handle = await runner.start({ n: 0 }, { runId: "r" });
      while ((await runner.status("r")).step < 149) await new Promise((resolve) => setTimeout(resolve, 1));
      const first = await runner.history("r");
      assert.deepEqual([first.rows[0]!.revision, first.rows.length], [0, 100]);
      const second = await runner.history("r", { cursor: first.cursor! });
      half.open();
      const seen = [...first.rows, ...second.rows].map((entry) => entry.revision);
      await handle.result();
      for (let from = seen.length;; from = seen.length) {
        const { rows } = await runner.history("r", { from, limit: 70 });
        assert.equal(rows[0]?.revision ?? from, from);
        seen.push(...rows.map((entry) => entry.revision));
        if (rows.length < 70) break;
      }
      assert.deepEqual(seen, Array.from({ length: (await runner.status("r")).revision + 1 }, (_, i) => i));
      const [entry] = first.rows.slice(5);
      for (const field of ["revision", "at", "status", "phase", "step", "frontier", "routes", "events"]) {
        assert.ok(field in entry!, field);
      }
      assert.ok(first.rows.every((e) => !("state" in e) && e.events.every((event) => !("state" in event))));
    }),
  );
}

test("a run needs neither the catalog nor any other listing (OBS-10)", async () => {
  const opened = await openMemory();
  const store = aroundStore(opened.store, (call) => {
    if (["list", "waits", "wakes"].includes(call.op)) return Promise.reject(new Error("no listings today"));
    return call.apply();
  });
  const { status } = await compile(chainOf("a", "b"), { store }).run(notes());
  assert.equal(status, "completed");
});

test("a label is told, an absent one is empty, and neither is part of the version (OBS-26)", () => {
  const plain = chainOf("a");
  const labelled = graphOf({ vertices: { a: { label: "The first" } } });
  const store = { append: () => {} } as never;
  const labels = [plain, labelled].map((graph) =>
    compile(graph, { store }).topology().vertices.map((v) => v.label)
  );
  assert.deepEqual(labels, [[""], ["The first"]]);
  assert.equal(plain.version, labelled.version);
});
