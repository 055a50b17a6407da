import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers";
import { z } from "zod";
import { defineWait, isSuperstepError, type RunView } from "../../mod.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { gate, INPUT, interrupted, Lab, openId, type State } from "./lab.ts";

const V = defineWait("v", z.string());
const Other = defineWait("other", z.string());

async function turns(count = 3): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Lets what is due be taken over, here or by another process, until the run is over. */
async function toItsEnd(lab: Lab, runner: ReturnType<Lab["engine"]>, runId: string): Promise<RunView<State>> {
  for (let i = 0; i < 20; i++) {
    await lab.clock.advance("1m");
    for (const handle of await runner.recover()) await lab.drive(handle.result());
    const view = await runner.get(runId);
    if (view.status === "completed") return view;
  }
  return await runner.get(runId);
}

for (const between of ["a raced wait and the return", "two raced waits"] as const) {
  test(`plain work between ${between} does not interrupt the run (T8)`, async () => {
    const lab = new Lab();
    const graph = lab.graph({
      a: {
        waits: [V, Other],
        body: async (ctx) => {
          const late = ctx.waitFor(V).then((v) => `answer ${v}`);
          const won = await Promise.race([late, ctx.sleep("cap", "1h").then(() => "cap")]);
          await turns();
          if (between === "a raced wait and the return") return won;
          return [won, await Promise.race([late, ctx.sleep("grace", "1s").then(() => "grace")])];
        },
      },
    });
    const paused = await lab.drive(lab.engine(graph).run(INPUT));
    await lab.clock.advance("1h");
    const [handle] = await lab.elsewhere(graph).recover();
    const result = await lab.drive(handle!.result());
    const expected = between === "a raced wait and the return" ? "cap" : ["cap", "grace"];
    assert.deepEqual([result.status, result.state.out.a], ["completed", expected]);
    assert.equal(result.run.runId, paused.run.runId);
    assert.deepEqual((await lab.engine(graph).waits()).rows, []);
  });
}

test("a body that returns after its run was released is run again, and its outcome is recorded (T9)", async () => {
  const lab = new Lab();
  const { promise, open } = gate<string>();
  const graph = lab.graph({ a: { waits: [V], body: (ctx) => Promise.race([ctx.waitFor(V), promise]) } });
  const runner = lab.engine(graph);
  const paused = interrupted(await lab.drive(runner.run(INPUT)));
  assert.equal(paused.reason, "awaiting");
  open("by itself");
  const view = await toItsEnd(lab, runner, paused.run.runId);
  assert.deepEqual([view.status, view.state.out.a, lab.count("a")], ["completed", "by itself", 2]);
  assert.deepEqual((await runner.waits()).rows, []);
  assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
});

test("a body that throws after its run was released fails its vertex, with the error of the run that follows (T9)", async () => {
  const lab = new Lab();
  const { promise, open } = gate<never>();
  const graph = lab.graph({
    a: {
      waits: [V],
      body: (ctx) => Promise.race([ctx.waitFor(V), promise.then(() => Promise.reject(new Error("broken")))]),
    },
  });
  const runner = lab.engine(graph);
  const paused = interrupted(await lab.drive(runner.run(INPUT)));
  open(undefined as never);
  await toItsEnd(lab, runner, paused.run.runId);
  const view = interrupted(await runner.get(paused.run.runId));
  assert.deepEqual([view.reason, view.failures[0]!.failure.message, lab.count("a")], [
    "errored",
    "broken",
    2,
  ]);
});

test("a body that comes back after an update of its run just ends; the next one works on the new input (T9, H2)", async () => {
  const lab = new Lab();
  const { promise, open } = gate();
  const seen: unknown[] = [];
  const graph = lab.graph({
    a: {
      waits: [V],
      select: (s) => s.log[0] ?? "old",
      body: async (ctx, input) => {
        seen.push(input);
        await Promise.race([ctx.waitFor(V), promise]);
        return input;
      },
    },
  });
  const runner = lab.engine(graph);
  const paused = await lab.drive(runner.run(INPUT));
  await runner.update(paused.run.runId, (s) => void s.log.unshift("new"));
  open();
  const view = interrupted(await toItsEnd(lab, runner, paused.run.runId));
  assert.deepEqual([view.reason, seen], ["awaiting", ["old"]]);
  const result = await lab.drive(runner.resume(paused.run.runId, { payload: "answer" }));
  assert.deepEqual([result.status, result.state.out.a, seen], ["completed", "new", ["old", "new"]]);
});

test("a body that comes back while another process works on its run is run again by that process, and nothing is lost (T9)", async () => {
  const lab = new Lab();
  const { promise, open } = gate<string>();
  const slow = gate<string>();
  const graph = lab.graph({
    start: { to: ["a", "b"], body: () => null },
    a: { waits: [V], body: (ctx) => Promise.race([ctx.waitFor(V), promise]) },
    b: {
      waits: [Other],
      body: async (ctx) => {
        const answer = await ctx.waitFor(Other);
        return [answer, await slow.promise];
      },
    },
  });
  const here = lab.engine(graph);
  const paused = await lab.drive(here.run(INPUT));
  const { runId } = paused.run;
  const there = lab.elsewhere(graph);
  const resumed = there.resume(runId, { answers: { [openId(paused, "other")]: "yes" } });
  await lab.clock.settle();
  open("by itself");
  await lab.clock.settle();
  slow.open("slow");
  await lab.drive(resumed);
  const view = await toItsEnd(lab, there, runId);
  assert.deepEqual(view.status, "completed");
  assert.deepEqual(view.state.out, { start: null, a: "by itself", b: ["yes", "slow"] });
});

test("of a body that comes back and a resume by another process one takes the run, and nothing is done twice (T9, O1)", async () => {
  const lab = new Lab();
  const { promise, open } = gate<string>();
  let effects = 0;
  const graph = lab.graph({
    a: {
      waits: [V],
      body: async (ctx) => {
        const won = await Promise.race([ctx.waitFor(V), promise]);
        await ctx.once("effect", () => void effects++);
        return won;
      },
    },
  });
  const here = lab.engine(graph);
  const paused = await lab.drive(here.run(INPUT));
  const { runId } = paused.run;
  const resumed = lab.elsewhere(graph).resume(runId, { payload: "answered" });
  open("by itself");
  const result = await lab.drive(resumed).catch((error) => {
    assert.ok(["REVISION_CONFLICT", "RUN_BUSY"].includes(error.code), error);
  });
  await lab.clock.advance("1m");
  const view = await here.get(runId);
  assert.equal(view.status, "completed");
  assert.ok(["answered", "by itself"].includes(view.state.out.a as string));
  if (result !== undefined) assert.deepEqual(view.state.out, result.state.out);
  assert.equal(effects, 1);
  assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
});

test("a body that comes back while its run comes to its end elsewhere leaves no wake behind (T9, I2)", async () => {
  const lab = new Lab();
  const { promise, open } = gate<string>();
  const graph = lab.graph({ a: { waits: [V], body: (ctx) => Promise.race([ctx.waitFor(V), promise]) } });
  let meanwhile: (() => Promise<unknown>) | undefined;
  const here = aroundStore(lab.store, async ({ op, apply }) => {
    const work = meanwhile;
    if (op === "inspect" && work !== undefined) {
      meanwhile = undefined;
      await work();
    }
    return await apply();
  });
  const { run: { runId } } = await lab.drive(lab.engine(graph, { store: here }).run(INPUT));
  const there = lab.elsewhere(graph);
  let ended = false;
  meanwhile = async () => {
    assert.equal((await there.resume(runId, { payload: "answered" })).status, "completed");
    ended = true;
  };
  open("by itself");
  await lab.clock.advance("1m");
  assert.ok(ended);
  assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
});

test("a cancelled run aborts its suspended bodies at once, with RunCancelledError (T9, O5)", async () => {
  const lab = new Lab();
  const reasons: unknown[] = [];
  const graph = lab.graph({
    a: {
      waits: [V],
      body: (ctx) => {
        ctx.signal.addEventListener("abort", () => reasons.push(ctx.signal.reason));
        return ctx.waitFor(V);
      },
    },
  });
  const runner = lab.engine(graph);
  const paused = await lab.drive(runner.run(INPUT));
  assert.deepEqual(reasons, []);
  assert.equal((await lab.drive(runner.cancel(paused.run.runId))).status, "cancelled");
  assert.equal(reasons.length, 1);
  assert.ok(isSuperstepError(reasons[0], "RUN_CANCELLED"), String(reasons[0]));
});

test("what a body holds keeps its run until it has ended; without it the run is released (T8)", async () => {
  for (const holds of [false, true]) {
    const lab = new Lab();
    const graph = lab.graph({
      a: {
        waits: [V],
        body: (ctx) => {
          const work = lab.clock.sleep("5m").then(() => "worked");
          const { hold } = ctx as unknown as { hold?: <T>(work: Promise<T>) => Promise<T> };
          return Promise.race([ctx.waitFor(V), holds ? hold!.call(ctx, work) : work]);
        },
      },
    });
    const result = await lab.drive(lab.engine(graph).run(INPUT));
    assert.equal(result.status, holds ? "completed" : "interrupted");
    assert.equal(lab.count("a"), 1);
    if (holds) assert.equal(result.state.out.a, "worked");
  }
});
