// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile, defineWait, GraphBuilder } from "../../mod.ts";
import type { AnswerError, Runner, RunResult } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import {
  gate,
  INPUT,
  interrupted,
  Lab,
  mortal,
  openId,
  recorded,
  recorder,
  revisionOf,
  type State,
} from "../waits/lab.ts";

const Ok = defineWait("ok", z.string());
const resume = (lab: Lab, runner: Runner<State>): Promise<RunResult<State>> => lab.drive(runner.resume("r"));

/** `v`, then `a` that is done, `b` that waits and `c` that fails the first time. */
function mixed(lab: Lab, inputs: unknown[] = []) {
  const select = (s: Readonly<State>) => s.out.v;
  return lab.graph({
    v: { body: () => "v", to: ["a", "b", "c"] },
    a: { select, body: (_, input) => (inputs.push(["a", input]), "a") },
    b: {
      select,
      waits: [Ok],
      body: async (ctx, input) => {
        inputs.push(["b", input]);
        return `${input} ${await ctx.waitFor(Ok, { info: { asked: input } })}`;
      },
    },
    c: {
      select,
      body: (_, input) => {
        inputs.push(["c", input]);
        return lab.count("c") === 1 ? Promise.reject(new Error("first")) : input;
      },
    },
  });
}

test("update replaces the state of the step by a record; what is done stands, what waits or failed selects anew (H2)", async () => {
  const lab = new Lab();
  const inputs: unknown[] = [];
  const runner = lab.engine(mixed(lab, inputs));
  const before = interrupted(await lab.drive(runner.run(INPUT, { runId: "r" })));
  const waitId = openId(before, "ok");
  await lab.clock.advance("1m");
  const view = interrupted(
    await runner.update("r", (s) => {
      assert.deepEqual(
        s,
        { out: { v: "v" }, log: ["v"] },
        "the state of the step, without the outcomes so far",
      );
      s.out.v = "edited";
      s.log.push("edit");
    }),
  );
  assert.deepEqual([view.state.out, view.state.log], [{ v: "edited", a: "a" }, ["v", "edit", "a"]]);
  assert.deepEqual([view.run.revision, view.run.status, view.reason], [
    before.run.revision + 1,
    "interrupted",
    "errored",
  ]);
  assert.deepEqual(view.waits, before.waits, "open waits keep id, info and time");
  assert.equal(view.run.updatedAt, lab.clock.now());
  assert.deepEqual(await lab.elsewhere(runner.graph).get("r"), view);
  assert.deepEqual((await recorded(runner, "r")).at(-1), ["updated"]);
  await runner.answer("r", waitId, "yes");
  const done = await resume(lab, runner);
  assert.equal(done.status, "completed");
  assert.deepEqual(done.state.out, { v: "edited", a: "a", b: "edited yes", c: "edited" });
  assert.deepEqual(inputs, [["a", "v"], ["b", "v"], ["c", "v"], ["b", "edited"], ["c", "edited"]]);
});

test("an answer that was accepted before an update, or between two of them, stands (H2)", async () => {
  const lab = new Lab();
  const runner = lab.engine(mixed(lab));
  const paused = await lab.drive(runner.run(INPUT, { runId: "r" }));
  const waitId = openId(paused, "ok");
  await runner.update("r", (s) => void (s.out.v = "one"));
  await runner.answer("r", waitId, "yes");
  await runner.update("r", (s) => void (s.out.v = "two"));
  const error = await lab.fails<AnswerError>(runner.answer("r", waitId, "no"), "AnswerError");
  assert.equal(error.reason, "answered");
  const { wake } = await wakeOf(lab);
  assert.ok(wake !== undefined, "the wake that the answer has set stays");
  assert.equal((await resume(lab, runner)).state.out.b, "two yes");
});

async function wakeOf(lab: Lab): Promise<{ readonly wake: number | undefined }> {
  const rows = await lab.store.wakes(Number.MAX_SAFE_INTEGER, 10);
  return { wake: rows.find((row) => row.runId === "r")?.due };
}

test("another state may be given whole; one that changes nothing writes nothing (H2)", async () => {
  const lab = new Lab();
  const runner = lab.engine(mixed(lab));
  await lab.drive(runner.run(INPUT, { runId: "r" }));
  const revision = await revisionOf(runner, "r");
  await runner.update("r", () => {});
  await runner.update("r", { out: { v: "v" }, log: ["v"] });
  assert.equal(await revisionOf(runner, "r"), revision);
  const given = { out: { v: "whole" }, log: [] };
  const view = await runner.update("r", given);
  given.out.v = "changed later";
  assert.deepEqual([view.state.out.v, view.run.revision], ["whole", revision + 1]);
  await runner.update("r", () => ({ out: { v: "returned" }, log: [] }));
  assert.equal((await runner.get("r")).state.out.v, "returned");
});

test("a reducer that failed is applied again, to the updated state and the recorded output (H2, E5)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      body: () => "output",
      reduce: (s, out) => {
        if (s.log.length === 0) throw new Error("no log yet");
        s.out.a = out;
      },
    },
  });
  const runner = lab.engine(graph);
  assert.equal(interrupted(await lab.drive(runner.run(INPUT, { runId: "r" }))).reason, "errored");
  await runner.update("r", (s) => void s.log.push("mended"));
  const done = await resume(lab, runner);
  assert.deepEqual([done.status, done.state.out.a, lab.count("a")], ["completed", "output", 1]);
});

test("a halt is not lifted by an update, and the resume after it routes by the new state (H2, E8)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      body: () => 1,
      route: { targets: ["b"], pick: (s) => s.log.includes("go") ? "b" : (undefined as never) },
    },
    b: { body: () => 2 },
  });
  const runner = lab.engine(graph);
  await lab.drive(runner.run(INPUT, { runId: "r" }));
  const view = interrupted(await runner.update("r", (s) => void s.log.push("go")));
  assert.deepEqual([view.reason, view.halt?.kind], ["halted", "undeclared_target"]);
  assert.deepEqual([(await resume(lab, runner)).status, lab.count("a")], ["completed", 1]);
});

test("a run that a process owns is busy, also in this process; a run that is over cannot be updated; others are named (H2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: () => gate().promise } });
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT, { runId: "r" });
  await lab.clock.settle();
  for (const r of [runner, lab.elsewhere(graph)]) await lab.fails(r.update("r", () => {}), "RunBusyError");
  await lab.drive(handle.cancel());
  await lab.fails(runner.update("r", () => {}), "ResumeTerminalError");
  await lab.fails(runner.update("unknown", () => {}), "CheckpointNotFoundError");
  await lab.fails(runner.update("no id", () => {}), "ArgumentError");
  await lab.fails(
    lab.engine(lab.graph({ a: { body: () => 1 } }, { version: 2 })).update("r", () => {}),
    "GraphVersionMismatchError",
  );
});

test("a submitted run can be updated before it begins (H2)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { select: (s) => s.log, body: (_, log) => log } }));
  await runner.submit(INPUT, { runId: "r" });
  await runner.update("r", (s) => void s.log.push("before"));
  const [handle] = await runner.recover();
  assert.deepEqual((await lab.drive(handle!.result())).state.out.a, ["before"]);
});

test("what the schema, the ceiling or serialization refuse, a promise and a fault reject the call, and nothing is appended (H2, E10)", async () => {
  const schema = z.object({ n: z.number().max(9), text: z.string().default("") });
  const graph = new GraphBuilder({ id: "typed", schema })
    .addVertex({
      id: "a",
      task: { execute: (_: number, ctx): unknown => ctx.interrupt() },
      select: (s) => s.n,
      reduce: () => {},
    })
    .build({ entry: "a", finish: "a" });
  const runner = compile(graph, { store: memoryStore(), maxStateBytes: 1_000 });
  const { run } = await runner.run({ n: 1 });
  const fails = (edit: unknown, name: string) =>
    assert.rejects(runner.update(run.runId, edit as never), (error: Error) => error.name === name);
  await fails((s: { n: number }) => void (s.n = 10), "ValidationError");
  await fails({ text: "no n" }, "ValidationError");
  await fails({ n: 1, text: "x".repeat(2_000) }, "StateSizeError");
  await fails({ n: 1, text: "", f: () => {} }, "SerializationError");
  await fails(async () => {}, "ReducerError");
  await fails((s: { n: number }) => ((s.n = 2), { n: 3, text: "" }), "ReducerError");
  await fails(() => {
    throw new RangeError("mine");
  }, "RangeError");
  const view = await runner.get(run.runId);
  assert.deepEqual([view.run.revision, view.state], [run.revision, { n: 1, text: "" }]);
  assert.deepEqual((await runner.update(run.runId, { n: 2 } as never)).state, { n: 2, text: "" });
});

function mapped(lab: Lab, quick = "quick") {
  return lab.graph({
    m: {
      each: (s) => s.log,
      waits: [Ok],
      body: async (ctx, item) => {
        if (item === quick) return item;
        if (item === "bad") throw new Error("bad item");
        return `${item} ${await ctx.waitFor(Ok)}`;
      },
      reduce: (s, out) => void (s.out.m = out),
    },
  });
}

async function pausedMap(lab: Lab, ...log: readonly string[]) {
  const runner = lab.engine(mapped(lab));
  const paused = interrupted(await lab.drive(runner.run({ out: {}, log: [...log] }, { runId: "r" })));
  return { runner, paused };
}

test("an update under which a map with a recorded outcome has other items is refused; under equal items it is not (H2, D5)", async () => {
  const lab = new Lab();
  const { runner, paused } = await pausedMap(lab, "quick", "slow");
  const { revision } = paused.run;
  for (const edit of [(s: State) => void s.log.push("more"), (s: State) => void (s.log[1] = "other")]) {
    const error = await lab.fails(runner.update("r", edit), "ArgumentError");
    assert.match(error.message, /map vertex m .*item 0/);
  }
  assert.equal(await revisionOf(runner, "r"), revision);
  await runner.update("r", (s) => void (s.out.x = 1));
  await runner.answer("r", openId(await runner.get("r"), "ok"), "yes");
  assert.deepEqual((await resume(lab, runner)).state.out, { x: 1, m: ["quick", "slow yes"] });
});

test("a failed item is mended by an update of the items, and a map may lose and gain all of them (H2, D5)", async () => {
  const lab = new Lab();
  const { runner, paused } = await pausedMap(lab, "bad", "slow");
  assert.equal(paused.reason, "errored");
  await runner.update("r", (s) => void (s.log = ["quick", "slow", "new"]));
  const again = interrupted(await resume(lab, runner));
  assert.deepEqual([again.reason, again.waits.length], ["awaiting", 2]);

  const other = new Lab();
  const { runner: emptied } = await pausedMap(other, "bad");
  await emptied.update("r", (s) => void (s.log = []));
  assert.deepEqual((await resume(other, emptied)).state.out.m, []);
});

test("other items of a run that lost its processes too often are run by the resume that lifts the halt (H2, E8)", async () => {
  const lab = new Lab();
  const held = gate();
  const graph = lab.graph({
    m: {
      each: (s) => s.log,
      waits: [Ok],
      body: (_, item) => item === "hangs" ? held.promise : item,
      reduce: (s, out) => void (s.out.m = out),
    },
  });
  for (let life = 0;; life++) {
    const dying = mortal(lab.store);
    const engine = lab.engine(graph, { store: dying.store, maxRecoveries: 1 });
    if (life === 0) await engine.start({ out: {}, log: ["hangs", "hangs"] }, { runId: "r" });
    else await lab.drive(engine.recover());
    await lab.clock.settle();
    dying.kill();
    await lab.clock.advance("1m");
    if ((await lab.engine(graph).status("r")).reason === "halted") break;
  }
  const runner = lab.elsewhere(graph);
  const view = interrupted(await runner.update("r", (s) => void (s.log = ["quick"])));
  assert.deepEqual([view.reason, view.waits], ["halted", []]);
  assert.equal((await wakeOf(lab)).wake, undefined);
  assert.deepEqual((await resume(lab, runner)).state.out.m, ["quick"]);
});

test("the outcome of an item that failed under a route is kept, and so are the items of its map (H2, D5)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    m: {
      each: (s) => s.log,
      waits: [Ok],
      body: (ctx, item) => item === "bad" ? Promise.reject(new Error("bad")) : ctx.waitFor(Ok),
      onError: { route: "f" },
      finish: true,
    },
    f: { body: () => 1 },
  });
  const runner = lab.engine(graph);
  await lab.drive(runner.run({ out: {}, log: ["bad", "waits"] }, { runId: "r" }));
  await lab.fails(runner.update("r", (s) => void (s.log = ["waits"])), "ArgumentError");
  await runner.update("r", (s) => void (s.out.x = 1));
});

test("of an update and a claim at one instant each finds what the other has made; the function may be called again (H2)", async () => {
  const outcomes = new Set<string>();
  for (let ticks = 0; ticks < 30; ticks++) {
    const lab = new Lab();
    const graph = mixed(lab);
    const runner = lab.engine(graph);
    await lab.drive(runner.run(INPUT, { runId: "r" }));
    const updating = (async () => {
      for (let i = 0; i < ticks; i++) await undefined;
      return await lab.elsewhere(graph).update("r", (s) => void (s.out.v = "updated"));
    })();
    const [updated, resumed] = await lab.drive(
      Promise.allSettled([updating, lab.elsewhere(graph).resume("r")]),
    );
    const result = await runner.get("r");
    const c = updated.status === "fulfilled" ? ["updated", "v"] : ["v"];
    if (updated.status === "rejected") assert.equal((updated.reason as Error).name, "RunBusyError");
    else assert.equal(result.state.out.v, "updated");
    if (resumed.status === "rejected") assert.equal((resumed.reason as Error).name, "RevisionConflictError");
    else assert.ok(c.includes(result.state.out.c as string));
    outcomes.add(`${updated.status} ${resumed.status}`);
  }
  assert.ok(outcomes.size >= 2, [...outcomes].join());
});

test("an update whose acknowledgement was lost is made once, and observers are told of its record (H2, S2)", async () => {
  const lab = new Lab();
  const graph = mixed(lab);
  await lab.drive(lab.engine(graph).run(INPUT, { runId: "r" }));
  const before = await revisionOf(lab.engine(graph), "r");
  let lost = 0;
  const store = aroundStore(lab.store, async (call) => {
    const answer = await call.apply();
    if (call.op === "append" && lost++ === 0) throw Object.assign(new Error("lost"), { name: "Error" });
    return answer;
  });
  const { hooks, events } = recorder();
  const doubting = lab.engine(graph, { store, hooks });
  await doubting.update("r", (s) => void s.log.push("once")).catch((error) =>
    assert.equal(error.message, "lost")
  );
  assert.deepEqual((await doubting.get("r")).state.log, ["v", "once", "a"]);
  assert.equal(await revisionOf(doubting, "r"), before + 1);
  await doubting.update("r", (s) => void s.log.push("twice"));
  assert.deepEqual(events.map((e) => e.type), ["checkpoint"]);
});
