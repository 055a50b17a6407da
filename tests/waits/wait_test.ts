import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, WaitExpiredError } from "../../mod.ts";
import type { TaskContext } from "../../mod.ts";
import { gate, INPUT, interrupted, Lab, openId, recorded, revisionOf } from "./lab.ts";

const Ok = defineWait("ok", z.string());
const Soon = defineWait("soon", z.string(), { deadline: "2h" });
const WAITS = [Ok, Soon];

test("a wait that the vertex does not declare is a fault at once, named, without a retry; nothing is opened (T3)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Soon],
      retry: { maxAttempts: 3 },
      body: (ctx) => ctx.waitFor(Ok).catch(() => "swallowed"),
    },
  });
  const runner = lab.engine(graph);
  const result = interrupted(await lab.drive(runner.run(INPUT)));
  assert.equal(result.reason, "errored");
  assert.match(result.failures[0]!.failure.message, /"ok".*declared: soon/);
  assert.equal(lab.count("a"), 1);
  assert.ok(!(await recorded(runner, result.run.runId)).flat().includes("opened"));
});

test("a recorded result resolves in the re-run of a body that asks for it in another way (T2)", async () => {
  const lab = new Lab();
  const wrapped = async (ctx: TaskContext) => await (async () => await ctx.waitFor(Ok))();
  const graph = lab.graph({ a: { waits: WAITS, body: async (ctx) => ({ got: await wrapped(ctx) }) } });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  const result = await lab.drive(lab.elsewhere(graph).resume(run.runId, { payload: "x" }));
  assert.deepEqual(result.state.out.a, { got: "x" });
});

for (
  const [what, deadline, at] of [
    ["a text", "90m", 5_400_000],
    ["milliseconds", 1_500_000, 1_500_000],
    ["a Date", (lab: Lab) => new Date(lab.clock.now() + 7_200_001), 7_200_001],
    ["the definition's", undefined, 7_200_000],
  ] as const
) {
  test(`a deadline given as ${what} expires the wait then and not before, with WaitExpiredError (T2)`, async () => {
    const lab = new Lab();
    const graph = lab.graph({
      a: {
        waits: WAITS,
        body: async (ctx) => {
          const given = typeof deadline === "function" ? deadline(lab) : deadline;
          try {
            return await ctx.waitFor(Soon, given === undefined ? {} : { deadline: given });
          } catch (error) {
            if (!(error instanceof WaitExpiredError)) throw error;
            return [error.waitName, error.waitId];
          }
        },
      },
    });
    const start = lab.clock.now();
    const paused = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
    assert.equal(paused.waits[0]?.due, start + at);
    await lab.clock.advanceTo(start + at - 1);
    assert.deepEqual(await lab.elsewhere(graph).recover(), []);
    await lab.clock.advance(1);
    const [handle] = await lab.elsewhere(graph).recover();
    const result = await lab.drive(handle!.result());
    assert.deepEqual(result.state.out.a, ["soon", paused.waits[0]?.waitId]);
    assert.equal(lab.count("a"), 2);
  });
}

for (const bad of [NaN, Infinity, -Infinity, ...["soon", "", "5 parsecs"] as never[], new Date(NaN)]) {
  test(`the duration ${JSON.stringify(String(bad))} is refused by sleep, waitFor and interrupt, though the body swallows it (O4)`, async () => {
    const lab = new Lab();
    const uses: Record<string, (ctx: TaskContext) => unknown> = {
      sleep: (ctx) => ctx.sleep("s", bad),
      waitFor: (ctx) => ctx.waitFor(Ok, { deadline: bad }),
      interrupt: (ctx) => ctx.interrupt(0, { deadline: bad }),
    };
    for (const [name, use] of Object.entries(uses)) {
      const graph = lab.graph({
        [name]: {
          waits: WAITS,
          retry: { maxAttempts: 3 },
          body: async (ctx) => {
            try {
              return await use(ctx);
            } catch {
              return "swallowed";
            }
          },
        },
      });
      const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
      assert.deepEqual([result.reason, result.failures[0]?.failure.name], ["errored", "ContextError"]);
      assert.deepEqual([result.waits, lab.count(name)], [[], 1]);
    }
  });
}

for (const due of [0, -5, "-3h", new Date(0)] as const) {
  test(`a sleep of ${JSON.stringify(due)} is due now (O4)`, async () => {
    const lab = new Lab();
    const start = lab.clock.now();
    const graph = lab.graph({ a: { body: (ctx) => ctx.sleep("s", due) } });
    const result = await lab.drive(lab.engine(graph).run(INPUT));
    assert.deepEqual([result.status, lab.clock.now()], ["completed", start]);
  });
}

test("a result that comes while the body still runs drops the outcome of that body and runs it again at once (T2)", async () => {
  const lab = new Lab();
  const working = gate();
  const graph = lab.graph({
    a: {
      waits: WAITS,
      body: async (ctx) => {
        const wait = ctx.waitFor(Ok);
        if (lab.count("a") === 1) {
          await working.promise;
          wait.catch(() => {});
          return "stale";
        }
        return await wait;
      },
    },
  });
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT);
  await lab.clock.settle();
  const [row] = (await runner.waits()).rows;
  assert.equal(row?.name, "ok");
  await lab.elsewhere(graph).answer(handle.runId, row!.waitId, "fresh");
  await lab.clock.advance("2s");
  assert.equal(lab.count("a"), 1, "one body of an execution at a time");
  working.open();
  const result = await lab.drive(handle.result());
  assert.deepEqual([result.state.out.a, lab.count("a")], ["fresh", 2]);
  const events = (await runner.history(handle.runId)).rows.flatMap((h) => h.events);
  assert.equal(events.filter((e) => e.type === "done").length, 1);
});

test("an answer accepted elsewhere before the outcome of a body is durable drops that outcome and runs the body again (T2)", async () => {
  const lab = new Lab();
  const working = gate();
  const graph = lab.graph({
    a: {
      waits: WAITS,
      body: async (ctx) => {
        const first = await Promise.race([ctx.waitFor(Ok), ctx.sleep("s", "1h").then(() => "timer")]);
        await ctx.hold(working.promise);
        return [first, lab.count("a")];
      },
    },
  });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = paused.run;
  await lab.clock.advance("1h");
  const [handle] = await lab.engine(graph).recover();
  await lab.clock.settle();
  await lab.elsewhere(graph).answer(runId, openId(paused, "ok"), "late");
  working.open();
  const result = await lab.drive(handle!.result());
  assert.deepEqual(result.state.out.a, ["timer", 3]);
  const events = (await lab.engine(graph).history(runId)).rows.flatMap((h) => h.events);
  assert.deepEqual(events.flatMap((e) => e.type === "resolved" ? [e.result.kind] : []), [
    "fired",
    "answered",
  ]);
  assert.equal(events.filter((e) => e.type === "done").length, 1);
});

test("a body that settles before its open wait could pause it is done, and the wait is closed with it (T2)", async () => {
  const lab = new Lab();
  const ids: string[] = [];
  const graph = lab.graph({
    a: {
      waits: WAITS,
      body: (ctx) => {
        ids.push(ctx.waitId(Ok));
        return Promise.race([ctx.waitFor(Ok), Promise.resolve("at once")]);
      },
    },
  });
  const runner = lab.engine(graph);
  const result = await lab.drive(runner.run(INPUT));
  assert.deepEqual([result.status, result.state.out.a], ["completed", "at once"]);
  assert.deepEqual((await runner.waits()).rows, []);
  await lab.fails(runner.answer(result.run.runId, ids[0]!, "x"), "AnswerError");
});

test("an open wait is listed across runs and processes, with info, schema and deadline, and no longer once answered (I1)", async () => {
  const lab = new Lab();
  const Verdict = defineWait("verdict", z.object({ yes: z.boolean() }), { deadline: "3h" });
  const graph = lab.graph({
    a: {
      each: () => [7, 8],
      waits: [Verdict],
      body: (ctx, n: number) => ctx.waitFor(Verdict, { info: { n } }),
    },
  });
  const start = lab.clock.now();
  const first = await lab.drive(lab.engine(graph).run(INPUT, { runId: "r1" }));
  await lab.clock.advance(1);
  await lab.drive(lab.engine(graph).run(INPUT, { runId: "r2" }));
  const other = lab.elsewhere(graph);
  const { rows } = await other.waits();
  const items = rows.toSorted((a, b) => a.openedAt - b.openedAt || a.item! - b.item!);
  assert.deepEqual(rows.map((r) => r.runId), ["r1", "r1", "r2", "r2"], "the oldest first");
  assert.deepEqual(items.map((r) => [r.runId, r.vertexId, r.item, r.name, r.kind, r.info]), [
    ["r1", "a", 0, "verdict", "answer", { n: 7 }],
    ["r1", "a", 1, "verdict", "answer", { n: 8 }],
    ["r2", "a", 0, "verdict", "answer", { n: 7 }],
    ["r2", "a", 1, "verdict", "answer", { n: 8 }],
  ]);
  assert.deepEqual([rows[0]?.openedAt, rows[0]?.deadline], [start, start + 10_800_000]);
  const schema = rows[0]?.schema as { properties: unknown };
  assert.deepEqual(schema.properties, { yes: { type: "boolean" } });
  assert.deepEqual((await other.waits({ runId: "r2" })).rows.length, 2);
  assert.deepEqual((await other.waits({ name: "none" })).rows, []);
  await other.answer("r1", interrupted(first).waits[0]!.waitId, { yes: true });
  assert.deepEqual((await other.waits({ runId: "r1" })).rows.map((r) => r.item), [1]);
  const tombstone = await lab.store.wait("r1", interrupted(first).waits[0]!.waitId);
  assert.deepEqual([tombstone.open, tombstone.closed?.reason], [null, "answered"]);
});

test("waitId names an opening before it opens, the same in every re-run and process, another for each n, name and run (T6)", async () => {
  const lab = new Lab();
  const seen: string[][] = [];
  const graph = lab.graph({
    a: {
      waits: WAITS,
      body: async (ctx) => {
        seen.push([ctx.waitId(Ok), ctx.waitId(Ok, 2), ctx.waitId(Soon), ctx.waitId("ok")]);
        return [await ctx.waitFor(Ok), await ctx.waitFor(Ok)];
      },
    },
  });
  const runner = lab.engine(graph);
  const first = await lab.drive(runner.run(INPUT));
  const [one, two, soon, byName] = seen[0]!;
  assert.equal(openId(first, "ok"), one);
  assert.equal(byName, one);
  assert.equal(new Set([one, two, soon]).size, 3);
  const { runId } = first.run;
  const early = await lab.fails<Error & { reason: string }>(runner.answer(runId, two!, "2"), "AnswerError");
  assert.equal(early.reason, "not_open");
  assert.equal(await revisionOf(runner, runId), first.run.revision);
  const second = await lab.drive(lab.elsewhere(graph).resume(runId, { payload: "1" }));
  assert.equal(openId(second, "ok"), two);
  assert.deepEqual(seen[1], seen[0]);
  await lab.elsewhere(graph).answer(runId, two!, "2");
  const result = await lab.drive(lab.elsewhere(graph).resume(runId));
  assert.deepEqual(result.state.out.a, ["1", "2"]);
  await lab.drive(runner.run(INPUT));
  assert.notEqual(seen.at(-1)![0], one);
});

test("a FatalError is never retried; RetryLater sets the time of the next attempt (T7)", async () => {
  const lab = new Lab();
  const { FatalError, RetryLater } = await import("../../mod.ts");
  const start = lab.clock.now();
  const at: number[] = [];
  const retry = { maxAttempts: 3, backoff: { initial: "1s" } } as const;
  const graph = lab.graph({
    later: {
      retry,
      body: (ctx) => {
        at.push(lab.clock.now() - start);
        if (ctx.attempt === 1) throw new RetryLater("7s");
        if (ctx.attempt === 2) throw new Error("plain");
        return 0;
      },
      to: "fatal",
    },
    fatal: {
      retry,
      body: () => {
        throw new FatalError("never again", { data: { code: 7 } });
      },
    },
  });
  const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  assert.deepEqual(at, [0, 7_000, 9_000]);
  assert.equal(lab.count("fatal"), 1);
  const { failure } = result.failures[0]!;
  assert.deepEqual([failure.name, failure.message, failure.data], ["FatalError", "never again", { code: 7 }]);
});
