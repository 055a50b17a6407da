// Runs on deno by default: the random runs find faults of the engine, which no runtime decides.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store, StoredRecord } from "../../src/store/store.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { damage, storedCheckpoint } from "../waits/damage.ts";
import { chainOf, completed, engine, graphOf, interrupted, notes } from "../support/graphs.ts";

// What the random tests of this folder have found, each made small.

test("a map vertex whose each failed goes on when each has been mended (I3, D5)", async () => {
  let mended = false;
  const e = engine(graphOf({
    vertices: {
      a: {
        each: () => {
          if (!mended) throw new Error("each");
          return [1, 2];
        },
        reduce: (s, output) => void s.log.push(`a=${output}`),
      },
    },
  }));
  const { run, failures } = interrupted(await e.run(notes()), "errored");
  assert.deepEqual(failures.map((f) => [f.vertexId, f.item, f.failure.phase]), [["a", undefined, "select"]]);
  mended = true;
  assert.deepEqual(completed(await e.resume(run.runId)).state.log, ["a=1,2"]);
  assert.equal(e.ran("a"), 2);
});

test("failures are listed in ascending vertex id and item, whoever failed first (E5)", async () => {
  const e = engine(graphOf({
    vertices: {
      start: { to: ["b", "a"] },
      a: {
        each: () => [30, 10, 20],
        run: async (ms) => {
          await e.clock.sleep(ms as number);
          throw new Error("late");
        },
      },
      b: {
        run: () => {
          throw new Error("early");
        },
      },
    },
    finish: ["a", "b"],
  }));
  const result = interrupted(await e.run(notes()), "errored");
  assert.deepEqual(result.failures.map((f) => `${f.vertexId}/${f.item}`), [
    "a/0",
    "a/1",
    "a/2",
    "b/undefined",
  ]);
});

test("a run paused by an each that gives other items than before can be resumed once each is mended (D5, C4)", async () => {
  let broken = true;
  let items = [1, 2];
  const e = engine(graphOf({
    vertices: {
      a: {
        each: () => items,
        run: (item) => {
          if (item === 2 && broken) throw new Error("broken");
          return item;
        },
        reduce: (s, output) => void s.log.push(`a=${output}`),
      },
    },
  }));
  const { run } = interrupted(await e.run(notes()), "errored");
  broken = false;
  items = [1, 2, 3];
  const other = interrupted(await e.resume(run.runId), "errored");
  assert.deepEqual(other.failures.map((f) => [f.item, f.failure.phase]), [[undefined, "select"]]);
  items = [1, 2];
  assert.deepEqual(completed(await e.resume(run.runId)).state.log, ["a=1,2"]);
  assert.deepEqual([e.ran("a", 0), e.ran("a", 1)], [1, 2]);
});

test("a map vertex of which every item is done is reduced again on resume without asking each (E5, E8)", async () => {
  let asked = 0;
  let broken = true;
  const e = engine(graphOf({
    vertices: {
      a: {
        each: () => Array.from({ length: 2 + asked++ }, (_, i) => i),
        reduce: (s, output) => {
          if (broken) throw new Error("broken");
          s.log.push(`a=${output}`);
        },
      },
    },
  }));
  const { run } = interrupted(await e.run(notes()), "errored");
  broken = false;
  assert.deepEqual(completed(await e.resume(run.runId)).state.log, ["a=0,1"]);
  assert.deepEqual([asked, e.ran()], [1, 2]);
});

test("a join behind two joins that hold each other up waits for them (D6)", async () => {
  const e = engine(graphOf({
    vertices: {
      start: { to: ["a", "b", "c"] },
      a: { join: "all" },
      b: { join: "all", to: ["a", "c"] },
      c: { join: "all", targets: ["b", "end"], pick: () => "end" },
      end: {},
    },
  }));
  assert.deepEqual(completed(await e.run(notes())).path, [
    "start",
    "b",
    "c",
    "a",
    "c",
    "end",
    "end",
  ]);
});

for (
  const [what, spoil] of Object.entries<(records: readonly StoredRecord[]) => readonly StoredRecord[]>({
    missing: ([first, _, ...more]) => [first!, ...more],
    doubled: ([first, second, ...more]) => [first!, second!, second!, ...more],
    "out of place": ([first, second, third, ...more]) => [first!, third!, second!, ...more],
  })
) {
  test(`a history in which a record is ${what} is refused by every call that reads it (C4)`, async () => {
    const e = engine(chainOf("a", "b", "c", "d"));
    const { run } = completed(await e.run(notes()));
    const store: Store = {
      ...e.store,
      tail: async (...args) => {
        const tail = await e.store.tail(...args);
        return tail && { ...tail, records: spoil(tail.records) };
      },
      range: async (...args) => spoil(await e.store.range(...args)),
    };
    const { runner } = engine(e.graph, { store, clock: e.clock });
    const calls = [
      () => runner.get(run.runId),
      () => runner.status(run.runId),
      () => runner.history(run.runId),
    ];
    for (const call of calls) {
      await assert.rejects(call(), { name: "CheckpointDecodeError", message: /is stored where \d belongs/ });
    }
  });
}

test("an outcome of a map vertex that names no item is refused, instead of a run that never ends (C4, LOD-18)", async () => {
  const e = engine(graphOf({
    vertices: { a: { each: () => [1, 2], run: (item, ctx) => item === 2 ? ctx.interrupt() : item } },
  }));
  const { run } = interrupted(await e.run(notes()), "awaiting");
  const { executions } = await storedCheckpoint(e.store, run.runId);
  const { item: _, ...whole } = executions.get("a/1")!;
  const waiting = new Map([...executions].filter(([key]) => key !== "a/1")).set("a", whole);
  await damage(e.store, run.runId, { checkpoint: { executions: waiting } });
  await assert.rejects(e.resume(run.runId), { name: "CheckpointDecodeError", message: /names no item/ });
});

test("an each that fails while an item waits for its next attempt pauses the run at once (D5)", async () => {
  let broken = false;
  const graph = graphOf({
    vertices: {
      a: {
        retry: { maxAttempts: 3, backoff: { initial: "10s", factor: 1 } },
        each: () => {
          if (broken) throw new Error("each");
          return [1, 2];
        },
        run: (item, ctx) => {
          if (item === 2 && ctx.attempt < 3) throw new Error("again");
          return item;
        },
        reduce: (s, output) => void s.log.push(`a=${output}`),
      },
    },
  });
  const e = engine(graph, { inlineTimers: "1s" });
  const { run } = interrupted(await e.run(notes()), "sleeping");
  broken = true;
  await e.clock.advance("9500ms");
  const other = e.restart();
  const failed = interrupted(await other.resume(run.runId), "errored");
  assert.deepEqual(failed.failures.map((f) => [f.item, f.failure.phase]), [[undefined, "select"]]);
  broken = false;
  const again = await other.resume(run.runId);
  assert.equal(again.status, "interrupted");
  await other.clock.advance("10s");
  assert.deepEqual(completed(await other.resume(run.runId)).state.log, ["a=1,2"]);
});

test("an each that fails under a route closes the waits of its items (D5, I1)", async () => {
  let broken = false;
  const graph = graphOf({
    vertices: {
      a: {
        each: () => {
          if (broken) throw new Error("each");
          return [1, 2];
        },
        run: (item, ctx) => item === 2 ? ctx.interrupt() : item,
        onError: { route: "b" },
      },
      c: { run: (_, ctx) => ctx.answer()?.value ?? ctx.interrupt() },
      b: {},
      start: { to: ["a", "c"] },
    },
    entry: "start",
    finish: ["a", "b", "c"],
  });
  const e = engine(graph);
  const { run, waits } = interrupted(await e.run(notes()), "awaiting");
  broken = true;
  const answers = { [waits.find((w) => w.vertexId === "c")!.waitId]: "yes" };
  const result = completed(await e.restart().resume(run.runId, { answers }));
  assert.deepEqual(result.path, ["start", "a", "c", "b"]);
  assert.deepEqual((await e.runner.waits()).rows, []);
});

test("an answer that is recorded while the body opens the next of that name stays the answer (I2, T2)", async () => {
  const Verdict = defineWait("verdict", z.string());
  const clock = new VirtualClock();
  const store = aroundStore(memoryStore(), async (call) => {
    const answer = await call.apply();
    if (call.op === "append") await clock.sleep(50);
    return answer;
  });
  const e = engine(
    graphOf({
      vertices: {
        a: {
          waits: [Verdict],
          run: async (_, ctx) => {
            ctx.waitFor(Verdict).catch(() => {});
            await ctx.sleep("pause", "1s");
            await ctx.hold(clock.sleep(100));
            return await ctx.waitFor(Verdict);
          },
        },
      },
    }),
    { store, clock },
  );
  const work = e.runner.run(notes(), { runId: "run" });
  await clock.advance("500ms");
  const [first] = (await e.runner.waits()).rows;
  await clock.advance("670ms");
  assert.equal(e.ran("a"), 2);
  await e.runner.answer("run", first!.waitId, "first");
  const { waits } = interrupted(await clock.drive(work), "awaiting");
  assert.deepEqual(waits.map((w) => w.name), ["verdict"]);
  assert.notEqual(waits[0]!.waitId, first!.waitId);
  completed(await clock.drive(e.runner.resume("run", { payload: "second" })));
  const told = (await e.events("run")).filter((x) => "id" in x && x.id === first!.waitId).map((x) => x.type);
  assert.deepEqual(told, ["opened", "resolved"]);
  await assert.rejects(clock.drive(e.runner.answer("run", first!.waitId, "late")), { reason: "answered" });
});
