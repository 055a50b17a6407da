// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { defineWait, type Hooks, type RunEvent, StoreError, WaitExpiredError } from "../../mod.ts";
import type { Store } from "../../src/store/store.ts";
import { z } from "zod";
import { EVENTS, gate, INPUT, Lab, openId, recorder, type Spec } from "../waits/lab.ts";

const Ok = defineWait("ok", z.boolean());
const ASKING: Spec = { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt() };

type Of<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>;

const all = <T extends RunEvent["type"]>(events: readonly RunEvent[], type: T): Of<T>[] =>
  events.filter((e): e is Of<T> => e.type === type);

test("who goes on with a run is told, and a start is told as a start", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: ASKING });
  const started = recorder();
  const resumed: Of<"runResume">[] = [];
  const hooks: Hooks = { runResume: (e) => void resumed.push(e) };
  await lab.drive(lab.engine(graph, { hooks: [started.hooks, hooks] }).run(INPUT, { runId: "r" }));
  assert.deepEqual([resumed.length, all(started.events, "runStart").length], [0, 1]);
  const owner = (e: Of<"runResume">) => e.run.owner !== undefined;
  await lab.drive(lab.elsewhere(graph, { hooks }).resume("r", { payload: 1 }));
  assert.deepEqual(resumed.map((e) => [e.recovery, owner(e)]), [[false, true]]);
});

test("who leaves a run that is not over is told, with the reason: an abort, a takeover, a store that fails", async () => {
  const left = async (
    end: (lab: Lab, abort: (reason: Error) => void) => unknown,
    store?: (lab: Lab) => Store,
  ) => {
    const lab = new Lab();
    const graph = lab.graph({ a: { body: () => lab.count("a") === 1 ? gate().promise : 0 } });
    const events: Of<"runLeave">[] = [];
    const ends: string[] = [];
    const controller = new AbortController();
    const runner = lab.engine(graph, {
      hooks: { runLeave: (e) => void events.push(e), runFinish: (e) => void ends.push(e.run.status) },
      ...(store === undefined ? {} : { store: store(lab) }),
    });
    const running = runner.run(INPUT, { runId: "r", signal: controller.signal, deadline: "1h" });
    running.catch(() => {});
    await lab.clock.settle();
    const more = end(lab, (reason) => controller.abort(reason));
    const error = await lab.drive(running.then(() => undefined, (e: unknown) => e));
    await more;
    assert.deepEqual(ends, []);
    assert.deepEqual(events.map((e) => [e.run.runId, e.error]), [["r", error]]);
    return (error as Error).name;
  };
  assert.equal(await left((_, abort) => abort(new Error("shutdown"))), "RunAbortedError");
  const takeOver = (lab: Lab) => {
    const other = lab.elsewhere(lab.graph({ a: { body: () => 0 } }));
    return lab.drive(other.resume("r", { takeover: true }));
  };
  assert.equal(await left(takeOver), "OwnershipLostError");
  const failing = (lab: Lab): Store => ({
    ...lab.store,
    append: (runId, at, ...more) =>
      at > 0
        ? Promise.reject(new StoreError("append", "the disk is gone"))
        : lab.store.append(runId, at, ...more),
  });
  assert.equal(await left(() => {}, failing), "StoreError");
});

test("how each wait ends is told, once: an answer, a time, a deadline, a later opening, the end of the body, a cancel", async () => {
  const lab = new Lab();
  const told: string[] = [];
  const names = new Map<string, string>();
  const hooks: Hooks = {
    wait: (e) => void names.set(e.waitId, `${e.kind} ${e.name}`),
    answer: (e) => void told.push(`${names.get(e.waitId)}: answered`),
    waitClosed: (e) => void told.push(`${names.get(e.waitId)}: ${e.reason}`),
  };
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: async (ctx) => {
        await ctx.sleep("nap", "1s");
        await ctx.waitFor(Ok, { deadline: "1s" }).catch((error) => {
          if (!(error instanceof WaitExpiredError)) throw error;
        });
        const late = ctx.waitFor(Ok);
        await Promise.race([late, ctx.sleep("once-more", "1s")]);
        return await Promise.race([ctx.waitFor(Ok), ctx.sleep("far", "1h")]);
      },
      to: "b",
    },
    b: ASKING,
  });
  const runner = lab.engine(graph, { hooks });
  const paused = await lab.drive(runner.run(INPUT, { runId: "r" }));
  assert.deepEqual(told.splice(0), [
    "timer nap: fired",
    "answer ok: expired",
    "timer once-more: fired",
    "answer ok: superseded",
  ]);
  await runner.answer("r", openId(paused, "ok"), true);
  const asking = await lab.drive(runner.resume("r"));
  assert.equal(asking.status, "interrupted");
  assert.deepEqual(told.splice(0), ["answer ok: answered", "timer far: settled"]);
  await lab.drive(runner.cancel("r"));
  assert.deepEqual(told, ["interrupt interrupt: cancelled"]);
});

test("a refused answer closes its wait and opens it again, and both are told", async () => {
  const lab = new Lab();
  const ask = (schema: z.ZodType<unknown>): Spec => {
    const wait = defineWait("ok", schema);
    return { waits: [wait], body: (ctx) => ctx.waitFor(wait) };
  };
  const before = lab.graph({ a: ask(z.unknown()) });
  const paused = await lab.drive(lab.engine(before).run(INPUT, { runId: "r" }));
  await lab.engine(before).answer("r", openId(paused, "ok"), "text");
  const { hooks, events } = recorder();
  const closed: unknown[] = [];
  const runner = lab.engine(lab.graph({ a: ask(z.number()) }), {
    hooks: [hooks, { waitClosed: (e) => void closed.push([e.waitId, e.reason]) }],
  });
  const again = await lab.drive(runner.resume("r"));
  assert.deepEqual(closed, [[openId(paused, "ok"), "refused"]]);
  assert.deepEqual(all(events, "wait").map((e) => [e.waitId, e.name, e.kind]), [
    [openId(again, "ok"), "ok", "answer"],
  ]);
});

test("the start of a vertex is told once a step, also when its body runs again, and in each round of a loop", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      body: async (ctx) => {
        await ctx.sleep("nap", 10);
        return await ctx.once("round", () => ctx.step);
      },
      route: { targets: ["a", "end"], pick: (s) => s.log.length < 3 ? "a" : "end" },
    },
    end: { body: () => 0 },
  });
  const { hooks, events } = recorder();
  await lab.drive(lab.engine(graph, { hooks }).run(INPUT));
  assert.deepEqual(all(events, "vertexStart").map((e) => `${e.vertexId} ${e.step}`), [
    "a 0",
    "a 1",
    "a 2",
    "end 3",
  ]);
  assert.equal(lab.count("a"), 6);
});

test("an answer and a cancel that come from another process are told where the run is at work, item by item", async () => {
  const lab = new Lab();
  const { hooks, events } = recorder();
  const graph = lab.graph({
    m: {
      each: () => [0, 1],
      waits: [Ok],
      body: async (ctx) => {
        await Promise.race([ctx.waitFor(Ok), ctx.sleep("at-work", "20s")]);
        return await gate().promise;
      },
    },
  });
  const other = recorder();
  const elsewhere = lab.elsewhere(graph, { hooks: other.hooks });
  const running = lab.engine(graph, { hooks }).run(INPUT, { runId: "r" });
  await lab.clock.settle();
  const wait = (await elsewhere.waits()).rows.find((row) => row.item === 1)!;
  await elsewhere.answer("r", wait.waitId, true);
  await lab.clock.advance("2s");
  assert.deepEqual(all(events, "answer").map((e) => [e.vertexId, e.item, e.waitId]), [["m", 1, wait.waitId]]);
  assert.deepEqual(all(events, "vertexStart").map((e) => [e.item, e.items]), [[0, 2], [1, 2]]);
  const cancelled = elsewhere.cancel("r", "enough");
  assert.equal((await lab.drive(running)).status, "cancelled");
  await lab.drive(cancelled);
  assert.deepEqual(all(events, "runFinish").map((e) => e.run.cancelReason), ["enough"]);
  assert.deepEqual(other.events, []);
});

test("ctx.emit: told at once to whoever listens, recorded nowhere, and ignored once the attempt is over", async () => {
  const lab = new Lab();
  let late = () => {};
  const graph = lab.graph({
    a: {
      timeout: "1s",
      onError: { route: "b" },
      body: (ctx) => {
        ctx.emit("begun", { data: new Map([[1, 2]]) });
        late = () => ctx.emit("late");
        return gate().promise;
      },
    },
    b: { body: () => late() },
  });
  const { hooks, events } = recorder();
  const runner = lab.engine(graph, { hooks });
  const { run } = await lab.drive(runner.run(INPUT));
  late();
  assert.deepEqual(all(events, "emit").map((e) => [e.vertexId, e.name, e.data]), [
    ["a", "begun", { data: new Map([[1, 2]]) }],
  ]);
  const recorded = JSON.stringify((await runner.history(run.runId)).rows);
  assert.ok(!recorded.includes("begun"));
});

/** A runner of one body that emits numbers, with a handle that has begun. */
async function emitting(count: number) {
  const lab = new Lab();
  const begin = gate();
  const graph = lab.graph({
    a: {
      body: async (ctx) => {
        await begin.promise;
        for (let n = 0; n < count; n++) ctx.emit("n", n);
      },
    },
  });
  const handle = await lab.engine(graph).start(INPUT);
  return { lab, handle, begin: () => begin.open() };
}

test("events: a reader that is slow gets the newest events, and how many it has missed in their place", async () => {
  const { lab, handle, begin } = await emitting(50);
  const slow = handle.events({ limit: 10 });
  const quick: string[] = [];
  const reading = (async () => {
    for await (const event of handle.events()) {
      quick.push(event.type === "emit" ? `n ${event.data}` : event.type);
    }
  })();
  begin();
  await lab.drive(handle.result());
  await reading;
  assert.deepEqual(
    quick.filter((line) => line.startsWith("n ")),
    Array.from({ length: 50 }, (_, n) => `n ${n}`),
  );
  assert.ok(!quick.includes("missed"));
  const rest: unknown[] = [];
  for await (const event of slow) rest.push(event.type === "missed" ? event.count : event.type);
  assert.equal(rest.length, 11);
  assert.equal(rest.at(-1), "runFinish");
  assert.ok(Number(rest[0]) > 40);
});

test("events: each reader gets everything from its own beginning on; one that leaves gets nothing more", async () => {
  const { lab, handle, begin } = await emitting(3);
  const leaving = handle.events();
  const staying = handle.events();
  const [first, second] = await Promise.all([leaving.next(), leaving.next()]);
  assert.deepEqual([first.value?.type, second.value?.type], ["checkpoint", "runStart"]);
  const pending = leaving.next().then(() => leaving.next());
  await lab.clock.settle();
  assert.deepEqual(await leaving.return!(), { done: true, value: undefined });
  assert.deepEqual(await pending, { done: true, value: undefined });
  begin();
  await lab.drive(handle.result());
  assert.deepEqual(await leaving.next(), { done: true, value: undefined });
  const told: string[] = [];
  for await (const event of staying) told.push(event.type);
  assert.deepEqual(told.filter((type) => type === "emit").length, 3);
  assert.equal(told[0], "checkpoint");
  const after: string[] = [];
  for await (const event of handle.events()) after.push(event.type);
  assert.deepEqual(after, []);
});

test("events: a limit that is no number from 1 is refused", async () => {
  const { lab, handle, begin } = await emitting(0);
  for (const limit of [0, -1, 1.5, NaN]) assert.throws(() => handle.events({ limit }), /limit/);
  begin();
  await lab.drive(handle.result());
});

test("events: a run that ends in an error ends its streams without one, and rejects nothing that nobody asked for", async (t) => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  t.after(() => process.off("unhandledRejection", note));
  const lab = new Lab();
  const controller = new AbortController();
  const graph = lab.graph({ a: { body: () => gate().promise } });
  const handle = await lab.engine(graph).start(INPUT, { signal: controller.signal });
  const types: string[] = [];
  const reading = (async () => {
    for await (const event of handle.events()) types.push(event.type);
  })();
  await lab.clock.settle();
  controller.abort();
  await reading;
  assert.equal(types.at(-1), "runLeave");
  for (let turn = 0; turn < 5; turn++) await lab.clock.settle();
  assert.deepEqual(unhandled, []);
});

test("events of a handle to a run of a dead process: what happens once this process has taken the run over", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: () => lab.count("a") === 1 ? gate().promise : 0 } });
  const dying = lab.clock.fork();
  (await lab.engine(graph, { runtime: dying, store: { ...lab.store } }).start(INPUT, { runId: "r" })).result()
    .catch(() => {});
  await lab.clock.settle();
  dying.stop();
  const handle = await lab.elsewhere(graph).start(INPUT, { runId: "r" });
  const types: string[] = [];
  const reading = (async () => {
    for await (const event of handle.events()) {
      types.push(event.type === "runResume" && event.recovery ? "runResume after a crash" : event.type);
    }
  })();
  await lab.drive(reading);
  assert.deepEqual(types.slice(0, 2), ["checkpoint", "runResume after a crash"]);
  assert.equal(types.at(-1), "runFinish");
  assert.equal((await handle.result()).status, "completed");
});

test("a run that is observed by everything there is leaves the same records and result (OBS-36)", async () => {
  const play = async (hooks: readonly Hooks[], read: boolean) => {
    const lab = new Lab();
    const graph = lab.graph({
      v: { body: () => 0, to: ["a", "m"] },
      a: {
        retry: { maxAttempts: 2 },
        body: async (ctx) => {
          if (ctx.attempt === 1) throw new Error("again");
          ctx.emit("hello");
          await ctx.once("o", () => 1);
          await ctx.sleep("nap", "1s");
          return 1;
        },
        to: "end",
      },
      m: { each: () => [1, 2], waits: [Ok], body: (ctx) => ctx.waitFor(Ok), to: "end" },
      end: { join: "all", body: () => 0 },
    });
    const runner = lab.engine(graph, { hooks });
    const handle = await runner.start(INPUT, { runId: "r" });
    const reading = read
      ? (async () => {
        for await (const _ of handle.events());
      })()
      : undefined;
    await lab.drive(handle.result());
    await reading;
    const result = await lab.drive(runner.resume("r", { payload: true, all: true }));
    const { rows } = await runner.history("r");
    // A stack tells also who called the body.
    const records = rows.map(({ events, bytes: _, ...row }) => ({
      ...row,
      events: events.map((event) => ({ ...event, stack: undefined })),
    }));
    return { state: result.state, path: result.path, run: { ...result.run, owner: undefined }, records };
  };
  const bare = await play([], false);
  const hooks: Hooks = {
    ...Object.fromEntries(EVENTS.map((type) => [type, () => {}])),
    around: (_, body) => void body(),
  };
  assert.deepEqual(await play([hooks, hooks], true), bare);
});
