// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CompiledGraph, OpenWait, RunCaller, Runner } from "../../mod.ts";
import { CheckpointLog } from "../../src/checkpoint/log.ts";
import { AnswerError, ArgumentError, defineWait, WaitExpiredError } from "../../mod.ts";
import { z } from "zod";
import { gate, INPUT, interrupted, Lab, openId, recorded, type State } from "../waits/lab.ts";

const Ok = defineWait("ok", z.boolean());

/** A lab with a paused run `p`, for which other runs can work. */
async function office() {
  const lab = new Lab();
  const paused = lab.graph({ v: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt() } }, {
    id: "caller",
  });
  const callers = lab.engine(paused);
  await lab.drive(callers.run(INPUT, { runId: "p" }));
  const caller: RunCaller = { graphId: "caller", runId: "p", vertexId: "v" };
  const called = (graph: CompiledGraph<State>) => lab.engine(graph);
  return { lab, callers, caller, called };
}

/** Asks, and says how the wait ended. */
function asking(lab: Lab, deadline?: string): CompiledGraph<State> {
  return lab.graph({
    a: {
      waits: [Ok],
      body: async (ctx) => {
        try {
          return await ctx.waitFor(Ok, deadline === undefined ? {} : { deadline: deadline as "1h" });
        } catch (error) {
          if (error instanceof WaitExpiredError) return "expired";
          throw error;
        }
      },
    },
  });
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(() => undefined, (e: unknown) => e);
  assert.ok(error instanceof AnswerError, String(error));
  assert.equal(error.reason, "foreign");
  return error.message;
}

test("a run that works for another one is in no inbox and has no wake, but it is listed and shows its waits to its caller", async () => {
  const { lab, caller, called } = await office();
  const runner = called(asking(lab, "1d"));
  const result = interrupted(await lab.drive(runner.run(INPUT, { runId: "c", caller, tags: ["mine"] })));
  assert.deepEqual(result.waits.map((w) => w.name), ["ok"]);
  assert.deepEqual([result.run.caller, result.run.tags], [caller, ["called-by:p", "mine"]]);
  assert.deepEqual((await runner.waits()).rows, []);
  assert.deepEqual((await lab.store.wakes(Number.MAX_SAFE_INTEGER, 10)).map((w) => w.runId), []);
  assert.deepEqual(
    (await runner.list({ tag: "called-by:p" })).rows.map((r) => [r.runId, r.reason, r.openWaits]),
    [
      ["c", "awaiting", 1],
    ],
  );
});

test("a run that works for another one takes answers from its caller alone, and whoever else tries is told where", async () => {
  const { lab, caller, called } = await office();
  const runner = called(asking(lab));
  const result = await lab.drive(runner.run(INPUT, { runId: "c", caller }));
  const waitId = openId(result, "ok");
  const stranger: RunCaller = { ...caller, runId: "q" };
  const tries = [
    runner.answer("c", waitId, true),
    runner.answer("c", Ok, true),
    runner.resume("c", { payload: true }),
    runner.resume("c", { answers: { [waitId]: true } }),
    runner.resume("c", { payload: true, caller: stranger }),
    runner.resume("c", { expired: [waitId] }),
  ];
  for (const attempt of tries) assert.match(await refusal(attempt), /answered in the run that called.*p/);
  assert.equal((await runner.status("c")).revision, result.run.revision);
  const done = await lab.drive(runner.resume("c", { answers: { [waitId]: true }, caller }));
  assert.deepEqual([done.status, done.state.out.a], ["completed", true]);
});

test("what the caller hands down counts however late it comes; nothing expires before the caller says so (I2)", async () => {
  for (const end of ["answers", "expired"] as const) {
    const { lab, caller, called } = await office();
    const runner = called(asking(lab, "1h"));
    const result = interrupted(await lab.drive(runner.run(INPUT, { runId: "c", caller })));
    const [wait] = result.waits as [OpenWait];
    assert.equal(wait.due, result.run.createdAt + 3_600_000);
    assert.equal(result.due, undefined);
    await lab.clock.advance("2h");
    const late = interrupted(await lab.drive(runner.resume("c")));
    assert.deepEqual(late.waits.map((w) => w.waitId), [wait.waitId]);
    const handed = end === "answers" ? { answers: { [wait.waitId]: true } } : { expired: [wait.waitId] };
    const done = await lab.drive(runner.resume("c", { ...handed, caller }));
    assert.equal(done.state.out.a, end === "answers" ? true : "expired");
  }
});

test("only a caller can say that a wait has expired", async () => {
  const { lab } = await office();
  const runner = lab.engine(asking(lab, "1h"));
  const result = await lab.drive(runner.run(INPUT, { runId: "c" }));
  await assert.rejects(runner.resume("c", { expired: [openId(result, "ok")] }), ArgumentError);
});

test("a run that works for another one waits for no timer in its process: it says when it is due", async () => {
  const { lab, caller, called } = await office();
  const runner = called(
    lab.graph({
      a: { body: (ctx) => ctx.sleep("nap", "10s"), to: "b" },
      b: {
        retry: { maxAttempts: 2, backoff: { initial: "5s" } },
        body: (ctx) => {
          if (ctx.attempt === 1) throw new Error("again");
        },
      },
    }),
  );
  const begun = lab.clock.now();
  const asleep = interrupted(await lab.drive(runner.run(INPUT, { runId: "c", caller })));
  assert.deepEqual([asleep.reason, asleep.due, lab.clock.now()], ["sleeping", begun + 10_000, begun]);
  const early = interrupted(await lab.drive(runner.resume("c")));
  assert.equal(early.run.revision, asleep.run.revision);
  await lab.clock.advance("10s");
  const again = interrupted(await lab.drive(runner.resume("c")));
  assert.deepEqual([again.reason, again.due], ["sleeping", begun + 15_000]);
  await lab.clock.advance("5s");
  assert.equal((await lab.drive(runner.resume("c"))).status, "completed");
});

/** A paused run that works for `p`, one at work for it, and one that works for the first. */
async function family() {
  const { lab, callers, caller, called } = await office();
  const paused = called(asking(lab));
  const atWork = called(
    lab.graph({
      a: {
        body: (ctx) =>
          new Promise((_, reject) =>
            ctx.signal.addEventListener("abort", () => {
              aborts.push((ctx.signal.reason as Error).name);
              reject(ctx.signal.reason);
            })
          ),
      },
    }, { id: "busy" }),
  );
  const aborts: string[] = [];
  await lab.drive(paused.run(INPUT, { runId: "c1", caller }));
  await lab.drive(paused.run(INPUT, { runId: "c11", caller: { graphId: "g", runId: "c1", vertexId: "a" } }));
  const busy = atWork.run(INPUT, { runId: "c2", caller });
  await lab.clock.settle();
  const statuses = async () => {
    const all = ["p", "c1", "c11", "c2"].map((runId) => callers.status(runId));
    return (await Promise.all(all)).map((run) => run.status);
  };
  return { lab, callers, busy, aborts, statuses };
}

test("cancelling a run cancels the runs that work for it, at work or not, however deep (O5)", async () => {
  const { lab, callers, busy, aborts, statuses } = await family();
  await lab.drive(callers.cancel("p", "enough"));
  assert.deepEqual(await statuses(), Array(4).fill("cancelled"));
  assert.equal((await lab.drive(busy)).status, "cancelled");
  assert.deepEqual(aborts, ["RunCancelledError"]);
  assert.match((await callers.status("c11")).cancelReason!, /called it was cancelled/);
});

test("a run that its deadline ends takes with it what works for it (O5)", async () => {
  const { lab, caller, called } = await office();
  const runner = called(asking(lab));
  const ending = lab.engine(lab.graph({ v: { body: () => gate().promise } }, { id: "ending" }));
  const handle = await ending.start(INPUT, { runId: "d", deadline: "1h" });
  await lab.drive(runner.run(INPUT, { runId: "c", caller: { ...caller, runId: "d" } }));
  assert.equal((await lab.drive(handle.result())).status, "cancelled");
  assert.equal((await runner.status("c")).status, "cancelled");
});

test("cancelling again finishes what a crash has left (O5)", async () => {
  const { lab, caller, called, callers } = await office();
  const runner = called(asking(lab));
  await lab.drive(callers.cancel("p"));
  await lab.drive(runner.run(INPUT, { runId: "c", caller }));
  assert.equal((await lab.drive(callers.cancel("p"))).status, "cancelled");
  assert.equal((await runner.status("c")).status, "cancelled");
});

test("what had completed for a cancelled run stays completed, and its neighbours are left alone (O5)", async () => {
  const { lab, caller, called, callers } = await office();
  const runner = called(lab.graph({ a: { body: () => 1 } }));
  const asks = called(asking(lab));
  await lab.drive(runner.run(INPUT, { runId: "c", caller }));
  await lab.drive(callers.run(INPUT, { runId: "p2" }));
  await lab.drive(asks.run(INPUT, { runId: "other", caller: { ...caller, runId: "p2" } }));
  await lab.drive(callers.cancel("p"));
  assert.deepEqual([(await runner.status("c")).status, (await asks.status("other")).status], [
    "completed",
    "interrupted",
  ]);
});

test("a run is purged with all that work for it, so that one begun anew under its id finds nothing old (H4)", async () => {
  const { lab, callers, statuses, busy } = await family();
  await lab.drive(callers.cancel("p"));
  await lab.drive(busy);
  assert.equal(await lab.drive(callers.purge({ runId: "p" })), 1);
  for (const runId of ["p", "c1", "c11", "c2"]) {
    await lab.fails(callers.status(runId), "CheckpointNotFoundError");
  }
  await assert.rejects(statuses());
});

test("a fork of a run that works for another one is a run of its own (H2)", async () => {
  const { lab, caller, called, callers } = await office();
  const runner = called(asking(lab));
  const { run } = await lab.drive(runner.run(INPUT, { runId: "c", caller, tags: ["mine"] }));
  const { runId } = await runner.fork("c", run.revision);
  const [handle] = await runner.recover();
  assert.equal(handle?.runId, runId);
  const forked = interrupted(await lab.drive(handle!.result()));
  assert.deepEqual([forked.run.caller, forked.run.tags], [undefined, ["mine"]]);
  assert.deepEqual((await runner.waits()).rows.map((row) => row.runId), [runId]);
  await lab.drive(callers.cancel("p"));
  assert.equal((await runner.status(runId)).status, "interrupted");
});

test("the tags that lead from a run to those that work for it are nobody else's, and take ids of any length", async () => {
  const { lab, called, callers } = await office();
  const runner: Runner<State> = called(asking(lab));
  await assert.rejects(runner.start(INPUT, { tags: ["called-by:p"] }), ArgumentError);
  await assert.rejects(runner.submit(INPUT, { tags: ["called-by:p"] }), ArgumentError);
  const long = "x".repeat(128);
  await lab.drive(callers.run(INPUT, { runId: long }));
  await lab.drive(
    runner.run(INPUT, { runId: "c", caller: { graphId: "caller", runId: long, vertexId: "v" } }),
  );
  await lab.drive(callers.cancel(long));
  assert.equal((await runner.status("c")).status, "cancelled");
});

test("what a run works for is part of its record, live and reloaded alike", async () => {
  const { lab, caller, called } = await office();
  const graph = asking(lab);
  await lab.drive(called(graph).run(INPUT, { runId: "c", caller: { ...caller, item: 3 } }));
  assert.deepEqual((await lab.elsewhere(graph).status("c")).caller, { ...caller, item: 3 });
  assert.deepEqual((await recorded(called(graph), "c"))[0], ["created"]);
});

test("every record of a run that works for another one tells how far its callers were, whoever made it, and no other does", async () => {
  const { lab, callers, caller, called } = await office();
  const log = new CheckpointLog<State>(lab.store, lab.clock);
  const told = async (runId: string) => (await log.history(runId, 0, 100)).map((record) => record.callers);
  const graph = asking(lab);
  const runner = called(graph);
  const result = await lab.drive(runner.run(INPUT, { runId: "c", caller }));
  const { revision } = await callers.status("p");
  assert.ok((await told("c")).length > 1);
  assert.deepEqual(new Set((await told("c")).map(String)), new Set([String([revision])]));
  assert.deepEqual(new Set(await told("p")), new Set([undefined]));
  // One below tells of both, also when it is edited, or named by somebody who does not run.
  const below: RunCaller = { graphId: "g", runId: "c", vertexId: "a" };
  await lab.drive(runner.run(INPUT, { runId: "d", caller: below }));
  await runner.update("d", (s) => void s.log.push("edited"));
  assert.deepEqual(
    new Set((await told("d")).map(String)),
    new Set([String([result.run.revision, revision])]),
  );
  await lab.drive(runner.run(INPUT, { runId: "e", caller: { ...caller, runId: "nobody" } }));
  assert.deepEqual(new Set((await told("e")).map(String)), new Set([""]));
});

test("the context of a body tells the run that it calls how far it is now, and not how far it was when it began", async () => {
  const { lab, called } = await office();
  const held = gate();
  const runner = called(
    lab.graph({ a: { body: () => 0, to: "b" }, b: { body: () => held.promise } }, { id: "child" }),
  );
  const calling = lab.engine(lab.graph({
    v: { body: () => 0, to: ["w", "x"] },
    w: { body: async (ctx) => void await runner.run(INPUT, { runId: "c", caller: ctx }) },
    x: { body: (ctx) => ctx.once("x", () => 0) },
  }, { id: "calling" }));
  const running = calling.run(INPUT, { runId: "q" });
  await lab.clock.settle();
  const { revision } = await calling.status("q");
  held.open();
  assert.equal((await lab.drive(running)).status, "completed");
  const log = new CheckpointLog<State>(lab.store, lab.clock);
  const told = (await log.history("c", 0, 100)).map((record) => record.callers);
  assert.ok(told.every((callers) => callers?.length === 1));
  assert.ok(told[0]![0]! < revision);
  assert.equal(told.at(-1)![0], revision);
});
