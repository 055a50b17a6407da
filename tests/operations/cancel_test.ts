// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { AnswerError, RunCancelledError, Runner, WaitDefinition } from "../../mod.ts";
import { damage } from "../waits/damage.ts";
import {
  gate,
  INPUT,
  interrupted,
  Lab,
  openId,
  recorded,
  recorder,
  revisionOf,
  type State,
} from "../waits/lab.ts";

const Ok: WaitDefinition<string> = defineWait("ok", z.string());

interface Unowned {
  readonly of: string;
  /** Brings a run there; answers the engine it belongs to. */
  readonly begin: (lab: Lab) => Promise<Runner<State>>;
  readonly reason?: string;
  readonly status?: string;
}

const run = async (lab: Lab, graph: ReturnType<Lab["graph"]>, options = {}) => {
  const runner = lab.engine(graph);
  await lab.drive(runner.run(INPUT, { runId: "r", ...options })).catch(() => {});
  return runner;
};

const UNOWNED: readonly Unowned[] = [
  {
    of: "that waits for an answer",
    reason: "awaiting",
    begin: (lab) =>
      run(
        lab,
        lab.graph({ a: { body: () => 1, to: "b" }, b: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } }),
      ),
  },
  {
    of: "that sleeps",
    reason: "sleeping",
    begin: (lab) => run(lab, lab.graph({ a: { body: (ctx) => ctx.sleep("s", "3d") } })),
  },
  {
    of: "in a long backoff",
    reason: "sleeping",
    begin: (lab) =>
      run(
        lab,
        lab.graph({
          a: {
            retry: { maxAttempts: 3, backoff: () => 3_600_000 },
            body: () => Promise.reject(new Error("no")),
          },
        }),
      ),
  },
  {
    of: "with a failed vertex",
    reason: "errored",
    begin: (lab) => run(lab, lab.graph({ a: { body: () => Promise.reject(new Error("no")) } })),
  },
  {
    of: "that is halted",
    reason: "halted",
    begin: (lab) =>
      run(lab, lab.graph({ a: { body: () => 1, to: "b" }, b: { body: () => 1 } }), { maxSteps: 1 }),
  },
  {
    of: "whose map waits and has failed items",
    reason: "errored",
    begin: (lab) =>
      run(
        lab,
        lab.graph({
          a: {
            each: () => [0, 1, 2],
            waits: [Ok],
            body: (ctx, item) =>
              item === 0 ? 0 : item === 1 ? ctx.waitFor(Ok) : Promise.reject(new Error("no")),
          },
        }),
      ),
  },
  {
    of: "that was let go of",
    status: "running",
    begin: async (lab) => {
      const stop = new AbortController();
      const graph = lab.graph({ a: { body: () => (stop.abort(), gate().promise) } });
      return await run(lab, graph, { signal: stop.signal });
    },
  },
  {
    of: "that was submitted and has not begun",
    status: "running",
    begin: async (lab) => {
      const runner = lab.engine(lab.graph({ a: { body: () => assert.fail("it ran") } }));
      await runner.submit(INPUT, { runId: "r" });
      return runner;
    },
  },
];

for (const { of, begin, reason, status = "interrupted" } of UNOWNED) {
  test(`a run ${of} is cancelled by one record, for good (O5, LIM-12, LIM-13, LIM-24)`, async () => {
    const lab = new Lab();
    const runner = await begin(lab);
    const before = await runner.get("r");
    assert.deepEqual([before.run.status, before.run.reason], [status, reason]);
    const open = before.status === "interrupted" ? before.waits.filter((w) => w.kind !== "timer") : [];
    await lab.clock.advance("1s");
    assert.deepEqual(await runner.cancel("r", "not needed any more"), {
      runId: "r",
      status: "cancelled",
      reason: "not needed any more",
    });
    const after = await runner.get("r");
    assert.equal(after.status, "cancelled");
    assert.deepEqual([after.state, after.path], [before.state, before.path]);
    assert.ok(!("waits" in after) && !("failures" in after) && !("halt" in after));
    const { run } = after;
    assert.deepEqual(
      [run.status, run.reason, run.cancelReason, run.cancelledAt, run.owner, run.revision],
      ["cancelled", undefined, "not needed any more", lab.clock.now(), undefined, before.run.revision + 1],
    );
    assert.deepEqual(await lab.store.wakes(Number.MAX_SAFE_INTEGER, 10), []);
    assert.deepEqual((await lab.store.waits({})).rows, []);
    const { rows } = await runner.list({ status: "cancelled" });
    assert.deepEqual(rows.map((r) => [r.runId, r.openWaits]), [["r", 0]]);
    for (const { waitId } of open) {
      const error = await lab.fails<AnswerError>(runner.answer("r", waitId, "late"), "AnswerError");
      assert.equal(error.reason, "closed");
    }
    for (const options of [{}, { payload: "late" }, { takeover: true }]) {
      await lab.fails(runner.resume("r", options), "ResumeTerminalError");
    }
    assert.deepEqual(await lab.elsewhere(runner.graph).recover(), []);
    assert.deepEqual(await runner.cancel("r", "again"), {
      runId: "r",
      status: "cancelled",
      reason: "not needed any more",
    });
    assert.equal(await revisionOf(runner, "r"), run.revision);
    assert.equal(lab.clock.pending, 0);
  });
}

interface Owned {
  readonly of: string;
  readonly graph: (lab: Lab, seen: unknown[]) => ReturnType<Lab["graph"]>;
  /** How many bodies are told. */
  readonly told: number;
}

/** A body that never ends by itself and notes the reason of its signal. */
function stubborn(seen: unknown[]) {
  return (ctx: { readonly signal: AbortSignal }) => {
    ctx.signal.addEventListener("abort", () => seen.push(ctx.signal.reason));
    return gate().promise;
  };
}

const OWNED: readonly Owned[] = [
  { of: "in its first step", told: 1, graph: (lab, seen) => lab.graph({ a: { body: stubborn(seen) } }) },
  {
    of: "in a later step",
    told: 1,
    graph: (lab, seen) => lab.graph({ v: { body: () => 1, to: "a" }, a: { body: stubborn(seen) } }),
  },
  {
    of: "in a map, with items that are done, queued and at work",
    told: 62,
    graph: (lab, seen) =>
      lab.graph({
        a: {
          each: () => Array.from({ length: 100 }, (_, i) => i),
          body: (ctx, item) => (item as number) < 2 ? item : (item as number) < 64 ? stubborn(seen)(ctx) : 0,
        },
      }),
  },
  {
    of: "between two attempts",
    told: 0,
    graph: (lab) =>
      lab.graph({
        a: { retry: { maxAttempts: 3, backoff: () => 20_000 }, body: () => Promise.reject(new Error("no")) },
      }),
  },
  {
    of: "in its second attempt",
    told: 1,
    graph: (lab, seen) =>
      lab.graph({
        a: {
          retry: { maxAttempts: 3, backoff: () => 0 },
          body: (ctx) => ctx.attempt === 1 ? Promise.reject(new Error("no")) : stubborn(seen)(ctx),
        },
      }),
  },
  {
    of: "that sleeps in the process",
    told: 0,
    graph: (lab) => lab.graph({ a: { body: (ctx) => ctx.sleep("s", "20s") } }),
  },
  {
    of: "whose one branch waits while the other is at work",
    told: 1,
    graph: (lab, seen) =>
      lab.graph({
        v: { body: () => 1, to: ["a", "b"] },
        a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
        b: { body: stubborn(seen) },
      }),
  },
  {
    of: "in a once that hangs",
    told: 1,
    graph: (lab, seen) => lab.graph({ a: { body: (ctx) => ctx.once("o", (once) => stubborn(seen)(once)) } }),
  },
];

for (const { of, graph, told } of OWNED) {
  test(`a run at work ${of} ends as cancelled without an error, and its bodies are told why (O5, E11, LIM-17, LIM-22)`, async () => {
    const lab = new Lab();
    const seen: RunCancelledError[] = [];
    const runner = lab.engine(graph(lab, seen));
    const handle = await runner.start(INPUT, { runId: "r" });
    await lab.clock.settle();
    const ran = lab.count("a");
    const from = lab.clock.now();
    const cancelled = await lab.drive(handle.cancel("enough"));
    assert.deepEqual(cancelled, { runId: "r", status: "cancelled", reason: "enough" });
    assert.ok(lab.clock.now() - from < 100, "bodies see it within 100 ms");
    assert.deepEqual(
      seen.map((e) => [e.name, e.runId, e.reason]),
      Array(told).fill(["RunCancelledError", "r", "enough"]),
    );
    const result = await handle.result();
    assert.equal(result.status, "cancelled");
    assert.equal(result.status === "cancelled" && result.cancelReason, "enough");
    assert.deepEqual(await runner.get("r"), result);
    assert.deepEqual((await lab.store.waits({})).rows, []);
    await lab.clock.advance("1h");
    assert.deepEqual([lab.count("a"), await revisionOf(runner, "r")], [ran, result.run.revision]);
    assert.equal(lab.clock.pending, 0);
  });
}

test("a completed run stays completed, and cancel says so (O5, LIM-14)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: () => 1 } }));
  const handle = await runner.start(INPUT, { runId: "r" });
  const result = await lab.drive(handle.result());
  assert.deepEqual(await handle.cancel(), { runId: "r", status: "completed" });
  assert.deepEqual(await runner.get("r"), result);
});

test("cancel of a run that is not there, and with a reason that is none, is refused by type (O5, LIM-15)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: (ctx) => ctx.interrupt() } }));
  await lab.fails(runner.cancel("r"), "CheckpointNotFoundError");
  await lab.fails(runner.cancel("no id"), "ArgumentError");
  await lab.drive(runner.run(INPUT, { runId: "r" }));
  for (const reason of [7, "x".repeat(1_001), "\ud800"]) {
    await lab.fails(runner.cancel("r", reason as string), "ArgumentError");
  }
  assert.equal((await runner.status("r")).status, "interrupted");
  assert.deepEqual(await runner.cancel("r"), { runId: "r", status: "cancelled", reason: "requested" });
});

test("cancel needs neither the graph, nor its version, nor a state that can be read (O5, LIM-27)", async () => {
  const lab = new Lab();
  const waiting = { a: { body: (ctx: { interrupt(): never }) => ctx.interrupt() } };
  const runner = lab.engine(lab.graph(waiting));
  const others = [
    lab.graph(waiting, { version: 2 }),
    lab.graph({ z: { body: () => 1 } }),
    lab.graph(waiting, { id: "other" }),
  ];
  for (const [i, graph] of others.entries()) {
    const { run } = await lab.drive(runner.run(INPUT, { runId: `r${i}` }));
    const { hooks, events } = recorder();
    await lab.elsewhere(graph, { hooks }).cancel(run.runId, "gone");
    assert.equal(
      events.length === 0,
      graph.id === "other",
      "a run of another graph is none of its observers' business",
    );
    assert.deepEqual((await runner.status(run.runId)).cancelReason, "gone");
  }
  const { run } = await lab.drive(runner.run(INPUT, { runId: "damaged" }));
  await damage(lab.store, run.runId, { table: [0, [1]] });
  await damage(lab.store, run.runId, { table: "no table" });
  await lab.fails(runner.get("damaged"), "CheckpointDecodeError");
  assert.equal((await runner.cancel("damaged")).status, "cancelled");
  assert.equal((await runner.status("damaged")).status, "cancelled");
});

test("the record of a cancellation never makes loading read more than 256 records after a snapshot (C2, O5)", async () => {
  const lab = new Lab();
  // One record for each of many results that come one by one.
  const many = lab.graph({
    a: {
      body: async (ctx) => {
        for (let i = 0; i < 700; i++) await ctx.once(`o${i}`, () => i);
        return await ctx.interrupt();
      },
    },
  }, { id: "many" });
  const other = lab.engine(many);
  const lengths = new Set<number>();
  for (let at = 240; at < 270; at++) {
    const runId = `m${at}`;
    const stop = new AbortController();
    const hooks = { checkpoint: (e: { readonly revision: number }) => e.revision >= at && stop.abort() };
    await lab.drive(other.run(INPUT, { runId, signal: stop.signal, hooks })).catch(() => {});
    await other.cancel(runId);
    const { records } = (await lab.store.tail(runId))!;
    lengths.add(records.length);
    assert.ok(records.length <= 257, `${records.length}`);
    assert.equal((await other.get(runId)).status, "cancelled");
  }
  assert.ok(lengths.has(257), "the place that is left was used");
});

test("hooks of the runner that cancels are told the end once, also of a run that nobody was at work on (O5, HKS-15, HKS-16)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } });
  const paused = await lab.drive(lab.engine(graph).run(INPUT, { runId: "r" }));
  assert.equal(paused.status, "interrupted");
  const { hooks, events } = recorder();
  await lab.engine(graph, { hooks }).cancel("r");
  assert.deepEqual(events.map((e) => e.type), ["checkpoint", "runFinish"]);
  const [, finish] = events;
  assert.equal(finish?.type === "runFinish" && finish.run.status, "cancelled");
  await lab.engine(graph, { hooks }).cancel("r");
  assert.equal(events.length, 2);

  const atWork = recorder();
  const runner = lab.engine(lab.graph({ a: { body: () => gate().promise } }), { hooks: atWork.hooks });
  const handle = await runner.start(INPUT);
  await lab.clock.settle();
  await lab.drive(handle.cancel());
  assert.deepEqual(
    atWork.events.filter((e) => e.type === "runFinish").map((e) => e.run.status),
    ["cancelled"],
  );
});

test("an answer accepted before the cancellation is recorded with it; a timer that was due, too (I2, O5)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    v: { body: () => 1, to: ["a", "b", "c"] },
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    b: { body: (ctx) => ctx.sleep("s", "1h") },
    c: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
  });
  const runner = lab.engine(graph);
  const paused = interrupted(await lab.drive(runner.run(INPUT, { runId: "r" })));
  const [first, second] = [openId(paused, "ok", "a"), openId(paused, "ok", "c")];
  await runner.answer("r", first, "yes");
  await lab.clock.advance("2h");
  await runner.cancel("r");
  assert.equal((await runner.get("r")).status, "cancelled");
  assert.deepEqual((await recorded(runner, "r")).at(-1), ["resolved", "resolved", "cancelled", "closed"]);
  const twice = await lab.fails<AnswerError>(runner.answer("r", first, "no"), "AnswerError");
  assert.deepEqual([twice.reason, twice.revision], ["answered", paused.run.revision]);
  const late = await lab.fails<AnswerError>(runner.answer("r", second, "no"), "AnswerError");
  assert.equal(late.reason, "closed");
  const never = await lab.fails<AnswerError>(runner.answer("r", "w0", "no"), "AnswerError");
  assert.equal(never.reason, "closed");
});

test("a cancellation and a deadline are told apart, also when the reason of the one names the other (E1, O5)", async () => {
  const lab = new Lab();
  const seen: Error[] = [];
  const graph = lab.graph({ a: { body: stubborn(seen) } });
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT, { deadline: "1h" });
  await lab.clock.settle();
  await lab.drive(handle.cancel("deadline"));
  const other = await runner.start(INPUT, { deadline: "5s" });
  await lab.drive(other.result());
  assert.deepEqual(seen.map((e) => e.name), ["RunCancelledError", "RunDeadlineError"]);
});
