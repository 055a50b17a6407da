// Runs on deno by default: the stops find faults of the engine, which no runtime decides.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { GraphBuilder } from "../../src/graph/mod.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { Store } from "../../src/store/store.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { CrashLedger } from "../../src/testing/crash_ledger.ts";
import { crashTest, CrashTestError, type Effects, VirtualClock } from "../../src/testing/mod.ts";

const State = z.object({ n: z.number() });

const fails = { execute: (_n: number): Promise<number> => Promise.reject(new Error("it has no task")) };

/** a → b, each adds what its body returns. */
const chain = new GraphBuilder({ id: "chain", schema: State })
  .addVertex({
    id: "a",
    task: fails,
    select: (s) => s.n,
    reduce: (s, out) => {
      s.n += out;
    },
  })
  .addVertex({
    id: "b",
    task: fails,
    select: (s) => s.n,
    reduce: (s, out) => {
      s.n += out;
    },
  })
  .addEdge("a", "b")
  .build({ entry: "a", finish: "b" });

function both(body: (n: number, ctx: TaskContext) => unknown) {
  return { a: body, b: body };
}

const sound = (effects: Effects) =>
  both((_n, ctx) => {
    effects.happen(ctx.idempotencyKey, "work");
    return 1;
  });

test("crashTest stops the engine before and after every write, and engines that take over as well", async () => {
  const report = await crashTest(chain, { input: { n: 1 }, tasks: sound, secondCrashes: 30 });
  assert.equal(report.writes, 4, "an owner, the start, and a record per step");
  assert.equal(report.rounds, 2 * (report.writes + 1) + 30);
  const alone = report.crashes.slice(0, 8).map(({ engine, write, when, op }) => ({
    engine,
    write,
    when,
    op,
  }));
  assert.deepEqual(
    alone,
    ["owners.register", "append", "append", "append"].flatMap((op, i) =>
      (["before", "after"] as const).map((when) => ({ engine: 1, write: i + 1, when, op }))
    ),
  );
  const second = report.crashes.filter((c) => c.engine === 2).map((c) => c.op);
  for (const op of ["owners.bury", "owners.forget", "append"]) assert.ok(second.includes(op as never), op);
});

test("crashTest is red for a run that does not complete unless the scenario expects that, and reports the result (SPEC 11)", async () => {
  const tasks = () => ({ ...both(() => 1), b: () => Promise.reject(new Error("no b")) });
  const error = await failure(crashTest(chain, { input: { n: 1 }, tasks, secondCrashes: 0 }));
  assert.match(
    error.message,
    /never stopped: the run is interrupted \(errored; vertex b: no b\), not completed/,
  );
  const scenario = { input: { n: 1 }, secondCrashes: 0 };
  const { result } = await crashTest(chain, { ...scenario, tasks, expect: "interrupted" });
  assert.deepEqual([result.status, result.state.n], ["interrupted", 2]);
  assert.equal((await crashTest(chain, { ...scenario, tasks: sound })).result.state.n, 3);
});

test("crashTest is the same every time", async () => {
  const first = await crashTest(chain, { input: { n: 1 }, tasks: sound, seed: 7 });
  const second = await crashTest(chain, { input: { n: 1 }, tasks: sound, seed: 7 });
  assert.deepEqual(first, second);
});

test("crashTest refuses an effect that has another key when it happens again, and names the write", async () => {
  let serial = 0;
  const tasks = (effects: Effects) =>
    both((_n, ctx) => {
      effects.happen(`${ctx.idempotencyKey}#${serial++}`, "mail");
      return 1;
    });
  const error = await failure(
    crashTest(chain, { input: { n: 1 }, tasks, begin: () => serial = 0, secondCrashes: 0 }),
  );
  assert.deepEqual(error.crashes, [{ engine: 1, write: 3, when: "before", op: "append" }]);
  assert.match(error.message, /stopped just before write 3 \(append\): other effects/);
});

test("crashTest refuses an effect that is missing after a takeover", async () => {
  const tasks = (effects: Effects) => {
    let sent = false;
    return both((n, ctx) => {
      // A body that relies on the memory of its process.
      if (n === 1) sent = true;
      if (n !== 1 && sent) effects.happen(ctx.idempotencyKey, "mail");
      return 1;
    });
  };
  const error = await failure(crashTest(chain, { input: { n: 1 }, tasks }));
  assert.match(error.message, /other effects/);
  assert.deepEqual(error.expected, ["graph=chain/run=crash-test/step=1/vertex=b mail"]);
});

test("crashTest refuses another outcome", async () => {
  let runs = 0;
  const error = await failure(
    crashTest(chain, { input: { n: 1 }, tasks: () => both(() => ++runs), begin: () => runs = 0 }),
  );
  assert.match(error.message, /stopped just before write 3 \(append\): another outcome/);
});

test("crashTest refuses a wake or an open wait that a finished run leaves in a store's lists", async () => {
  const leaking = (): Store => {
    const store = memoryStore();
    return {
      ...store,
      wakes: () => Promise.resolve([{ runId: "crash-test", graphId: "", graphVersion: "", due: 1 }]),
    };
  };
  const error = await failure(crashTest(chain, { input: { n: 1 }, tasks: sound, store: leaking }));
  assert.match(error.message, /never stopped: a run that is over is woken/);
});

test("crashTest reports a run that nobody can take over", async () => {
  const immortal = (): Store => {
    const store = memoryStore();
    return { ...store, owners: { ...store.owners, bury: () => Promise.resolve(true) } };
  };
  const error = await failure(crashTest(chain, { input: { n: 1 }, tasks: sound, store: immortal }));
  assert.match(error.message, /could not be carried on/);
});

test("an execution or a once that ran again after its result was recorded is reported", () => {
  const clock = new VirtualClock();
  const ledger = new CrashLedger();
  ledger.settled.set(2, new Set(["x", "x/once=y"]));
  for (const engine of [1, 2]) {
    const effects = ledger.effectsOf(engine, clock.fork(), () => false);
    ledger.begun.push({ engine, key: "x" });
    effects.happen("x/once=y", "mail");
    effects.happen("z");
  }
  assert.deepEqual(ledger.reruns(), ["x", "x/once=y"]);
  assert.deepEqual(ledger.distinct(), ["x/once=y mail", "z"]);
});

test("nothing happens any more in an engine that was stopped", () => {
  const ledger = new CrashLedger();
  let stopped = false;
  const effects = ledger.effectsOf(1, new VirtualClock().fork(), () => stopped);
  effects.happen("a");
  stopped = true;
  effects.happen("b");
  assert.deepEqual(ledger.distinct(), ["a"]);
});

async function failure(work: Promise<unknown>): Promise<CrashTestError> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof CrashTestError, String(error));
    return error;
  }
  assert.fail("the crash test passed");
}
