// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../src/decorators/mod.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { InterruptedResult } from "../../src/engine/result.ts";
import { engine, graphOf, notes } from "../support/graphs.ts";

const Go = defineWait("go", z.boolean());

const bodies: Record<string, (ctx: TaskContext) => unknown> = {
  "at once": (ctx) => {
    void ctx.waitFor(Go);
    return "sent";
  },
  "after a microtask": async (ctx) => {
    void ctx.waitFor(Go);
    await undefined;
    return "sent";
  },
  "with a timer": (ctx) => {
    void ctx.sleep("go", "1h");
    return "sent";
  },
};

for (const [how, run] of Object.entries(bodies)) {
  test(`a body that does not await its wait (${how}) fails naming the wait, and never commits what it returns (T5)`, async () => {
    const e = engine(
      graphOf({ vertices: { v: { waits: [Go], retry: { maxAttempts: 3 }, run: (_, ctx) => run(ctx) } } }),
    );
    const result = await e.run(notes()) as InterruptedResult<unknown>;
    assert.equal(result.reason, "errored");
    assert.match(
      result.failures[0]!.failure.message,
      /vertex v ended without awaiting its (wait|sleep) "go"; write `await ctx\.(waitFor|sleep)\(…\)`/,
    );
    assert.equal(e.ran("v"), 1);
    assert.deepEqual(await e.eventsOf(result.run.runId, "done"), []);
    assert.deepEqual(result.waits, [], "what nobody awaits is not open");
    assert.deepEqual(await e.eventsOf(result.run.runId, "opened"), []);
  });
}

test("a body that ends beside a wait that it never awaited fails, naming it, however long it goes on (T2)", async () => {
  const e = engine(graphOf({
    vertices: {
      v: {
        waits: [Go],
        run: async (_, ctx) => {
          void ctx.waitFor(Go);
          for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => e.clock.macrotask(resolve));
          return "sent";
        },
      },
    },
  }));
  const result = await e.run(notes()) as InterruptedResult<unknown>;
  assert.equal(result.reason, "errored");
  assert.match(result.failures[0]!.failure.message, /without awaiting its wait "go"/);
  assert.deepEqual(await e.eventsOf(result.run.runId, "done"), []);
});

test("a helper that comes to its wait in the very turn in which the body returns has awaited it, whichever is first (T2)", async () => {
  const ticks = async (count: number) => {
    for (let i = 0; i < count; i++) await undefined;
  };
  for (let before = 0; before < 12; before++) {
    const graph = graphOf({
      vertices: {
        v: {
          waits: [Go],
          run: (_, ctx) => {
            const asks = ticks(before).then(async () => await ctx.waitFor(Go));
            return Promise.race([asks, ticks(6).then(() => "other")]);
          },
        },
      },
    });
    const e = engine(graph);
    const result = await e.run(notes());
    assert.equal(result.status, "completed", `after ${before} turns`);
    assert.deepEqual((await e.runner.waits()).rows, []);
  }
});
