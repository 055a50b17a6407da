// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { type CompiledGraph, defineWait, type RunCaller, type Runner, type TaskContext } from "../../mod.ts";
import { CheckpointLog } from "../../src/checkpoint/log.ts";
import { isAwaited } from "../../src/engine/child_runs.ts";
import { CheckpointDecodeError, StoreError } from "../../src/errors.ts";
import { type AroundStore, aroundStore } from "../../src/testing/around_store.ts";
import { anotherHandle, gate, INPUT, interrupted, Lab, mortal, type State } from "../waits/lab.ts";

/** A child of one body, and a caller that starts it once `before` has passed. */
function family(lab: Lab, around: AroundStore = (call) => call.apply()) {
  const body = gate<string>();
  const child = lab.graph({ c: { body: () => body.promise } }, { id: "child" });
  const store = aroundStore(lab.store, around);
  const children = lab.engine(child, { store });
  const callers = (
    before: (ctx: TaskContext) => Promise<unknown> | unknown,
    more: Partial<Parameters<Lab["graph"]>[0][string]> = {},
    rest: Parameters<Lab["graph"]>[0] = {},
  ) =>
    lab.engine(
      lab.graph({
        v: {
          body: async (ctx) => {
            await before(ctx);
            const { status } = await children.run(INPUT, { caller: ctx, idempotencyKey: ctx.idempotencyKey });
            return status;
          },
          ...more,
        },
        ...rest,
      }, { id: "parent" }),
      { store },
    );
  return { body, children, callers, store, child };
}

async function statuses(lab: Lab, runner: Runner<State>): Promise<readonly string[]> {
  return (await runner.list()).rows.map((row) => `${row.status} ${lab.count("c")}`);
}

const ENDS: Readonly<Record<string, (lab: Lab, parent: Runner<State>) => Promise<unknown>>> = {
  cancelled: (_, parent) => parent.cancel("p"),
  purged: (_, parent) => parent.purge({ runId: "p", force: true }),
};

for (const [name, end] of Object.entries(ENDS)) {
  test(`a child does not begin once its caller was ${name}, however slow what comes before it is (FT-C1, O5)`, async () => {
    const lab = new Lab();
    const { children, callers } = family(lab);
    const slow = gate();
    const parent = callers(() => slow.promise);
    const result = parent.run(INPUT, { runId: "p" }).catch(() => {});
    await lab.clock.settle();
    await lab.drive(end(lab, parent));
    slow.open();
    await lab.drive(result);
    await lab.clock.settle();
    assert.deepEqual(await statuses(lab, children), []);
  });

  test(`a child whose record is on its way while its caller is ${name} begins nothing (FT-C1, O5)`, async () => {
    for (const when of ["before", "after"]) {
      const lab = new Lab();
      const commit = gate();
      const { children, callers } = family(lab, async ({ op, args, apply }) => {
        const isFirst = op === "append" && args[0] !== "p" && args[1] === 0;
        if (isFirst && when === "before") await commit.promise;
        const answer = await apply();
        if (isFirst) await commit.promise;
        return answer;
      });
      const parent = callers(() => {});
      const result = parent.run(INPUT, { runId: "p" }).catch(() => {});
      await lab.clock.settle();
      const ending = end(lab, parent);
      await lab.clock.advance("2s");
      commit.open();
      await lab.drive(ending);
      await lab.drive(result);
      await lab.clock.settle();
      assert.equal(lab.count("c"), 0);
      assert.ok((await children.list()).rows.every((row) => row.status === "cancelled"));
    }
  });
}

test("a child that its caller has not waited for is cancelled when the caller is over (FT-C1, O5)", async () => {
  const lab = new Lab();
  const { children, child, store } = family(lab);
  const parent = lab.engine(
    lab.graph({
      v: {
        body: async (ctx) => {
          await lab.engine(child, { store }).start(INPUT, {
            caller: ctx,
            idempotencyKey: ctx.idempotencyKey,
          });
          await lab.clock.sleep("1s");
          return "done";
        },
      },
    }, { id: "parent" }),
    { store },
  );
  assert.equal((await lab.drive(parent.run(INPUT))).status, "completed");
  assert.deepEqual(await statuses(lab, children), ["cancelled 1"]);
});

test("a child that was created by a caller of the same id before is not the child of the new one (FT-C1)", async () => {
  const lab = new Lab();
  const { children, callers, body, store } = family(lab);
  const parent = callers(() => {});
  const first = parent.run(INPUT, { runId: "p" }).catch(() => {});
  await lab.clock.settle();
  assert.equal(lab.count("c"), 1);
  // The run of the caller goes, and nothing tells the child.
  await lab.store.purge("p");
  body.open("old");
  await lab.clock.settle();
  assert.equal((await children.list()).rows[0]?.status, "completed");
  const second = lab.engine(parent.graph, { store: anotherHandle(store) });
  const result = await lab.drive(second.run(INPUT, { runId: "p" }));
  assert.equal(result.status, "completed");
  assert.equal(lab.count("c"), 2, "it was begun anew");
  void first;
});

test("a child of a body that was abandoned by a timeout is cancelled when an error route goes on without it (FT-C1)", async () => {
  const lab = new Lab();
  const { children, callers } = family(lab);
  const parent = callers(() => {}, { timeout: "10s", onError: { route: "rescue" } }, {
    rescue: { body: () => "rescued" },
  });
  const result = await lab.drive(parent.run(INPUT, { runId: "p" }));
  assert.deepEqual([result.status, result.state.out.rescue], ["completed", "rescued"]);
  assert.deepEqual(await statuses(lab, children), ["cancelled 1"]);
  assert.equal(lab.clock.pending, 0);
});

test("a child that a dead process left is not gone on with when its caller has gone on without it (FT-C1, O1)", async () => {
  const lab = new Lab();
  const dying = mortal(lab.store);
  const child = lab.graph({ c: { body: () => gate().promise } }, { id: "child" });
  const doomed = lab.engine(child, { store: dying.store });
  const parent = lab.engine(
    lab.graph({
      v: {
        body: async (ctx) => {
          void doomed.run(INPUT, { caller: ctx, runId: "c" }).catch(() => {});
          await lab.clock.sleep("1s");
          dying.kill();
          return "over";
        },
      },
    }, { id: "parent" }),
  );
  const running = parent.run(INPUT, { runId: "p" });
  await lab.clock.advance("1s");
  const other = lab.elsewhere(child);
  const handles = await lab.drive(other.recover());
  await lab.drive(running);
  await lab.drive(Promise.all(handles.map((handle) => handle.result())));
  assert.equal((await other.status("c")).status, "cancelled");
  assert.equal(lab.count("c"), 1);
});

function failing(code: () => boolean): AroundStore {
  return async ({ op, args, apply }) => {
    if (code() && op === "append" && args[0] !== "p") throw new StoreError("append", "the disk is full");
    return await apply();
  };
}

test("a fault of the store in a child stops its caller as its own would: no route, no retry, nothing settled (FT-C3)", async () => {
  const lab = new Lab();
  let full = true;
  const { callers, body, children } = family(lab, failing(() => full));
  body.open("c");
  const parent = callers(() => {}, {
    retry: { maxAttempts: 5, backoff: { initial: 0 } },
    onError: { route: "rescue" },
  }, { rescue: { body: () => "rescued" } });
  await lab.fails(parent.run(INPUT, { runId: "p" }), "StoreError");
  assert.deepEqual([lab.count("v"), lab.count("rescue")], [1, 0]);
  assert.equal((await parent.status("p")).status, "running");
  full = false;
  const result = await lab.drive(parent.resume("p"));
  assert.deepEqual([result.status, result.state.out.v, lab.count("rescue")], ["completed", "completed", 0]);
  assert.deepEqual(await statuses(lab, children), ["completed 1"]);
});

test("a child that this code cannot load halts its caller as a fault of loading would; it goes on with code that can (V5, FT-C3)", async () => {
  const lab = new Lab();
  const make = (version: number): CompiledGraph<State> =>
    lab.graph({ c: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt() } }, { id: "child", version });
  let children = lab.engine(make(1));
  const parent = lab.engine(
    lab.graph({
      v: {
        body: async (ctx) => {
          const result = await children.run(INPUT, { caller: ctx, runId: "c" });
          return result.status === "interrupted" ? ctx.answer()?.value ?? ctx.interrupt() : result.status;
        },
        retry: { maxAttempts: 3, backoff: { initial: 0 } },
        onError: { route: "rescue" },
      },
      rescue: { body: () => "rescued" },
    }, { id: "parent" }),
  );
  await lab.drive(parent.run(INPUT, { runId: "p" }));
  children = lab.engine(make(2));
  const { halt, run } = interrupted(await lab.drive(parent.resume("p", { payload: 1 })));
  assert.equal(halt?.kind, "load_fault");
  assert.match(halt!.message, /version/);
  assert.deepEqual([lab.count("rescue"), run.reason], [0, "halted"]);
  children = lab.engine(make(1));
  const result = await lab.drive(parent.resume("p"));
  assert.equal(result.status, "completed");
  assert.equal(lab.count("rescue"), 0);
});

test("a called run is awaited exactly by an execution of the step under way that has no outcome, of that very run (FT-C1)", async () => {
  const lab = new Lab();
  const Ok = defineWait("ok", z.string());
  const fails = () => {
    throw new Error("down");
  };
  const graph = lab.graph({
    v: { body: () => 0, to: ["asks", "done", "map", "paused", "routed"] },
    asks: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    done: { body: () => 0 },
    map: { waits: [Ok], each: () => [0, 1], body: (ctx) => ctx.item === 0 ? 0 : ctx.waitFor(Ok) },
    paused: { body: fails },
    routed: { body: fails, onError: { route: "done" } },
  });
  const log = new CheckpointLog<State>(lab.store, lab.clock);
  const runner = lab.engine(graph);
  interrupted(await lab.drive(runner.run(INPUT, { runId: "p" })));
  const { head, mailbox } = await lab.store.inspect("p", 0, undefined);
  const { epoch } = head!.position;
  const asked = (vertexId: string, more: Partial<RunCaller> = {}) =>
    isAwaited(log, { graphId: "g", runId: "p", vertexId, ...more });
  const found = {
    asks: await asked("asks"),
    paused: await asked("paused"),
    "the other item": await asked("map", { item: 1 }),
    "in its step": await asked("asks", { step: 1, epoch }),
    done: await asked("done"),
    routed: await asked("routed"),
    "a done item": await asked("map", { item: 0 }),
    "of the step before": await asked("v"),
    "in the step before": await asked("asks", { step: 0 }),
    "of the run before of this id": await asked("asks", { epoch: "another" }),
    "of no run": await asked("asks", { runId: "nobody" }),
  };
  const yes = Object.entries(found).filter(([, is]) => is).map(([what]) => what);
  assert.deepEqual(yes, ["asks", "paused", "the other item", "in its step"]);
  await log.post("p", epoch, mailbox!, (content) => ({
    mailbox: { ...content, cancel: { reason: "asked for", at: 0 } },
    closed: [],
    graphId: "g",
  }));
  assert.equal(await asked("asks"), false, "its end was asked for");
});

test("a called run goes on beside a caller that is damaged, and not beside a store that fails (FT-C1, FT-C3)", async () => {
  const lab = new Lab();
  const caller: RunCaller = { graphId: "g", runId: "p", vertexId: "v" };
  const failing = (error: Error) =>
    new CheckpointLog<State>(aroundStore(lab.store, () => Promise.reject(error)), lab.clock);
  assert.equal(
    await isAwaited(failing(new CheckpointDecodeError("p", "Record", "it is damaged")), caller),
    true,
  );
  await lab.fails(isAwaited(failing(new StoreError("tail", "the disk is away")), caller), "StoreError");
});
