import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { TaskContext } from "../../mod.ts";
import { INPUT, interrupted, Lab, openId } from "./lab.ts";

const Ok = defineWait("ok", z.string());
const End = defineWait("end", z.string());

/** What a promise gives, seen through so many helpers. */
async function through<T>(depth: number, promise: Promise<T>): Promise<T> {
  return depth === 0 ? await promise : await through(depth - 1, promise);
}

const HELPERS: Readonly<Record<string, <T>(depth: number, promise: Promise<T>) => Promise<T>>> = {
  "async functions": through,
  "reactions": (depth, promise) => {
    let last = promise;
    for (let i = 0; i < depth; i++) last = last.then((value) => value);
    return last;
  },
  "try, finally and catch": async (depth, promise) => {
    const once = async <T>(inner: Promise<T>): Promise<T> => {
      try {
        return await inner.catch((error) => Promise.reject(error));
      } finally {
        await undefined;
      }
    };
    let last = promise;
    for (let i = 0; i < depth; i++) last = once(last);
    return await last;
  },
};

for (const [helpers, wrapped] of Object.entries(HELPERS)) {
  for (const winner of ["answer", "timer"] as const) {
    test(`the ${winner} that came first wins a race for ever, though it comes through several ${helpers} and the loser through none (FT-G12, T2)`, async () => {
      for (const depth of [1, 2, 3]) {
        const lab = new Lab();
        const seen: unknown[] = [];
        const race = (ctx: TaskContext) => {
          const [ok, nap] = [ctx.waitFor(Ok), ctx.sleep("limit", "1h").then(() => "timer")];
          return Promise.race(winner === "answer" ? [nap, wrapped(depth, ok)] : [ok, wrapped(depth, nap)]);
        };
        const graph = lab.graph({
          a: {
            waits: [Ok, End],
            body: async (ctx) => {
              const first = await race(ctx);
              seen.push(first);
              return [first, await ctx.waitFor(End)];
            },
          },
        });
        const paused = await lab.drive(lab.engine(graph).run(INPUT));
        const { runId } = paused.run;
        const ok = openId(paused, "ok");
        const answered = async () => {
          await lab.elsewhere(graph).answer(runId, ok, "answer");
          await lab.drive(lab.elsewhere(graph).resume(runId));
        };
        if (winner === "answer") await answered();
        await lab.clock.advance("1h");
        for (const handle of await lab.elsewhere(graph).recover()) await lab.drive(handle.result());
        if (winner === "timer") await answered();
        assert.deepEqual(interrupted(await lab.engine(graph).get(runId)).waits.map((w) => w.name), ["end"]);
        const done = await lab.drive(lab.elsewhere(graph).resume(runId, { payload: "end" }));
        assert.deepEqual(done.state.out.a, [winner, "end"], `depth ${depth}`);
        assert.deepEqual(new Set(seen), new Set([winner]), `depth ${depth}`);
      }
    });
  }
}

test("a recorded result comes to race, any and all after as many microtasks as that of an ordinary promise (T2)", async () => {
  /** In which order things happen that only microtasks decide, when `won` has its result and `open` never gets one. */
  const order = async (won: Promise<string>, open: Promise<string>): Promise<string[]> => {
    await won;
    const seen: string[] = [];
    const note = (what: string) => () => void seen.push(what);
    const ticks = async () => {
      for (let i = 1; i <= 6; i++) {
        await undefined;
        seen.push(`tick ${i}`);
      }
    };
    await Promise.all([
      ticks(),
      Promise.race([open, won]).then(note("race")),
      Promise.any([open, won]).then(note("any")),
      Promise.all([won]).then(note("all")),
      Promise.allSettled([won]).then(note("allSettled")),
      (async () => await won)().then(note("await")),
      won.then(note("then")),
      won.finally(() => {}).then(note("finally")),
    ]);
    return seen;
  };
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Ok, End],
      body: async (ctx) => {
        const seen = await order(ctx.waitFor(Ok), ctx.waitFor(End));
        return await ctx.once("seen", () => seen);
      },
    },
  });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  await lab.engine(graph).answer(run.runId, openId(await lab.engine(graph).get(run.runId), "ok"), "yes");
  const done = await lab.drive(lab.engine(graph).resume(run.runId));
  assert.deepEqual(done.state.out.a, await order(Promise.resolve("yes"), new Promise(() => {})));
});
