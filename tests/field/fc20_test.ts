// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CompiledGraph, RunHandle, Runner, TaskContext } from "../../mod.ts";
import { gate, INPUT, Lab, type State } from "../waits/lab.ts";

/** When a body that looks at its signal every 100 ms first saw that it was aborted, and why. */
interface Sighting {
  readonly at: number;
  readonly reason: string;
}

/** A body that works on for up to ten seconds, unless it sees that it shall not. */
function watchful(lab: Lab, seen: Sighting[]) {
  return async (ctx: Pick<TaskContext, "signal">): Promise<string> => {
    for (let round = 0; round < 100; round++) {
      await new Promise((resolve) => lab.clock.wakeIn(100, () => resolve(undefined)));
      if (!ctx.signal.aborted) continue;
      seen.push({ at: lab.clock.now(), reason: (ctx.signal.reason as Error).name });
      throw ctx.signal.reason;
    }
    return "done";
  };
}

type Way = (lab: Lab, seen: Sighting[]) => CompiledGraph<State>;

const WAYS: Readonly<Record<string, Way>> = {
  "a plain vertex": (lab, seen) => lab.graph({ a: { body: watchful(lab, seen) } }),
  "an item of a map": (lab, seen) =>
    lab.graph({
      a: { each: () => [0, 1, 2], body: (ctx, item) => item === 1 ? watchful(lab, seen)(ctx) : item },
    }),
  "the vertex of an error route": (lab, seen) =>
    lab.graph({
      f: { body: () => Promise.reject(new Error("no")), onError: { route: "a" }, finish: true },
      a: { body: watchful(lab, seen) },
    }),
  "a second attempt": (lab, seen) =>
    lab.graph({
      a: {
        retry: { maxAttempts: 2, backoff: () => 0 },
        body: (ctx) => ctx.attempt === 1 ? Promise.reject(new Error("first")) : watchful(lab, seen)(ctx),
      },
    }),
  "a once": (lab, seen) => lab.graph({ a: { body: (ctx) => ctx.once("o", watchful(lab, seen)) } }),
  "a body run again after a timer": (lab, seen) =>
    lab.graph({ a: { body: async (ctx) => (await ctx.sleep("s", 50), await watchful(lab, seen)(ctx)) } }),
};

interface Cause {
  readonly reason: string;
  readonly status: string;
  /** How long it may take until a body can know. */
  readonly within: number;
  /** Starts the run and, after a second, causes it to stop; answers when that was. */
  readonly stop: (
    lab: Lab,
    runner: Runner<State>,
  ) => Promise<{ readonly at: number; readonly handle: RunHandle<State> }>;
}

async function started(lab: Lab, runner: Runner<State>, options = {}): Promise<RunHandle<State>> {
  const handle = await runner.start(INPUT, { runId: "r", ...options });
  handle.result().catch(() => {});
  await lab.clock.advance("1s");
  return handle;
}

const CAUSES: Readonly<Record<string, Cause>> = {
  "a cancellation in its process": {
    reason: "RunCancelledError",
    status: "cancelled",
    within: 100,
    stop: async (lab, runner) => {
      const handle = await started(lab, runner);
      const at = lab.clock.now();
      await lab.drive(handle.cancel("why"));
      return { at, handle };
    },
  },
  "a cancellation in another process": {
    reason: "RunCancelledError",
    status: "cancelled",
    within: 1_100,
    stop: async (lab, runner) => {
      const handle = await started(lab, runner);
      const at = lab.clock.now();
      await lab.drive(lab.elsewhere(runner.graph).cancel("r", "why"));
      return { at, handle };
    },
  },
  "the deadline of the run": {
    reason: "RunDeadlineError",
    status: "cancelled",
    within: 100,
    stop: async (lab, runner) => {
      const at = lab.clock.now() + 1_000;
      return { at, handle: await started(lab, runner, { deadline: "1s" }) };
    },
  },
  "a shutdown": {
    reason: "RunAbortedError",
    status: "running",
    within: 100,
    stop: async (lab, runner) => {
      const stop = new AbortController();
      const handle = await started(lab, runner, { signal: stop.signal });
      stop.abort(new Error("deploying"));
      return { at: lab.clock.now(), handle };
    },
  },
};

for (const [way, graphIn] of Object.entries(WAYS)) {
  for (const [cause, { reason, status, within, stop }] of Object.entries(CAUSES)) {
    test(`${way} sees ${cause} in time, and why (FC-20, O5, E11)`, async () => {
      const lab = new Lab();
      const seen: Sighting[] = [];
      const graph = graphIn(lab, seen);
      const { at, handle } = await stop(lab, lab.engine(graph));
      await lab.clock.advance("2s");
      assert.deepEqual(seen.map((s) => s.reason), [reason]);
      assert.ok(seen[0]!.at - at <= within, `${seen[0]!.at - at} ms`);
      const reader = lab.elsewhere(graph);
      const run = await reader.status("r");
      assert.deepEqual([run.status, run.owner], [status, undefined]);
      if (status === "cancelled") return assert.equal((await lab.drive(handle.result())).status, "cancelled");
      await lab.fails(handle.result(), "RunAbortedError");
      const [again] = await reader.recover();
      assert.equal((await lab.drive(again!.result())).status, "completed", "a shutdown leaves it resumable");
    });
  }
}

test("a timeout has a reason of its own, and a failing or waiting sibling aborts nobody (FC-20)", async () => {
  const lab = new Lab();
  const seen: Sighting[] = [];
  const timed = lab.graph({ a: { timeout: "1s", body: watchful(lab, seen) } });
  await lab.drive(lab.engine(timed).run(INPUT));
  await lab.clock.advance("1s");
  assert.deepEqual(seen.map((s) => s.reason), ["VertexTimeoutError"]);
  const siblings = lab.graph({
    v: { body: () => 0, to: ["a", "b", "c"] },
    a: { body: watchful(lab, seen) },
    b: { body: () => Promise.reject(new Error("no")) },
    c: { body: (ctx) => ctx.interrupt() },
  }, { id: "siblings" });
  const result = await lab.drive(lab.engine(siblings).run(INPUT));
  assert.deepEqual([result.status, result.state.out.a, seen.length], ["interrupted", "done", 1]);
});

test("a loop of a thousand rounds ends at the next round, although its bodies ignore the signal (FC-20)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      body: () => new Promise((resolve) => lab.clock.wakeIn(100, () => resolve(1))),
      reduce: (s) => void s.log.push("round"),
      route: { targets: ["a", "end"], pick: (s) => s.log.length < 1_000 ? "a" : "end" },
    },
    end: { body: () => assert.fail("it ended as a success") },
  });
  const handle = await lab.engine(graph).start(INPUT, { runId: "r" });
  await lab.clock.advance("5s");
  const rounds = lab.count("a");
  await lab.drive(handle.cancel());
  await lab.clock.advance("1h");
  assert.equal(lab.count("a"), rounds);
  assert.equal((await handle.result()).status, "cancelled");
});

test("a reader of the events of a run that goes away aborts nothing (FC-20)", async () => {
  const lab = new Lab();
  const held = gate<string>();
  let signal: AbortSignal | undefined;
  const graph = lab.graph({ a: { body: (ctx) => (signal = ctx.signal, held.promise) } });
  const handle = await lab.engine(graph).start(INPUT);
  const events = handle.events();
  await events.next();
  await events.return?.();
  await lab.clock.advance("1s");
  assert.equal(signal?.aborted, false);
  held.open("kept");
  assert.equal((await lab.drive(handle.result())).state.out.a, "kept");
});
