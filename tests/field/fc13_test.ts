// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { setTimeout as realTimer } from "node:timers/promises";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { TaskContext } from "../../mod.ts";
import { gate, INPUT, interrupted, Lab } from "../waits/lab.ts";

const Ok = defineWait("ok", z.unknown());

type Ask = (ctx: TaskContext) => unknown;

/** How a body asks a person, and reads the answer once there is one. */
const ASKS: Readonly<Record<string, Ask>> = {
  interrupt: (ctx) => ctx.answer()?.value ?? ctx.interrupt("?"),
  waitFor: (ctx) => ctx.waitFor(Ok, { info: "?" }),
};

class Wrapped extends Error {}

const FALLBACK = "fallback";

/** Ways in which user code swallows the signal of a pause. */
const SWALLOWS: Readonly<Record<string, (ask: () => unknown) => Promise<unknown>>> = {
  "a catch that returns": async (ask) => {
    try {
      return await ask();
    } catch {
      return FALLBACK;
    }
  },
  "a catch that goes on to work": async (ask) => {
    try {
      return await ask();
    } catch {
      await realTimer(3);
      return FALLBACK;
    }
  },
  "a promise's catch": (ask) => Promise.resolve().then(ask).catch(() => FALLBACK),
  "allSettled": async (ask) => {
    const [one] = await Promise.allSettled([Promise.resolve().then(ask)]);
    return one.status === "fulfilled" ? one.value : FALLBACK;
  },
  "a race with a real timer": (ask) =>
    Promise.race([
      Promise.resolve().then(ask).catch(() => realTimer(5).then(() => FALLBACK)),
      realTimer(10).then(() => FALLBACK),
    ]),
  "a finally that returns": (ask) =>
    (async () => {
      let value: unknown = FALLBACK;
      try {
        value = await ask();
      } finally {
        // deno-lint-ignore no-unsafe-finally
        return value;
      }
    })(),
  "a helper that wraps every error": async (ask) => {
    try {
      return await ask();
    } catch (cause) {
      throw new Wrapped("helper failed", { cause });
    }
  },
  "a helper that throws another error": async (ask) => {
    try {
      return await ask();
    } catch {
      throw new Wrapped("helper failed");
    }
  },
  "any beside a failure": (ask) =>
    Promise.any([Promise.resolve().then(ask), Promise.reject(new Error("x"))]).catch(() => FALLBACK),
  "nested combinators": async (ask) => {
    const inner = Promise.all([Promise.resolve(1), Promise.resolve().then(ask)]);
    const [one] = await Promise.allSettled([Promise.any([inner, Promise.reject(new Error("x"))])]);
    return one.status === "fulfilled" ? one.value[1] : FALLBACK;
  },
  "two async wrappers": async (ask) => {
    const inner = async () => await ask();
    const outer = async () => {
      try {
        return await inner();
      } catch {
        return FALLBACK;
      }
    };
    return await outer();
  },
  "a then with two handlers": (ask) => Promise.resolve().then(ask).then((v) => v, () => FALLBACK),
  "an async iterator": async (ask) => {
    async function* values() {
      try {
        yield await ask();
      } catch {
        yield FALLBACK;
      }
    }
    for await (const value of values()) return value;
    return FALLBACK;
  },
};

for (const [how, swallow] of Object.entries(SWALLOWS)) {
  for (const [what, ask] of Object.entries(ASKS)) {
    test(`${what} swallowed by ${how} still pauses, and the fallback is never committed (FC-13, T5)`, async () => {
      const lab = new Lab();
      const graph = lab.graph({
        a: { waits: [Ok], retry: { maxAttempts: 3 }, body: (ctx) => swallow(() => ask(ctx)), to: "b" },
        b: { body: () => 0 },
      });
      const runner = lab.engine(graph);
      const paused = interrupted(await runner.run(INPUT));
      assert.deepEqual([paused.reason, paused.waits.length, paused.failures], ["awaiting", 1, []]);
      assert.equal(paused.waits[0]?.info, "?");
      assert.deepEqual([lab.count("a"), lab.count("b")], [1, 0]);
      const answered = await lab.elsewhere(graph).resume(paused.run.runId, { payload: "answer" });
      assert.deepEqual([answered.status, answered.state.out.a], ["completed", "answer"]);
      assert.equal(lab.count("a"), 2);
      assert.doesNotMatch(
        JSON.stringify((await runner.history(paused.run.runId)).rows.flatMap((h) => h.events)),
        /fallback/,
      );
    });
  }
}

test("a body that comes back from ordinary work after its run was released runs again, and that work may win then (FC-13, T9)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: (ctx) => Promise.race([ctx.waitFor(Ok), realTimer(5).then(() => FALLBACK)]),
    },
  });
  const paused = interrupted(await lab.engine(graph).run(INPUT));
  assert.deepEqual([paused.waits.length, lab.count("a")], [1, 1]);
  const { runId } = paused.run;
  for await (const { events } of lab.engine(graph).follow(runId)) {
    if (events.some((e) => e.type === "completed")) break;
  }
  const { state } = await lab.engine(graph).get(runId);
  assert.deepEqual([state.out.a, lab.count("a")], [FALLBACK, 2]);
});

const CALLS: Readonly<Record<string, (ctx: TaskContext) => unknown>> = {
  interrupt: (ctx) => ctx.interrupt(),
  answer: (ctx) => ctx.answer(),
  continuation: (ctx) => ctx.continuation(),
  waitFor: (ctx) => ctx.waitFor(Ok),
  sleep: (ctx) => ctx.sleep("s", "1s"),
  once: (ctx) => ctx.once("x", () => assert.fail("fn ran")),
};

for (const [name, call] of Object.entries(CALLS)) {
  test(`${name} called after the body has settled throws at once and records nothing (FC-13, T5)`, async () => {
    const lab = new Lab();
    let kept: TaskContext | undefined;
    const graph = lab.graph({
      a: {
        waits: [Ok],
        body: (ctx) => {
          kept = ctx;
          return 1;
        },
        to: "b",
      },
      b: { body: () => held.promise },
    });
    const held = gate<number>();
    const runner = lab.engine(graph);
    const handle = await runner.start(INPUT);
    await lab.clock.settle();
    const before = await runner.status(handle.runId);
    assert.throws(() => call(kept!), { name: "ContextError", message: /vertex a/ });
    held.open(2);
    const result = await lab.drive(handle.result());
    assert.throws(() => call(kept!), { name: "ContextError" });
    assert.equal(result.status, "completed");
    const events = (await runner.history(handle.runId)).rows.flatMap((h) => h.events);
    assert.ok(!events.some((e) => e.type === "opened" || e.type === "once"));
    assert.ok(result.run.revision > before.revision);
  });
}

test("a failure is the outcome of a body beside an open wait, an interrupt stands beside what the body returns (FC-13, T2, T5)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: {
      waits: [Ok],
      body: (ctx) => {
        ctx.waitFor(Ok).catch(() => {});
        return Promise.reject(new Error("later"));
      },
    },
    b: {
      body: (ctx) => {
        try {
          ctx.interrupt();
        } catch {
          // Swallowed on purpose.
        }
        return FALLBACK;
      },
    },
  });
  const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  assert.deepEqual(result.waits.map((w) => w.vertexId), ["b"]);
  assert.deepEqual(result.failures.map((f) => f.failure.message), ["later"]);
  assert.deepEqual(result.state.out, { v: 0 });
});
