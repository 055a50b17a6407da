// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { CheckpointNotFoundError, SerializationError, ValidationError } from "../../src/errors.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { VertexFailure } from "../../src/model/failure.ts";
import { defineWait } from "../../src/decorators/mod.ts";
import {
  chainOf,
  completed,
  engine,
  gate,
  graphOf,
  interrupted,
  type Notes,
  notes,
} from "../support/graphs.ts";

const boom = new Error("boom");

test("a state shares nothing with the caller's input, and empty values stay what they are (TSK-20)", async () => {
  const input = {
    log: [],
    map: new Map([["k", { n: [1] }]]),
    list: [{ deep: { x: 1 } }],
    empty: { a: [], m: new Map(), s: new Set(), t: "", z: 0, f: false, n: null },
  };
  const expected = structuredClone(input);
  const held = gate();
  const e = engine(graphOf<Notes>({ vertices: { v: { run: () => held.promise, reduce: () => {} } } }));
  const handle = await e.runner.start(input);
  input.map.get("k")!.n.push(2);
  input.list[0]!.deep.x = 2;
  (input.empty.a as number[]).push(1);
  held.open();
  const live = completed(await e.clock.drive(handle.result()));
  assert.deepEqual(live.state, expected);
  const reloaded = await e.restart().runner.get(handle.runId);
  assert.deepEqual(reloaded.state, expected);
  assert.notEqual(reloaded.state.list, live.state.list);
});

test("an input that cannot be stored rejects the start, names the place and leaves nothing behind (TSK-21, TSK-22)", async () => {
  const e = engine(chainOf("v"));
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  for (
    const [bad, path] of [[() => {}, "bad"], [cyclic, "bad.self"], [new (class Custom {})(), "bad"], [
      Promise.resolve(),
      "bad",
    ]] as const
  ) {
    await assert.rejects(e.run(notes({ bad }), { runId: "r" }), (error) => {
      assert.ok(error instanceof SerializationError);
      assert.match(error.message, new RegExp(path));
      return true;
    });
  }
  assert.equal(e.ran(), 0);
  assert.deepEqual((await e.runner.list()).rows, []);
  await assert.rejects(e.runner.status("r"), CheckpointNotFoundError);
});

test("a schema that refuses what it made itself is refused at the start (TSK-21)", async () => {
  const schema = z.object({ log: z.array(z.string()), n: z.string().transform((text) => text.length) });
  const e = engine(
    graphOf<z.infer<typeof schema>>({ schema: schema as never, vertices: { v: { reduce: () => {} } } }),
  );
  await assert.rejects(e.run({ log: [], n: "four" }), ValidationError);
  assert.equal(e.ran(), 0);
  assert.deepEqual((await e.runner.list()).rows, []);
});

test("a reducer that commits what cannot be stored fails its vertex, and the state before it stands (TSK-23, TSK-24)", async () => {
  const e = engine(graphOf({
    vertices: {
      a: { to: "b" },
      b: { retry: { maxAttempts: 3 }, reduce: (s) => void (s.bad = { deep: () => {} }) },
    },
  }));
  const result = interrupted(await e.run(notes()), "errored");
  const [failed] = result.failures;
  assert.deepEqual([failed!.vertexId, failed!.failure.phase, failed!.failure.name], [
    "b",
    "serialize",
    "SerializationError",
  ]);
  assert.match(failed!.error.message, /bad\.deep/);
  assert.deepEqual([result.state.log, "bad" in result.state, e.ran("b")], [["a"], false, 1]);
  assert.deepEqual((await e.restart().runner.get(result.run.runId)).state, notes({ log: ["a"] }));
});

test("a state that cannot be stored takes the error route where there is one (TSK-24)", async () => {
  const e = engine(graphOf({
    vertices: {
      v: {
        reduce: (s) => void (s.bad = Symbol("x")),
        to: "next",
        onError: { route: "handler", record: (s, f) => void (s.failed = f.phase) },
      },
      next: {},
      handler: { finish: true },
    },
  }));
  assert.deepEqual(completed(await e.run(notes())).state, { log: ["handler"], failed: "serialize" });
});

test("what a later step sees is what a reload gives: one object kept in two fields is two (TSK-25)", async () => {
  const shared = { n: 1 };
  const e = engine(graphOf({
    vertices: {
      a: { reduce: (s) => void (s.one = shared, s.two = shared), to: "b" },
      b: { reduce: (s) => void ((s.one as { n: number }).n = 2) },
    },
  }));
  const live = completed(await e.run(notes())).state;
  assert.deepEqual(live, { log: [], one: { n: 2 }, two: { n: 1 } });
  assert.deepEqual(shared, { n: 1 });
  assert.equal(Object.isFrozen(shared), false);
  assert.deepEqual((await e.restart().runner.get((await e.runner.list()).rows[0]!.runId)).state, live);
});

test("a body that goes on after a fault of its own and returns has failed; its output is discarded (TSK-26)", async () => {
  const undeclared = defineWait("undeclared", z.string());
  const e = engine(graphOf({
    vertices: {
      v: {
        run: async (_input, ctx) => {
          try {
            await ctx.waitFor(undeclared);
          } catch {
            // Goes on as if nothing had happened.
          }
          return "output";
        },
        reduce: (s, out) => void (s.out = out),
      },
    },
  }));
  const result = interrupted(await e.run(notes()), "errored");
  assert.equal(result.failures.length, 1);
  assert.equal("out" in result.state, false);
  assert.equal((await e.eventsOf(result.run.runId, "done")).length, 0);
});

test("all attempts of an execution share one vertex-run id; a failed vertex gets a new one when it is resumed (TSK-28)", async () => {
  const ids: string[] = [];
  const e = engine(graphOf({
    vertices: {
      v: {
        retry: { maxAttempts: 3 },
        run: (_input, ctx) => {
          ids.push(ctx.vertexRunId);
          throw boom;
        },
      },
    },
  }));
  const { run, failures } = interrupted(await e.run(notes()), "errored");
  const again = interrupted(await e.resume(run.runId), "errored");
  assert.equal(ids.length, 6);
  assert.deepEqual(ids.slice(0, 3), [ids[0], ids[0], ids[0]]);
  assert.deepEqual(ids.slice(3), [ids[3], ids[3], ids[3]]);
  assert.notEqual(ids[0], ids[3]);
  assert.deepEqual([failures[0]!.error.vertexRunId, again.failures[0]!.error.vertexRunId], [ids[0], ids[3]]);
});

test("a failed vertex is recorded with the text of its cause under both policies, a done one without (TSK-30)", async () => {
  const e = engine(graphOf({
    vertices: {
      start: { to: ["paused", "routed"] },
      paused: { run: () => Promise.reject(new Error("first text")) },
      routed: { run: () => Promise.reject(new Error("second text")), onError: { route: "handler" } },
      handler: { finish: true },
    },
    finish: "handler",
  }));
  const { run } = interrupted(await e.run(notes()), "errored");
  const failed = await e.eventsOf(run.runId, "failed");
  const texts = new Map(failed.map((f) => [f.vertexId, [f.failure.message, f.handler]]));
  assert.deepEqual(
    texts,
    new Map([["paused", ["first text", undefined]], ["routed", ["second text", "handler"]]]),
  );
  for (const done of await e.eventsOf(run.runId, "done")) assert.equal("failure" in done, false);
});

test("a vertex that waits is recorded as suspended and as nothing else (TSK-31)", async () => {
  const e = engine(graphOf({ vertices: { v: { run: (_input, ctx) => ctx.interrupt("why") } } }));
  const result = interrupted(await e.run(notes()), "awaiting");
  const types = (await e.events(result.run.runId)).map((event) => event.type);
  assert.deepEqual(types, ["created", "opened", "suspended", "released"]);
  const { interruptedAt, completedAt, cancelledAt } = result.run;
  assert.deepEqual([typeof interruptedAt, completedAt, cancelledAt], ["number", undefined, undefined]);
  assert.deepEqual([result.failures, result.waits.map((w) => w.vertexId)], [[], ["v"]]);
});

test("select, reduce and pick get the state alone, and a context that leaked to them is of no use (TSK-32)", async () => {
  let leaked: TaskContext | undefined;
  const argumentCounts: number[] = [];
  const used = (use: () => unknown) => {
    try {
      return use(), "used";
    } catch (error) {
      return (error as Error).name;
    }
  };
  const uses: unknown[] = [];
  const e = engine(graphOf({
    vertices: {
      a: {
        select: (...args: unknown[]) => void argumentCounts.push(args.length),
        run: (_input, ctx) => void (leaked = ctx),
        reduce: (...args: unknown[]) => {
          argumentCounts.push(args.length);
          uses.push(used(() => leaked!.answer()), used(() => leaked!.continuation()));
        },
        targets: ["b"],
        pick: (...args: unknown[]) => {
          argumentCounts.push(args.length);
          uses.push(used(() => leaked!.interrupt()), used(() => leaked!.sleep("s", 1)));
          return "b";
        },
      },
      b: {},
    },
  }));
  completed(await e.run(notes()));
  assert.deepEqual(argumentCounts, [1, 2, 1]);
  assert.deepEqual(uses, ["ContextError", "ContextError", "ContextError", "ContextError"]);
});

test("what record receives is plain data that names the failure (TSK-30)", async () => {
  let received: VertexFailure | undefined;
  const e = engine(graphOf({
    vertices: {
      v: {
        run: () => Promise.reject(Object.assign(new TypeError("bad"), { code: "E1", data: { a: 1 } })),
        onError: { route: "handler", record: (_s, f) => void (received = f) },
        to: "handler",
      },
      handler: {},
    },
  }));
  completed(await e.run(notes()));
  assert.deepEqual(received, {
    name: "TypeError",
    message: "bad",
    code: "E1",
    attempt: 1,
    data: { a: 1 },
    phase: "execute",
  });
});
