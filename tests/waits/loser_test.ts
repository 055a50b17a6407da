// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { setTimeout as realTimer } from "node:timers/promises";
import { test } from "node:test";
import { setImmediate } from "node:timers";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { TaskContext } from "../../mod.ts";
import { INPUT, interrupted, Lab, openId } from "./lab.ts";

const Ok = defineWait("ok", z.string());
const Other = defineWait("other", z.string());
const WAITS = [Ok, Other];
const FALLBACK = "fallback";

type Wait = () => Promise<string>;

/** Waits for both, each under something that swallows the pause. */
const BOTH: Readonly<Record<string, (a: Wait, b: Wait) => Promise<unknown>>> = {
  "wrappers that catch": (a, b) => {
    const calm = async (wait: Wait) => {
      try {
        return await wait();
      } catch {
        return FALLBACK;
      }
    };
    return Promise.all([calm(a), calm(b)]);
  },
  "promises that catch": (a, b) => Promise.all([a().catch(() => FALLBACK), b().catch(() => FALLBACK)]),
  "allSettled": async (a, b) =>
    (await Promise.allSettled([a(), b()])).map((s) => s.status === "fulfilled" ? s.value : FALLBACK),
  "wrappers in allSettled": async (a, b) => {
    const wrapped = async (wait: Wait) => await wait();
    const all = await Promise.allSettled([wrapped(a), wrapped(b)]);
    return all.map((s) => s.status === "fulfilled" ? s.value : FALLBACK);
  },
  "one begun before the other is awaited": async (a, b) => {
    const calm = async (wait: Wait) => {
      try {
        return await wait();
      } catch {
        return FALLBACK;
      }
    };
    const second = calm(b);
    return [await calm(a), await second];
  },
  "one after the other": async (a, b) => [await a().catch(() => FALLBACK), await b().catch(() => FALLBACK)],
};

test("a pause under Promise.all stands though the body catches its signal and works on, beside a result (T5, FC-13)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: WAITS,
      body: async (ctx) => {
        try {
          return await Promise.all([ctx.waitFor(Ok), ctx.waitFor(Other)]);
        } catch {
          await realTimer(3);
          return FALLBACK;
        }
      },
    },
  });
  const first = await lab.engine(graph).run(INPUT);
  const answers = { [openId(first, "ok")]: "1" };
  const second = await lab.elsewhere(graph).resume(first.run.runId, { answers });
  const third = await lab.elsewhere(graph).resume(first.run.runId, {
    answers: { [openId(second, "other")]: "2" },
  });
  assert.deepEqual(third.state.out.a, ["1", "2"]);
});

test("a pause whose swallowed signal made the body go on to a once stands, beside a result (T5, FC-13)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: WAITS,
      body: async (ctx) => {
        const both = await BOTH["wrappers that catch"]!(() => ctx.waitFor(Ok), () => ctx.waitFor(Other));
        return await ctx.once("mail", () => realTimer(5, both));
      },
    },
  });
  const first = await lab.engine(graph).run(INPUT);
  const answers = { [openId(first, "ok")]: "1" };
  const second = await lab.elsewhere(graph).resume(first.run.runId, { answers });
  assert.equal(interrupted(second).waits[0]?.name, "other");
});

for (const [how, both] of Object.entries(BOTH)) {
  for (const first of ["ok", "other"] as const) {
    if (how === "one after the other" && first === "other") continue;
    test(`after ${first} of two waits has its answer, the pause of the other stands under ${how} (T5, FC-13)`, async () => {
      const lab = new Lab();
      const graph = lab.graph({
        a: { waits: WAITS, body: (ctx) => both(() => ctx.waitFor(Ok), () => ctx.waitFor(Other)) },
      });
      let result = await lab.engine(graph).run(INPUT);
      const { runId } = result.run;
      const order = first === "ok" ? ["ok", "other"] : ["other", "ok"];
      for (const name of order) {
        interrupted(result);
        const answers = { [openId(result, name)]: `of ${name}` };
        result = await lab.elsewhere(graph).resume(runId, { answers });
      }
      assert.deepEqual([result.status, result.state.out.a], ["completed", ["of ok", "of other"]]);
    });
  }
}

/** Ways to race a wait against a timer. */
const RACES: Readonly<Record<string, (ctx: TaskContext) => Promise<unknown>>> = {
  "both as they are": (ctx) =>
    Promise.race([ctx.waitFor(Ok), ctx.sleep("s", "1h")]).then((v) => v === undefined ? "timer" : v),
  "a then on the timer": (ctx) => Promise.race([ctx.waitFor(Ok), ctx.sleep("s", "1h").then(() => "timer")]),
  "a then on both": (ctx) =>
    Promise.race([ctx.waitFor(Ok).then((v) => v), ctx.sleep("s", "1h").then(() => "timer")]),
  "async functions around both": (ctx) => {
    const answer = async () => await ctx.waitFor(Ok);
    const timer = async () => {
      await ctx.sleep("s", "1h");
      return "timer";
    };
    return Promise.race([answer(), timer()]);
  },
  "an async function around the timer": (ctx) => {
    const timer = async () => {
      await ctx.sleep("s", "1h");
      return "timer";
    };
    return Promise.race([ctx.waitFor(Ok), timer()]);
  },
  "any": (ctx) => Promise.any([ctx.waitFor(Ok), ctx.sleep("s", "1h").then(() => "timer")]),
};

const AFTER: Readonly<Record<string, (ctx: TaskContext) => unknown>> = {
  "returns": () => {},
  "works on": () => realTimer(5),
  "works on for one turn": () => new Promise<void>((resolve) => setImmediate(resolve)),
  "works on in a once": (ctx) => ctx.once("mail", () => realTimer(5, "sent")),
};

for (const [how, race] of Object.entries(RACES)) {
  for (const [then, after] of Object.entries(AFTER)) {
    for (const winner of ["timer", "answer"] as const) {
      test(`a race of ${how} is over when the ${winner} has won it, and the body ${then} (T2)`, async () => {
        const lab = new Lab();
        const graph = lab.graph({
          a: {
            waits: WAITS,
            body: async (ctx) => {
              const value = await race(ctx);
              await after(ctx);
              return value;
            },
          },
        });
        const paused = await lab.engine(graph).run(INPUT);
        if (winner === "timer") await lab.clock.advance("1h");
        else await lab.engine(graph).answer(paused.run.runId, openId(paused, "ok"), "answer");
        const [handle] = await lab.elsewhere(graph).recover();
        const result = await handle!.result();
        assert.deepEqual([result.status, result.state.out.a, lab.count("a")], ["completed", winner, 2]);
      });
    }
  }
}
