// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineWait, type Runner, type RunResult } from "../../mod.ts";
import { z } from "zod";
import { Subgraph, SubgraphError } from "../../tasks/subgraph.ts";
import { gate, INPUT, interrupted, Lab, openId, type Spec, type State } from "../waits/lab.ts";
import { type House, house, nested } from "./nesting.ts";

const Ok = defineWait("ok", z.boolean());
const ASKING: Spec = { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) };

function setup() {
  const lab = new Lab();
  let home: House = house(lab);
  return { lab, home: () => home, move: () => void (home = house(lab, "elsewhere")) };
}

/** A body that is at work until its signal ends it, noting the reason and its cause. */
function stubborn(ends: string[]): Spec["body"] {
  return (ctx) =>
    new Promise((_, reject) => {
      ctx.signal.addEventListener("abort", () => {
        const { name, cause } = ctx.signal.reason as Error;
        ends.push(cause instanceof Error ? `${name} for ${cause.name}` : name);
        reject(ctx.signal.reason);
      });
    });
}

/** Three levels, the lowest of which is made of `body`. */
function tower(lab: Lab, home: () => House, body: Spec, top: Parameters<typeof nested>[2] = {}) {
  const deep = lab.graph({ g: body }, { id: "deep" });
  const child = lab.graph({ c: nested(home, deep) }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child, top) }, { id: "parent" });
  return { deep, child, parent };
}

function failureOf(result: RunResult<State>) {
  const [failed] = interrupted(result).failures;
  return failed!.failure;
}

test("a cancellation reaches bodies two levels deep with its own reason, and ends every run (O5, FC-20)", async () => {
  for (const [how, most] of [["cancel", 100], ["deadline", 20_100], ["elsewhere", 1_100]] as const) {
    const { lab, home } = setup();
    const ends: string[] = [];
    let at = Infinity;
    const body: Spec["body"] = (ctx, input) => {
      ctx.signal.addEventListener("abort", () => at = lab.clock.now());
      return stubborn(ends)(ctx, input);
    };
    const { deep, child, parent } = tower(lab, home, { body });
    const runner = home().runner(parent);
    const handle = await runner.start(INPUT, {
      runId: "p",
      ...(how === "deadline" ? { deadline: "20s" } : {}),
    });
    await lab.clock.settle();
    const begun = lab.clock.now();
    if (how === "cancel") void runner.cancel("p", "enough");
    if (how === "elsewhere") void house(lab, "elsewhere").runner(parent).cancel("p", "enough");
    assert.equal((await lab.drive(handle.result())).status, "cancelled");
    await lab.clock.settle();
    assert.deepEqual(ends, ["RunCancelledError"], how);
    assert.ok(at - begun <= most, `${how}: after ${at - begun} ms`);
    for (const graph of [child, deep]) {
      const { rows } = await home().runner(graph).list();
      assert.deepEqual(rows.map((row) => row.status), ["cancelled"]);
    }
  }
});

test("a paused run takes along those two levels deep, and their waits take no answer any more (O5)", async () => {
  const { lab, home, move } = setup();
  const { deep, child, parent } = tower(lab, home, ASKING);
  const paused = await lab.drive(home().runner(parent).run(INPUT, { runId: "p" }));
  move();
  await lab.drive(home().runner(parent).cancel("p", "enough"));
  for (const graph of [child, deep]) {
    const { rows } = await home().runner(graph).list();
    assert.deepEqual(rows.map((row) => row.status), ["cancelled"]);
  }
  await lab.fails(home().runner(parent).answer("p", openId(paused, "ok"), true), "AnswerError");
});

test("an abort lets every run go, to be gone on with in another process; nothing that was done is done again (E11)", async () => {
  const { lab, home, move } = setup();
  const ends: string[] = [];
  const controller = new AbortController();
  const deep = lab.graph({
    f: { body: () => 1, to: "g" },
    g: { body: (ctx, input) => lab.count("g") === 1 ? stubborn(ends)(ctx, input) : 2 },
  }, { id: "deep" });
  const child = lab.graph({ c: nested(home, deep) }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child) }, { id: "parent" });
  const running = home().runner(parent).run(INPUT, { runId: "p", signal: controller.signal });
  await lab.clock.settle();
  const shutdown = new Error("shutdown");
  controller.abort(shutdown);
  await lab.fails(running, "RunAbortedError");
  await lab.clock.settle();
  assert.deepEqual(ends, ["RunAbortedError for RunAbortedError"]);
  move();
  const [handle] = await home().runner(parent).recover();
  const done = await lab.drive(handle!.result());
  assert.deepEqual([done.status, done.state.out.a], ["completed", { c: { f: 1, g: 2 } }]);
  assert.deepEqual([lab.count("f"), lab.count("g")], [1, 2]);
});

test("a timeout of the vertex lets the run go, and the next attempt goes on where it stood (O3)", async () => {
  const { lab, home } = setup();
  const ends: string[] = [];
  const child = lab.graph({
    f: { body: () => 1, to: "g" },
    g: { body: (ctx, input) => lab.count("g") === 1 ? stubborn(ends)(ctx, input) : 2 },
  }, { id: "child" });
  const parent = lab.graph({
    a: nested(home, child, { timeout: "10s", retry: { maxAttempts: 2 } }),
  }, { id: "parent" });
  const done = await lab.drive(home().runner(parent).run(INPUT, { runId: "p" }));
  assert.deepEqual([done.status, done.state.out.a], ["completed", { f: 1, g: 2 }]);
  assert.deepEqual(ends, ["RunAbortedError for VertexTimeoutError"]);
  assert.deepEqual([lab.count("f"), lab.count("g")], [1, 2]);
});

test("Subgraph: a failure two levels deep fails the vertex with what it was; a resume retries it there, and nothing else", async () => {
  const { lab, home, move } = setup();
  let broken = true;
  const deep = lab.graph({
    f: { body: () => 1, to: "g" },
    g: {
      body: () => {
        if (broken) throw new TypeError("no disk");
        return 2;
      },
    },
  }, { id: "deep" });
  const child = lab.graph({ c: nested(home, deep) }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child) }, { id: "parent" });
  const failed = await lab.drive(home().runner(parent).run(INPUT, { runId: "p" }));
  assert.equal(interrupted(failed).reason, "errored");
  const failure = failureOf(failed);
  assert.equal(failure.name, "SubgraphError");
  assert.match(failure.message, /graph child failed: vertex c: .*graph deep failed: vertex g: no disk/);
  assert.equal((failure.data as SubgraphError["data"]).graphId, "child");
  assert.equal(lab.count("g"), 1);
  move();
  const again = await lab.drive(home().runner(parent).resume("p"));
  assert.equal(failureOf(again).name, "SubgraphError");
  assert.equal(lab.count("g"), 2);
  broken = false;
  const done = await lab.drive(home().runner(parent).resume("p"));
  assert.deepEqual([done.status, done.state.out.a], ["completed", { c: { f: 1, g: 2 } }]);
  assert.deepEqual([lab.count("f"), lab.count("g")], [1, 3]);
});

test("Subgraph: the vertex's own retries and routes take a failed run as any other failure", async () => {
  const { lab, home } = setup();
  const child = lab.graph({
    g: {
      body: () => {
        throw new Error("never");
      },
    },
  }, { id: "child" });
  const parent = lab.graph({
    a: nested(home, child, {
      retry: { maxAttempts: 3, backoff: { initial: "1s" } },
      onError: { match: SubgraphError, route: "b", record: (s, e) => void (s.out.said = e.data) },
      to: "b",
    }),
    b: { body: () => 0 },
  }, { id: "parent" });
  const done = await lab.drive(home().runner(parent).run(INPUT, { runId: "p" }));
  assert.equal(done.status, "completed");
  assert.deepEqual((done.state.out.said as SubgraphError["data"]).problems, ["vertex g: never"]);
  assert.equal(lab.count("g"), 3);
});

test("Subgraph: a failure beside an open wait fails the vertex at once, and a resume asks again", async () => {
  const { lab, home, move } = setup();
  let broken = true;
  const slow = gate();
  const child = lab.graph({
    c: { body: () => 0, to: ["ask", "work"] },
    ask: ASKING,
    work: {
      body: async () => {
        await slow.promise;
        if (broken) throw new Error("broken");
      },
    },
  }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child) }, { id: "parent" });
  const running = home().runner(parent).run(INPUT, { runId: "p" });
  await lab.clock.settle();
  assert.equal((await home().runner(parent).waits()).rows.length, 1);
  slow.open();
  const failed = interrupted(await lab.drive(running));
  assert.equal(failed.reason, "errored");
  assert.equal(lab.count("work"), 1);
  assert.deepEqual((await home().runner(parent).waits()).rows, []);
  broken = false;
  move();
  const asking = interrupted(await lab.drive(home().runner(parent).resume("p")));
  assert.deepEqual(asking.waits.map((w) => w.name), ["ok"]);
  const done = await lab.drive(home().runner(parent).resume("p", { payload: true }));
  assert.equal(done.status, "completed");
  assert.deepEqual([lab.count("work"), lab.count("ask")], [2, 2]);
});

test("Subgraph: a run that was cancelled by itself fails the vertex for good, at once, and its waits close (FT-C2)", async () => {
  const { lab, home } = setup();
  const child = lab.graph({ c: ASKING }, { id: "child" });
  const parent = lab.graph({ a: nested(home, child, { retry: { maxAttempts: 3 } }) }, { id: "parent" });
  const runner = home().runner(parent);
  const paused = await lab.drive(runner.run(INPUT, { runId: "p" }));
  const { rows: [row] } = await home().runner(child).list();
  await lab.drive(home().runner(child).cancel(row!.runId, "by mistake"));
  await lab.clock.settle();
  const failure = failureOf(interrupted(await runner.get("p")));
  assert.deepEqual([failure.name, failure.attempt], ["FatalError", 1]);
  assert.match(failure.message, /was cancelled: by mistake/);
  await assert.rejects(runner.answer("p", openId(paused, "ok"), true), { reason: "closed" });
});

test("Subgraph: a run that somebody else goes on with at the same moment is followed to its end", async () => {
  for (const slow of [true, false]) {
    const lab = new Lab();
    const work = gate();
    const child = lab.graph({
      c: { body: (ctx) => ctx.sleep("nap", "2h"), to: "d" },
      d: { body: () => slow ? work.promise : 0 },
    }, { id: "child" });
    const [mine, other] = [lab.engine(child), lab.elsewhere(child)];
    let theirs: Promise<unknown> | undefined;
    const raced = {
      graph: child,
      runIdOf: (key: string) => mine.runIdOf(key),
      run: (...args: Parameters<typeof mine.run>) => mine.run(...args),
      resume: async (runId: string, options: Parameters<typeof mine.resume>[1]) => {
        theirs = other.resume(runId);
        if (slow) await lab.clock.settle();
        else await theirs;
        return await mine.resume(runId, options);
      },
    } as unknown as Runner<State>;
    const task = new Subgraph(raced);
    const parent = lab.engine(
      lab.graph({ a: { select: () => INPUT, body: (ctx, input) => task.execute(input, ctx) } }, {
        id: "parent",
      }),
    );
    await lab.drive(parent.run(INPUT, { runId: "p" }));
    await lab.clock.advance("2h");
    const resumed = parent.resume("p");
    await lab.clock.settle();
    work.open();
    assert.equal((await lab.drive(resumed)).status, "completed");
    await theirs;
    assert.deepEqual([lab.count("c"), lab.count("d")], [2, 1]);
  }
});

test("a vertex that selects another input after an update does not take over the run of the old one (H2)", async () => {
  const { lab, home } = setup();
  const child = lab.graph({ c: ASKING }, { id: "child" });
  const spec = nested(home, child);
  const parent = lab.graph({
    a: { ...spec, select: (s) => ({ ...INPUT, out: { from: s.out.seed } }) },
  }, { id: "parent" });
  const runner = home().runner(parent);
  const paused = await lab.drive(runner.run({ out: { seed: 1 }, log: [] }, { runId: "p" }));
  await runner.update("p", (s) => void (s.out.seed = 2));
  await runner.answer("p", openId(paused, "ok"), true);
  const failure = failureOf(await lab.drive(runner.resume("p")));
  assert.equal(failure.name, "FatalError");
  assert.match(failure.message, /another input/);
});

for (const n of [1, 2, 10]) {
  for (const pausing of [false, true]) {
    test(`a run in a vertex makes exactly ${n} steps of its own${pausing ? ", over pauses and restarts" : ""}, then its budget fails the vertex; a larger one goes on (FC-23)`, async () => {
      const { lab, home, move } = setup();
      let budget = n;
      const child = lab.graph({
        a: {
          waits: [Ok],
          body: (ctx) => pausing && ctx.step % 3 === 2 ? ctx.waitFor(Ok) : 0,
          select: () => 0,
          route: { targets: ["b", "end"], pick: (s) => s.log.length >= 2 * n ? "end" : "b" },
        },
        b: { waits: [Ok], body: (ctx) => pausing && ctx.step % 3 === 2 ? ctx.waitFor(Ok) : 0, to: "a" },
        end: { body: () => "end" },
      }, { id: "child" });
      const run = () => nested(home, child, { maxSteps: budget, output: (s) => s.log.length });
      const parent = lab.graph({
        before: { body: () => 0, to: "v" },
        v: { ...run(), body: (ctx, input) => run().body(ctx, input) },
      }, { id: "parent" });
      const through = async (result: RunResult<State>) => {
        while (result.status === "interrupted" && result.reason === "awaiting") {
          move();
          const more = { payload: true };
          result = await lab.drive(home().runner(parent).resume("p", more));
        }
        return result;
      };
      const stopped = await through(await lab.drive(home().runner(parent).run(INPUT, { runId: "p" })));
      const failure = failureOf(stopped);
      assert.match(failure.message, /max_steps/);
      const { rows: [row] } = await home().runner(child).list();
      const { state } = await home().runner(child).get(row!.runId);
      assert.deepEqual(state.log, Array.from({ length: n }, (_, i) => i % 2 === 0 ? "a" : "b"));
      assert.equal(stopped.run.step, 1);
      budget = 10 * n + 10;
      move();
      const done = await through(await lab.drive(home().runner(parent).resume("p")));
      assert.equal(done.status, "completed");
      assert.equal(done.state.out.v, 2 * n + 2);
    });
  }
}

test("five hundred runs in vertices under one signal leave no listener on it (FC-36)", async () => {
  const { lab, home } = setup();
  const child = lab.graph({ c: { body: () => 0 } }, { id: "child" });
  const parent = lab.graph({
    m: nested(home, child, { each: () => Array.from({ length: 500 }, () => INPUT), output: () => 1 }),
  }, { id: "parent" });
  const { signal } = new AbortController();
  let listeners = 0;
  let most = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    most = Math.max(most, ++listeners);
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners--;
    remove(...args);
  };
  const done = await lab.drive(home().runner(parent).run(INPUT, { runId: "p", signal }));
  assert.equal(done.status, "completed");
  assert.equal((done.state.out.m as unknown[]).length, 500);
  assert.deepEqual([listeners, most], [0, 1]);
});
