import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, type TaskContext } from "../../mod.ts";
import { gate, INPUT, interrupted, Lab, mortal } from "./lab.ts";

const Ok = defineWait("ok", z.string());
const Other = defineWait("other", z.string());
const ask = (ctx: TaskContext) => ctx.answer()?.value ?? ctx.interrupt();

test("the result of a once is durable before it is returned, and fn never runs again in re-runs, retries and other processes (T1)", async () => {
  const lab = new Lab();
  let calls = 0;
  let durable: unknown;
  const graph = lab.graph({
    a: {
      retry: { maxAttempts: 2 },
      body: async (ctx) => {
        const value = await ctx.once("charge", () => ++calls);
        const tail = (await lab.engine(graph).history(ctx.runId)).rows.flatMap((h) => h.events);
        durable ??= tail.filter((e) => e.type === "once").map((e) => [e.vertexId, e.name, e.value]);
        if (ctx.answer() === undefined) return ctx.interrupt();
        if (ctx.attempt === 1) throw new Error("again");
        return value;
      },
    },
  });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  assert.deepEqual(durable, [["a", "charge", 1]]);
  const result = await lab.drive(lab.elsewhere(graph).resume(run.runId, { payload: 0 }));
  assert.deepEqual([result.status, result.state.out.a], ["completed", 1]);
  assert.deepEqual([calls, lab.count("a")], [1, 3]);
});

test("a later execution of the same vertex has a once of its own, under its own key (T1)", async () => {
  const lab = new Lab();
  const keys: string[] = [];
  const graph = lab.graph({
    a: {
      body: (ctx) => ctx.once("x", ({ idempotencyKey }) => void keys.push(idempotencyKey)),
      route: { targets: ["a", "end"], pick: (s) => s.log.length < 2 ? "a" : "end" },
    },
    end: { body: () => 0 },
  });
  await lab.drive(lab.engine(graph).run(INPUT, { runId: "r" }));
  assert.deepEqual(keys, [
    "graph=g/run=r/step=0/vertex=a/once=x",
    "graph=g/run=r/step=1/vertex=a/once=x",
  ]);
});

test("a once that threw has no result and runs again under the same key; the body may catch it (T1)", async () => {
  const lab = new Lab();
  const keys: string[] = [];
  const graph = lab.graph({
    a: {
      retry: { maxAttempts: 2 },
      body: (ctx) =>
        ctx.once("x", ({ idempotencyKey }) => {
          keys.push(idempotencyKey);
          if (keys.length === 1) throw new Error("boom");
          return "ok";
        }),
      to: "b",
    },
    b: {
      body: async (ctx) => {
        const failed = await ctx.once("y", () => Promise.reject(new Error("no"))).catch((e: Error) =>
          e.message
        );
        return [failed, await ctx.once("z", () => "yes")];
      },
    },
  });
  const result = await lab.drive(lab.engine(graph).run(INPUT));
  assert.deepEqual(result.state.out, { a: "ok", b: ["no", "yes"] });
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
});

test("a crash between two onces keeps the first and runs the second again under the same key (T1)", async () => {
  const lab = new Lab();
  const ran: string[] = [];
  const stuck = gate();
  const graph = lab.graph({
    a: {
      body: async (ctx) => {
        const first = await ctx.once("first", ({ idempotencyKey }) => (ran.push(idempotencyKey), "1"));
        const second = await ctx.once("second", async ({ idempotencyKey }) => {
          ran.push(idempotencyKey);
          if (lab.count("a") === 1) await stuck.promise;
          return "2";
        });
        return first + second;
      },
    },
  });
  const first = mortal(lab.store);
  await lab.engine(graph, { store: first.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  first.kill();
  stuck.open();
  await lab.clock.advance("20s");
  const [handle] = await lab.drive(lab.elsewhere(graph).recover());
  const result = await lab.drive(handle!.result());
  assert.deepEqual([result.status, result.state.out.a], ["completed", "12"]);
  const key = "graph=g/run=r/step=0/vertex=a/once=";
  assert.deepEqual(ran, [`${key}first`, `${key}second`, `${key}second`]);
});

test("concurrent onces of a body are each recorded, and none runs twice (T1)", async () => {
  const lab = new Lab();
  const ran: number[] = [];
  const graph = lab.graph({
    a: {
      body: async (ctx) => {
        const all = await Promise.all(
          [0, 1, 2, 3, 4].map((i) => ctx.once(`n${i}`, () => (ran.push(i), Promise.resolve(i * i)))),
        );
        return [all, ask(ctx)];
      },
    },
  });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  const result = await lab.drive(lab.elsewhere(graph).resume(run.runId, { payload: "p" }));
  assert.deepEqual(result.state.out.a, [[0, 1, 4, 9, 16], "p"]);
  assert.deepEqual(ran, [0, 1, 2, 3, 4]);
});

test("a once in flight while the body pauses or returns is finished and recorded first (T1)", async () => {
  const lab = new Lab();
  const slow = () => new Promise((resolve) => lab.clock.wakeAt(lab.clock.now() + 9_000, () => resolve("s")));
  let ran = 0;
  const graph = lab.graph({
    a: {
      body: (ctx) => {
        const once = ctx.once("slow", () => (ran++, slow()));
        return ctx.answer() === undefined ? ctx.interrupt() : once;
      },
    },
  });
  const paused = await lab.drive(lab.engine(graph).run(INPUT));
  interrupted(paused);
  const recorded = (await lab.engine(graph).history(paused.run.runId)).rows.flatMap((h) => h.events);
  assert.ok(recorded.some((e) => e.type === "once" && e.value === "s"));
  const result = await lab.drive(lab.elsewhere(graph).resume(paused.run.runId, { payload: 0 }));
  assert.deepEqual([result.state.out.a, ran], ["s", 1]);
});

test("a once abandoned by a timeout records nothing, sees the abort, and runs again in the next attempt (T1)", async () => {
  const lab = new Lab();
  const late = gate<string>();
  const reasons: unknown[] = [];
  let ran = 0;
  const graph = lab.graph({
    a: {
      retry: { maxAttempts: 2 },
      timeout: "5s",
      body: (ctx) =>
        ctx.once("x", ({ signal }) => {
          ran += 1;
          signal.addEventListener("abort", () => reasons.push((signal.reason as Error).name));
          return ran === 1 ? late.promise : "second";
        }),
      to: "b",
    },
    b: { body: (ctx) => (late.open("late"), ctx.sleep("s", "1s")) },
  });
  const runner = lab.engine(graph);
  const result = await lab.drive(runner.run(INPUT));
  assert.deepEqual([result.status, result.state.out.a, ran], ["completed", "second", 2]);
  assert.deepEqual(reasons, ["VertexTimeoutError"]);
  const onces = (await runner.history(result.run.runId)).rows.flatMap((h) => h.events).filter((e) =>
    e.type === "once"
  );
  assert.deepEqual(onces.map((e) => e.value), ["second"]);
});

test("two onces of one name in a body fail the vertex, and the first one's result stands (T1)", async () => {
  const lab = new Lab();
  let ran = 0;
  const graph = lab.graph({
    a: {
      retry: { maxAttempts: 3 },
      body: async (ctx) => {
        await ctx.once("x", () => ++ran);
        await ctx.once("x", () => ++ran);
      },
    },
  });
  const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  assert.equal(result.failures[0]?.failure.name, "ContextError");
  assert.match(result.failures[0]!.failure.message, /once\("x"\) twice/);
  assert.deepEqual([ran, lab.count("a")], [1, 1]);
});

test("a schema checks the result of a once when it is recorded and when it is read back (T1)", async () => {
  const lab = new Lab();
  let ran = 0;
  const graph = (schema: z.ZodType, value: unknown) =>
    lab.graph({
      a: {
        body: async (ctx) => {
          const out = await ctx.once("x", () => (ran++, value), { schema });
          return [out, ask(ctx)];
        },
      },
    });
  const refused = interrupted(await lab.drive(lab.engine(graph(z.number(), "text")).run(INPUT)));
  assert.equal(refused.failures[0]?.failure.name, "ValidationError");
  const shaped = z.object({ n: z.number().default(7) });
  const { run } = await lab.drive(lab.engine(graph(shaped, {})).run(INPUT));
  const strict = lab.engine(graph(z.object({ n: z.string() }), {}));
  const later = interrupted(await lab.drive(strict.resume(run.runId, { payload: 0 })));
  assert.deepEqual([later.reason, later.failures[0]?.failure.name], ["errored", "ValidationError"]);
  const result = await lab.drive(lab.engine(graph(shaped, {})).resume(run.runId));
  assert.deepEqual(result.state.out.a, [{ n: 7 }, 0]);
  assert.equal(ran, 2);
});

test("a result of once that cannot be stored fails the vertex without a retry (T1)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { retry: { maxAttempts: 3 }, body: (ctx) => ctx.once("x", () => () => {}).catch(() => "swallowed") },
  });
  const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  assert.deepEqual([result.failures[0]?.failure.name, lab.count("a")], ["SerializationError", 1]);
});

test("a body runs again with its input selected anew from the state that the step began with (T1)", async () => {
  const lab = new Lab();
  const inputs: { list: string[] }[] = [];
  const graph = lab.graph({
    a: {
      select: (s) => ({ list: [...s.log] }),
      body: (ctx, input: { list: string[] }) => {
        inputs.push({ list: [...input.list] });
        input.list.push("edited by the body");
        return ask(ctx);
      },
    },
  });
  const { run } = await lab.drive(lab.engine(graph).run(INPUT));
  await lab.drive(lab.engine(graph).resume(run.runId, { payload: 0 }));
  assert.deepEqual(inputs, [{ list: [] }, { list: [] }]);
});

for (const end of ["fails", "succeeds"] as const) {
  test(`a once that the body before has begun, and this one does not ask for, keeps the run only until it ${end} (T1, T8)`, async () => {
    const lab = new Lab();
    const { promise, open } = gate();
    const graph = lab.graph({
      v: { body: () => 0, to: ["a", "b"] },
      a: {
        waits: [Ok, Other],
        body: async (ctx) => {
          if (lab.count("a") === 1) {
            ctx.once("left", async () => {
              await promise;
              if (end === "fails") throw new Error("down");
            }).catch(() => {});
          }
          await ctx.waitFor(Ok);
          return await ctx.waitFor(Other);
        },
      },
      b: { body: (ctx) => ctx.sleep("s", "20s") },
    });
    const runner = lab.engine(graph);
    const handle = await lab.drive(runner.start(INPUT));
    const result = handle.result();
    await lab.clock.advance("1s");
    await runner.answer(
      handle.runId,
      (await runner.waits()).rows.find((w) => w.name === "ok")!.waitId,
      "yes",
    );
    await lab.clock.advance("1m");
    assert.deepEqual([lab.count("a"), (await runner.status(handle.runId)).status], [2, "running"]);
    open();
    const { status, run } = await lab.drive(result);
    assert.deepEqual([status, run.reason], ["interrupted", "awaiting"]);
  });
}

test("a once that its body did not wait for keeps no run whose other bodies wait (T1, T8)", async () => {
  const lab = new Lab();
  const aborted: unknown[] = [];
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: {
      body: async (ctx) => {
        ctx.once("left", ({ signal }) => {
          signal.addEventListener("abort", () => aborted.push(signal.reason));
          return new Promise(() => {});
        });
        await lab.clock.sleep("1s");
        return "done";
      },
    },
    b: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
  });
  const { status, run } = await lab.drive(lab.engine(graph).run(INPUT));
  assert.deepEqual([status, run.reason, aborted.length], ["interrupted", "awaiting", 1]);
});

test("a result of once above maxStateBytes fails the vertex without a retry, as one that cannot be stored does (C5, T1)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      retry: { maxAttempts: 3 },
      body: (ctx) => ctx.once("large", () => "x".repeat(20_000)).then(() => 1),
    },
  });
  const result = interrupted(await lab.drive(lab.engine(graph, { maxStateBytes: 10_000 }).run(INPUT)));
  const { failure } = result.failures[0]!;
  assert.deepEqual([failure.phase, failure.code, lab.count("a")], ["serialize", "STATE_SIZE", 1]);
});
