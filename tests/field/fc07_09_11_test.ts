// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, WaitExpiredError } from "../../mod.ts";
import type { AnswerError, Runner, TaskContext } from "../../mod.ts";
import { INPUT, interrupted, Lab, openId, type State } from "../waits/lab.ts";

test("answering one of two pauses completes only that one; the other keeps its continuation over a restart (FC-07)", async () => {
  const lab = new Lab();
  const branch = (cursor: string) => ({
    to: "d",
    body: (ctx: TaskContext) =>
      ctx.answer() === undefined
        ? ctx.interrupt(0, { continuation: { cursor } })
        : [ctx.answer()?.value, ctx.continuation()?.value],
  });
  const graph = lab.graph({
    a: { body: () => 0, to: ["b", "c"] },
    b: branch("b7"),
    c: branch("c9"),
    d: { select: (s) => [s.out.b, s.out.c], body: (_, input: unknown) => input },
  });
  const first = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = first.run;
  const ofB = openId(first, "interrupt", "b");
  await lab.drive(lab.elsewhere(graph).resume(runId, { answers: { [ofB]: "for b" } }));
  const between = interrupted(await lab.elsewhere(graph).get(runId));
  assert.deepEqual(between.waits.map((w) => w.vertexId), ["c"]);
  assert.deepEqual([lab.count("b"), lab.count("c"), lab.count("d")], [2, 1, 0]);
  const again = await lab.fails<AnswerError>(lab.elsewhere(graph).answer(runId, ofB, "twice"), "AnswerError");
  assert.equal(again.reason, "answered");
  const result = await lab.drive(lab.elsewhere(graph).resume(runId, { payload: "for c" }));
  assert.deepEqual(result.state.out.d, [["for b", { cursor: "b7" }], ["for c", { cursor: "c9" }]]);
  assert.deepEqual([lab.count("b"), lab.count("c"), lab.count("d")], [2, 2, 1]);
});

const Approval = defineWait("approval", z.object({ approved: z.boolean() }));
const Free = defineWait("free", z.unknown());

/** Three pauses with a schema in run `r`; one of them, of `c`, has been answered. */
async function threePauses() {
  const lab = new Lab();
  const branch = {
    waits: [Approval],
    body: (ctx: TaskContext) => ctx.waitFor(Approval),
  };
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b", "c", "d"] },
    a: branch,
    b: branch,
    c: branch,
    d: branch,
  });
  const runner = lab.engine(graph);
  const other = await lab.drive(runner.run(INPUT, { runId: "other" }));
  const paused = await lab.drive(runner.run(INPUT, { runId: "r" }));
  const id = (vertexId: string) => openId(paused, "approval", vertexId);
  await runner.answer("r", id("c"), { approved: true });
  await lab.drive(runner.resume("r"));
  return { lab, graph, runner, id, foreign: openId(other, "approval", "a") };
}

type Case = readonly [
  what: string,
  reason: AnswerError["reason"],
  call: (runner: Runner<State>, id: (vertexId: string) => string, foreign: string) => Promise<unknown>,
];

const yes = { approved: true };

const REFUSED: readonly Case[] = [
  ["(a) no target", "ambiguous", (runner) => runner.resume("r", { payload: yes })],
  ["(b) an unknown id", "unknown", (runner) => runner.answer("r", "w-nothing", yes)],
  ["(b) an unknown id in a resume", "unknown", (runner) => runner.resume("r", { answers: { x: yes } })],
  ["(c) an id of another run", "foreign", (runner, _, foreign) => runner.answer("r", foreign, yes)],
  [
    "(c) an id of another run in a resume",
    "foreign",
    (runner, _, foreign) => runner.resume("r", { answers: { [foreign]: yes } }),
  ],
  ["(d) an id that is answered", "answered", (runner, id) => runner.answer("r", id("c"), yes)],
  [
    "(d) an id that is answered in a resume",
    "answered",
    (runner, id) => runner.resume("r", { answers: { [id("c")]: yes } }),
  ],
  ["(e) a wrong shape", "invalid", (runner, id) => runner.answer("r", id("a"), { approved: "yes" })],
  [
    "(e) a wrong shape in a resume",
    "invalid",
    (runner, id) => runner.resume("r", { answers: { [id("a")]: { approved: "yes" } } }),
  ],
  ["(e) what cannot be stored", "invalid", (runner, id) => runner.answer("r", id("a"), () => {})],
  [
    "(g) two valid ids and an unknown one",
    "unknown",
    (runner, id) => runner.resume("r", { answers: { [id("a")]: yes, [id("b")]: yes, x: yes } }),
  ],
  [
    "(g) a valid shape and a wrong one",
    "invalid",
    (runner, id) => runner.resume("r", { answers: { [id("a")]: yes, [id("b")]: 1 } }),
  ],
  [
    "one payload for all of which one is refused",
    "invalid",
    (runner) => runner.resume("r", { payload: 7, all: true }),
  ],
];

for (const [what, reason, call] of REFUSED) {
  test(`${what} is refused as ${reason} and changes nothing: same revision, mailbox and pauses, no vertex run (FC-09, I3)`, async () => {
    const { lab, graph, id, foreign } = await threePauses();
    const snapshot = async () => ({
      tail: await lab.store.tail("r"),
      waits: (await lab.engine(graph).waits({ runId: "r" })).rows.map((row) => row.waitId).sort(),
      wakes: await lab.store.wakes(Infinity, 10),
      ran: ["a", "b", "c", "d"].map((v) => lab.count(v)),
    });
    const before = await snapshot();
    assert.equal(before.waits.length, 3);
    for (const runner of [lab.engine(graph), lab.elsewhere(graph)]) {
      const error = await lab.fails<AnswerError>(call(runner, id, foreign), "AnswerError");
      assert.deepEqual([error.reason, error.runId], [reason, "r"]);
      if (reason === "ambiguous") assert.deepEqual((error.fields.waits as string[]).length, 3);
    }
    assert.deepEqual(await snapshot(), before);
  });
}

for (const value of [false, 0, "", null]) {
  test(`FC-09 (f): the answer ${JSON.stringify(value)} is delivered as given, by answer and by payload`, async () => {
    for (const how of ["answer", "payload"] as const) {
      const lab = new Lab();
      const graph = lab.graph({
        a: { waits: [Free], body: async (ctx) => ({ got: await ctx.waitFor(Free) }) },
      });
      const paused = await lab.drive(lab.engine(graph).run(INPUT));
      const { runId } = paused.run;
      const idle = await lab.drive(lab.engine(graph).resume(runId));
      assert.equal(interrupted(idle).waits.length, 1, "no answer is none");
      assert.equal(lab.count("a"), 1);
      if (how === "answer") await lab.engine(graph).answer(runId, openId(paused, "free"), value);
      const options = how === "answer" ? {} : { payload: value };
      const result = await lab.drive(lab.elsewhere(graph).resume(runId, options));
      assert.deepEqual(result.state.out.a, { got: value });
    }
  });
}

test("after a wait has expired the next one of the name gets the answer; nothing stays registered (FC-11)", async () => {
  const lab = new Lab();
  const Code = defineWait("code", z.string(), { deadline: "5s" });
  const ids: string[] = [];
  const graph = lab.graph({
    v: {
      waits: [Code],
      body: async (ctx) => {
        for (let n = 1;; n++) {
          ids[n - 1] = ctx.waitId(Code, n);
          try {
            return [n, await ctx.waitFor(Code)];
          } catch (error) {
            if (!(error instanceof WaitExpiredError)) throw error;
          }
        }
      },
    },
  });
  const start = lab.clock.now();
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT);
  await lab.clock.advance("7s");
  assert.equal(lab.count("v"), 2);
  const [open] = (await runner.waits()).rows;
  assert.equal(open?.waitId, ids[1]);
  assert.notEqual(ids[0], ids[1]);
  const late = await lab.fails<AnswerError>(runner.answer(handle.runId, ids[0]!, "late"), "AnswerError");
  assert.equal(late.reason, "expired");
  await runner.answer(handle.runId, ids[1]!, "code");
  const result = await lab.drive(handle.result());
  assert.deepEqual([result.status, result.state.out.v], ["completed", [2, "code"]]);
  assert.ok(lab.clock.now() < start + 10_000, "the answer woke the vertex");
  assert.equal(lab.clock.pending, 0);
  assert.deepEqual((await runner.waits()).rows, []);
  assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
});
