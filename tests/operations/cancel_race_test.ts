// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { Cancellation, Runner, RunResult, Store } from "../../mod.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { INPUT, Lab, type State } from "../waits/lab.ts";

const Ok = defineWait("ok", z.string());

/** A run with a fan-out, a map, once results, a retry, a timer, a wait and an error route. */
function everything(lab: Lab) {
  return lab.graph({
    v: { body: () => 1, to: ["m", "r", "w"] },
    m: {
      each: () => [0, 1, 2],
      body: async (ctx, item) => await ctx.once("o", () => item),
      to: "e",
    },
    r: {
      retry: { maxAttempts: 2, backoff: () => 50 },
      body: (ctx) => ctx.attempt === 1 ? Promise.reject(new Error("first")) : "second",
      to: "e",
    },
    w: {
      waits: [Ok],
      body: async (ctx) => {
        await ctx.sleep("s", "1s");
        return await ctx.waitFor(Ok);
      },
      to: "e",
    },
    e: { join: "all", body: () => Promise.reject(new Error("route")), onError: { route: "f" } },
    f: { body: () => "end" },
  });
}

interface Play {
  readonly result: RunResult<State>;
  readonly cancelled: Cancellation | undefined;
  readonly writes: number;
  readonly lab: Lab;
}

/**
 * Plays the run and cancels it while its n-th write is held back, or has been applied and not yet been answered; what
 * cancels is another process, or another runner of the same one.
 */
async function play(at: number, when: "before" | "after", where: "here" | "elsewhere"): Promise<Play> {
  const lab = new Lab();
  const graph = everything(lab);
  let writes = 0;
  let cancelling: Promise<Cancellation | undefined> | undefined;
  const canceller = (): Runner<State> =>
    where === "here" ? lab.engine(graph, { store }) : lab.elsewhere(graph);
  const cancel = async () => {
    cancelling = canceller().cancel("r", `at ${at}`).catch((error) => {
      if (error.name === "CheckpointNotFoundError") return undefined;
      throw error;
    });
    for (let i = 0; i < 20; i++) await setImmediate();
  };
  const store: Store = aroundStore(lab.store, async (call) => {
    const now = call.writes && cancelling === undefined && ++writes === at;
    if (now && when === "before") await lab.clock.hold(cancel());
    const answer = await call.apply();
    if (now && when === "after") await lab.clock.hold(cancel());
    return answer;
  });
  const runner = lab.engine(graph, { store });
  const give = async () => {
    const { rows } = await runner.waits();
    for (const { runId, waitId } of rows) await runner.answer(runId, waitId, "yes").catch(() => {});
    return rows.length > 0;
  };
  const handle = await lab.clock.drive(runner.start(INPUT, { runId: "r" }));
  let result = await lab.clock.drive(handle.result());
  for (let i = 0; i < 5 && result.status === "interrupted"; i++) {
    await lab.clock.drive(give());
    result = await lab.clock.drive(
      runner.resume("r").catch((error) =>
        error.name === "StoreError" ? Promise.reject(error) : runner.get("r")
      ),
    ) as RunResult<State>;
  }
  const cancelled = cancelling === undefined ? undefined : await lab.clock.drive(cancelling);
  return { result, cancelled, writes, lab };
}

for (const where of ["here", "elsewhere"] as const) {
  test(`a cancellation from ${where} at any write has one outcome, for ever, which everybody is told (O5, I2)`, async () => {
    const whole = await play(0, "before", where);
    assert.equal(whole.result.status, "completed");
    const outcomes = { completed: 0, cancelled: 0 };
    for (let at = 1; at <= whole.writes; at++) {
      for (const when of ["before", "after"] as const) {
        const { result, cancelled, lab } = await play(at, when, where);
        const named = `${when} write ${at}`;
        const runner = lab.elsewhere(everything(lab));
        const status = await runner.status("r");
        if (cancelled === undefined) {
          assert.equal(status.status, "completed", `${named}: the run was not there yet`);
        } else assert.equal(status.status, cancelled.status, named);
        assert.equal(result.status, status.status, named);
        outcomes[status.status as keyof typeof outcomes] += 1;
        const counts = ["v", "m", "r", "w", "e", "f"].map((id) => lab.count(id));
        await lab.clock.advance("1d");
        assert.deepEqual(await runner.recover(), [], named);
        assert.equal((await runner.status("r")).revision, status.revision, named);
        assert.deepEqual(["v", "m", "r", "w", "e", "f"].map((id) => lab.count(id)), counts, named);
        assert.deepEqual((await lab.store.waits({})).rows, [], named);
        assert.deepEqual(await lab.store.wakes(Number.MAX_SAFE_INTEGER, 10), [], named);
      }
    }
    assert.ok(outcomes.cancelled > outcomes.completed && outcomes.completed >= 2, JSON.stringify(outcomes));
  });
}
