import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, type Duration } from "../../mod.ts";
import type { TaskContext } from "../../mod.ts";
import { INPUT, interrupted, Lab, openId } from "./lab.ts";

const Ok = defineWait("ok", z.string());
const Other = defineWait("other", z.string());
const WAITS = [Ok, Other];

const race = (ctx: TaskContext, ms: Duration) =>
  Promise.race([ctx.waitFor(Ok), ctx.sleep("limit", ms).then(() => "timer")]);

test("a race of an answer against a timer is won by the answer when it comes first; the timer closes (T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { waits: WAITS, body: (ctx) => race(ctx, "1h") } });
  const paused = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  assert.deepEqual(paused.waits.map((w) => [w.name, w.kind]), [["ok", "answer"], ["limit", "timer"]]);
  assert.equal(paused.reason, "awaiting");
  const runner = lab.elsewhere(graph);
  const result = await lab.drive(
    runner.resume(paused.run.runId, { answers: { [openId(paused, "ok")]: "yes" } }),
  );
  assert.deepEqual([result.status, result.state.out.a, lab.count("a")], ["completed", "yes", 2]);
  const closed = (await runner.history(paused.run.runId)).rows.flatMap((h) => h.events)
    .filter((e) => e.type === "closed");
  assert.deepEqual(closed.map((e) => e.reason), ["settled"]);
  assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
});

test("a race is won by the timer when it comes first; a later answer is refused as closed (T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { waits: WAITS, body: (ctx) => race(ctx, "1h") } });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const id = openId(paused, "ok");
  await lab.clock.advance("1h");
  const [handle] = await lab.elsewhere(graph).recover();
  const result = await lab.drive(handle!.result());
  assert.equal(result.state.out.a, "timer");
  const error = await lab.fails<Error & { reason: string }>(
    lab.engine(graph).answer(paused.run.runId, id, "late"),
    "AnswerError",
  );
  assert.equal(error.reason, "closed");
  assert.deepEqual((await lab.engine(graph).waits()).rows, []);
});

for (const winner of ["timer", "answer"] as const) {
  test(`a race won by the ${winner} has that winner for ever, though the loser gets its result too and the body runs again in other processes (T2)`, async () => {
    const lab = new Lab();
    const seen: unknown[] = [];
    const graph = lab.graph({
      a: {
        waits: WAITS,
        body: async (ctx) => {
          const first = await race(ctx, "1h");
          seen.push(first);
          const second = await ctx.waitFor(Other);
          return [first, second];
        },
      },
    });
    const paused = await lab.drive(lab.engine(graph).run(INPUT));
    const { runId } = paused.run;
    const ok = openId(paused, "ok");
    const afterTimer = async () => {
      await lab.clock.advance("1h");
      for (const handle of await lab.elsewhere(graph).recover()) await lab.drive(handle.result());
    };
    const afterAnswer = async () => {
      await lab.elsewhere(graph).answer(runId, ok, "answer");
      await lab.drive(lab.elsewhere(graph).resume(runId));
    };
    if (winner === "timer") {
      await afterTimer();
      await afterAnswer();
    } else {
      await afterAnswer();
      await afterTimer();
    }
    const view = interrupted(await lab.engine(graph).get(runId));
    assert.deepEqual(view.waits.map((w) => w.name), ["other"], "both of the race have their results");
    const result = await lab.drive(lab.elsewhere(graph).resume(runId, { payload: "end" }));
    assert.deepEqual(result.state.out.a, [winner, "end"]);
    assert.ok(seen.length >= 3);
    assert.deepEqual(new Set(seen), new Set([winner]));
  });
}

test("a loop of races opens the next of each name every round, and every round has its own winner (T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: WAITS,
      body: async (ctx) => {
        const rounds: string[] = [];
        while (rounds.length < 4) rounds.push(await race(ctx, "1h"));
        return rounds;
      },
    },
  });
  const first = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = first.run;
  const ids = new Set<string>();
  const answer = async (value: string) => {
    const view = await lab.engine(graph).get(runId);
    const id = openId(view, "ok");
    assert.ok(!ids.has(id));
    ids.add(id);
    await lab.elsewhere(graph).answer(runId, id, value);
    await lab.drive(lab.elsewhere(graph).resume(runId));
  };
  const expire = async () => {
    await lab.clock.advance("1h");
    for (const handle of await lab.elsewhere(graph).recover()) await lab.drive(handle.result());
  };
  await answer("one");
  await expire();
  await answer("three");
  await expire();
  const result = await lab.engine(graph).get(runId);
  assert.equal(result.status, "completed");
  assert.deepEqual(result.state.out.a, ["one", "timer", "three", "timer"]);
  assert.deepEqual((await lab.engine(graph).waits()).rows, []);
  assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
});

test("results that come within one append are numbered by their time, then by name, whatever order they are asked in (T2)", async () => {
  const lab = new Lab();
  const order: string[][] = [];
  const graph = lab.graph({
    a: {
      waits: WAITS,
      body: async (ctx) => {
        const seen: string[] = [];
        const note = (name: string, wait: Promise<unknown>) => wait.then(() => void seen.push(name));
        await Promise.all([
          note("z", ctx.sleep("z", "2h")),
          note("other", ctx.waitFor(Other)),
          note("b", ctx.sleep("b", "1h")),
          note("a", ctx.sleep("a", "1h")),
          note("ok", ctx.waitFor(Ok)),
        ]);
        order.push(seen);
        return seen;
      },
    },
  });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = paused.run;
  await lab.clock.advance("30m");
  await lab.engine(graph).answer(runId, openId(paused, "ok"), "1");
  await lab.clock.advance("1h");
  await lab.engine(graph).answer(runId, openId(paused, "other"), "2");
  await lab.clock.advance("5h");
  const result = await lab.drive(lab.elsewhere(graph).resume(runId));
  assert.deepEqual(result.state.out.a, ["ok", "a", "b", "other", "z"]);
  assert.equal(order.length, 1);
});

test("Promise.all of waits opens all at once, pauses until the last result, and resolves with all (T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { waits: WAITS, body: (ctx) => Promise.all([ctx.waitFor(Ok), ctx.waitFor(Other)]) },
  });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = paused.run;
  assert.equal(interrupted(paused).waits.length, 2);
  const half = await lab.drive(
    lab.elsewhere(graph).resume(runId, { answers: { [openId(paused, "other")]: "2" } }),
  );
  assert.deepEqual(interrupted(half).waits.map((w) => w.name), ["ok"]);
  const result = await lab.drive(lab.elsewhere(graph).resume(runId, { payload: "1" }));
  assert.deepEqual([result.state.out.a, lab.count("a")], [["1", "2"], 3]);
});

test("the n-th use of a name is its n-th opening; opening the next one closes the one before (T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: WAITS,
      body: async (ctx) => {
        ctx.waitFor(Ok, { info: 1 }).catch(() => {});
        await ctx.once("first", () => {});
        ctx.waitFor(Ok, { info: 2 }).catch(() => {});
        await ctx.once("second", () => {});
        return await ctx.waitFor(Ok, { info: 3 });
      },
    },
  });
  const runner = lab.engine(graph);
  const paused = interrupted(await lab.drive(runner.run(INPUT)));
  assert.deepEqual(paused.waits.map((w) => w.info), [3]);
  const events = (await runner.history(paused.run.runId)).rows.flatMap((h) => h.events);
  const opened = events.filter((e) => e.type === "opened");
  assert.deepEqual(opened.map((e) => [e.name, e.n]), [["ok", 1], ["ok", 2], ["ok", 3]]);
  const closed = events.filter((e) => e.type === "closed");
  assert.deepEqual(closed.map((e) => [e.id, e.reason]), [
    [opened[0]!.id, "superseded"],
    [opened[1]!.id, "superseded"],
  ]);
  const error = await lab.fails<Error & { reason: string }>(
    runner.answer(paused.run.runId, opened[0]!.id, "x"),
    "AnswerError",
  );
  assert.equal(error.reason, "closed");
  const result = await lab.drive(runner.resume(paused.run.runId, { payload: "third" }));
  assert.equal(result.state.out.a, "third");
});

test("due times are fixed when a wait is first opened, however often the body runs again (T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: WAITS,
      body: async (ctx) => {
        const timer = ctx.sleep("long", "10h");
        await ctx.waitFor(Ok);
        await timer;
      },
    },
  });
  const start = lab.clock.now();
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  await lab.clock.advance("4h");
  const again = await lab.drive(
    lab.elsewhere(graph).resume(paused.run.runId, { answers: { [openId(paused, "ok")]: "x" } }),
  );
  assert.deepEqual(interrupted(again).waits.map((w) => w.due), [start + 36_000_000]);
  assert.equal(interrupted(again).reason, "sleeping");
  await lab.clock.advanceTo(start + 35_999_999);
  assert.deepEqual(await lab.elsewhere(graph).recover(), []);
  await lab.clock.advance(1);
  const [handle] = await lab.elsewhere(graph).recover();
  assert.equal((await lab.drive(handle!.result())).status, "completed");
  assert.equal(lab.count("a"), 3);
});
