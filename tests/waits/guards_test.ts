// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { compile } from "../../src/compile.ts";
import type { InterruptedResult } from "../../src/engine/result.ts";
import { VERSION } from "../../src/runtime/version.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { engine, gate, graphOf, notes } from "../support/graphs.ts";
import { ROOT } from "../support/paths.ts";

test("a process frozen past its lease starts no queued body before it knows that it still owns the run (O1)", async () => {
  const first = gate<string>();
  const graph = graphOf({
    vertices: {
      split: { each: () => [0, 1, 2], run: (item) => item === 0 ? first.promise : item, to: "end" },
      end: {},
    },
  });
  const frozen = engine(graph);
  const handle = await frozen.runner.start(notes(), { runId: "r", concurrency: 1 });
  await frozen.clock.settle();
  assert.equal(frozen.ran("split"), 1);
  // Time passes without a single timer of the process: it was stopped.
  frozen.clock.step("20s");
  const [owner] = await frozen.store.owners.list();
  assert.ok(await frozen.store.owners.bury(owner!.ownerId, owner!.beatVersion));
  const other = frozen.restart(graph, {});
  const leave = new AbortController();
  const [taken] = await other.runner.recover({ concurrency: 1, signal: leave.signal });
  await frozen.clock.settle();
  const startedByOther = frozen.ran("split") - 1;
  const lost = assert.rejects(handle.result(), { name: "OwnershipLostError" });
  leave.abort();
  await assert.rejects(taken!.result(), { name: "RunAbortedError" });
  first.open("late");
  await frozen.clock.settle();
  await frozen.clock.advance("1s");
  await lost;
  assert.equal(frozen.ran("split"), 1 + startedByOther, "nothing more was started");
});

test("a run that is due but belongs to another version of the code is passed over with one warning (O2)", async () => {
  const at = (version: number) =>
    graphOf({ version, vertices: { ask: { run: (_, ctx) => ctx.answer() ?? ctx.interrupt() } } });
  const first = engine(at(1));
  const { run } = await first.run(notes());
  await first.runner.answer(run.runId, (await first.runner.waits()).rows[0]!.waitId, 1);
  const newer = first.restart(at(2));
  for (let i = 0; i < 2; i++) assert.deepEqual(await newer.runner.recover(), []);
  assert.deepEqual(newer.warnings.map((w) => w.fields.runId), [run.runId]);
  assert.equal((await first.runner.recover()).length, 1);
});

test("a step is planned ahead from the state that its record leads to, not from the one before (E5)", async () => {
  const seen: unknown[] = [];
  const e = engine(graphOf<{ log: string[]; n: number }>({
    vertices: {
      a: { select: (s) => s.n, run: (n) => seen.push(n), reduce: (s) => void (s.n += 1), to: "b" },
      b: { select: (s) => s.n, run: (n) => seen.push(n), reduce: (s) => void (s.n += 1), to: "c" },
      c: { select: (s) => s.n, run: (n) => seen.push(n), reduce: () => {} },
    },
  }));
  await e.run({ log: [], n: 1 });
  assert.deepEqual(seen, [1, 2, 3]);
});

test("a store that was not awaited, and options that were left out, are told apart (S6)", () => {
  const graph = graphOf({ vertices: { v: {} } });
  const given = (options: unknown) => () => compile(graph, options as never);
  assert.throws(given({ store: Promise.resolve(memoryStore()) }), /is a promise; write `store: await/);
  assert.throws(given(undefined), /graph g has no store/);
  assert.throws(
    given({ store: "./x.db" }),
    /is the text "\.\/x\.db"; write `store: await denoKv\("\.\/x\.db"\)`/,
  );
});

test("a wait given as a text and a sleep without a time fail the vertex and say how they are written (T2, T3)", async () => {
  for (
    const [run, message] of [
      [
        (ctx: { waitFor(w: never): unknown }) => ctx.waitFor("go" as never),
        /was given "go"; give what defineWait returned/,
      ],
      [
        (ctx: { sleep(n: string, t: never): unknown }) => ctx.sleep("2s", undefined as never),
        /takes a name and a time/,
      ],
    ] as const
  ) {
    const e = engine(graphOf({ vertices: { v: { run: (_, ctx) => run(ctx as never) } } }));
    const result = await e.run(notes()) as InterruptedResult<unknown>;
    assert.match(result.failures[0]!.failure.message, message);
  }
});

test("the version that tells copies of the package apart is the package's (D9)", () => {
  assert.equal(VERSION, JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version);
});
