import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers";
import { z } from "zod";
import { type CompiledGraph, defineWait, type RunView, type TaskContext } from "../../mod.ts";
import { INPUT, interrupted, Lab, openId, type State } from "./lab.ts";

const V = defineWait("v", z.string());
const Question = defineWait("question", z.string());
const KEYS = ["a", "b", "c"];

async function turns(count = 3): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Lets time pass and every other process take over what is due. */
async function later(
  lab: Lab,
  graph: CompiledGraph<State>,
  by: string,
  runId: string,
): Promise<RunView<State>> {
  await lab.clock.advance(by as "1h");
  for (const handle of await lab.elsewhere(graph).recover()) await lab.drive(handle.result());
  return await lab.engine(graph).get(runId);
}

/** The id of an open wait for an answer. */
function firstAnswer(view: RunView<State>): string {
  return interrupted(view).waits.find((w) => w.kind === "answer")!.waitId;
}

/** Nothing is left that could wake a run that is over, or be answered. */
async function assertOver(lab: Lab, graph: CompiledGraph<State>): Promise<void> {
  assert.deepEqual((await lab.engine(graph).waits()).rows, []);
  assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
}

for (const answered of [0, 1, 2]) {
  test(`a cap that fires when ${answered} of three keyed waits are answered ends the run with its mail and its value (FT-A2, T2)`, async () => {
    const lab = new Lab();
    const mails: string[] = [];
    const graph = lab.graph({
      a: {
        waits: [V],
        body: async (ctx) => {
          const all = Promise.all(KEYS.map((key) => ctx.waitFor(V, { key })));
          const won = await Promise.race([all, ctx.sleep("cap", "2d")]);
          if (won === undefined) await ctx.once("escalate", () => void mails.push("boss"));
          return won ?? "escalated";
        },
      },
    });
    let view: RunView<State> = await lab.drive(lab.engine(graph).run(INPUT));
    const { runId } = view.run;
    for (let i = 0; i < answered; i++) {
      view = await lab.drive(lab.elsewhere(graph).resume(runId, { answers: { [firstAnswer(view)]: "yes" } }));
    }
    view = await later(lab, graph, "2d", runId);
    assert.deepEqual([view.status, view.state.out.a, mails], ["completed", "escalated", ["boss"]]);
    await assertOver(lab, graph);
  });
}

test("a cap that is raced in a loop against one question after another, with plain work between, ends the run when it fires (FT-A2, T2)", async () => {
  const lab = new Lab();
  const mails: string[] = [];
  const graph = lab.graph({
    a: {
      waits: [Question],
      body: async (ctx) => {
        const late = ctx.sleep("cap", "2h").then(() => "late");
        const got: string[] = [];
        for (let i = 0; i < 3; i++) {
          await turns();
          const won = await Promise.race([ctx.waitFor(Question, { info: i }), late]);
          await turns();
          got.push(won);
          if (won === "late") break;
        }
        if (got.includes("late")) await ctx.once("mail", () => void mails.push("late"));
        return got;
      },
    },
  });
  let view: RunView<State> = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = view.run;
  // Plain work beside the cap may have let the run be released meanwhile (T9).
  view = await later(lab, graph, "1m", runId);
  await lab.engine(graph).answer(runId, openId(view, "question"), "one");
  view = await later(lab, graph, "1m", runId);
  assert.equal(interrupted(view).waits.filter((w) => w.kind === "answer").length, 1);
  view = await later(lab, graph, "2h", runId);
  assert.deepEqual([view.status, view.state.out.a, mails], ["completed", ["one", "late"], ["late"]]);
  await assertOver(lab, graph);
});

/** Two of three, or whatever there is when the cap fires. */
async function quorum(ctx: TaskContext): Promise<string[]> {
  const got: string[] = [];
  const two = new Promise<void>((resolve) => {
    for (const key of KEYS) {
      void ctx.waitFor(V, { key }).then((v) => {
        got.push(v);
        if (got.length === 2) resolve();
      });
    }
  });
  await Promise.race([two, ctx.sleep("cap", "1d")]);
  await turns();
  return await ctx.once("decide", () => [...got]);
}

for (const [answered, how] of [[1, "a cap"], [2, "its second answer"]] as const) {
  test(`a quorum of two of three with a cap is ended by ${how} (FT-A2, T2)`, async () => {
    const lab = new Lab();
    const graph = lab.graph({ a: { waits: [V], body: quorum } });
    let view: RunView<State> = await lab.drive(lab.engine(graph).run(INPUT));
    const { runId } = view.run;
    for (let i = 0; i < answered; i++) {
      view = await lab.drive(
        lab.elsewhere(graph).resume(runId, { answers: { [firstAnswer(view)]: `v${i}` } }),
      );
    }
    if (answered === 1) view = await later(lab, graph, "1d", runId);
    assert.deepEqual([view.status, view.state.out.a], ["completed", ["v0", "v1"].slice(0, answered)]);
    await assertOver(lab, graph);
  });
}

test("a once that wins a race against a long timer ends the body when it is recorded (FT-A3, T2)", async () => {
  for (const inlineTimers of ["0ms", "2h"] as const) {
    const lab = new Lab();
    let jobs = 0;
    const graph = lab.graph({
      a: {
        body: (ctx) => {
          const work = async () => {
            jobs++;
            await lab.clock.sleep(100);
            return "job";
          };
          return Promise.race([ctx.once("job", work), ctx.sleep("cap", "1h")]);
        },
      },
    });
    const startedAt = lab.clock.now();
    const result = await lab.drive(lab.engine(graph, { inlineTimers }).run(INPUT));
    assert.deepEqual([result.status, result.state.out.a, jobs], ["completed", "job", 1]);
    assert.ok(lab.clock.now() - startedAt < 1_000);
    await assertOver(lab, graph);
  }
});

test("a once that loses a race against a cap is joined by the re-run and not waited for (T1, T8)", async () => {
  const lab = new Lab();
  let jobs = 0;
  const graph = lab.graph({
    a: {
      body: async (ctx) => {
        const job = ctx.once("job", async () => {
          jobs++;
          await lab.clock.sleep("3h");
          return "job";
        });
        return await Promise.race([job, ctx.sleep("cap", "1h").then(() => "cap")]);
      },
    },
  });
  const startedAt = lab.clock.now();
  const result = await lab.drive(lab.engine(graph).run(INPUT));
  assert.deepEqual([result.status, result.state.out.a, jobs], ["completed", "cap", 1]);
  assert.equal(lab.clock.now() - startedAt, 3_600_000);
  await assertOver(lab, graph);
});

const INSIDE: Readonly<Record<string, (ctx: TaskContext) => unknown>> = {
  sleep: (ctx) => ctx.sleep("inner", 30),
  waitFor: (ctx) => ctx.waitFor(V),
  interrupt: (ctx) => ctx.interrupt(),
};

for (const [call, wait] of Object.entries(INSIDE)) {
  for (const swallows of [false, true]) {
    test(`ctx.${call} inside a once is a named fault${swallows ? " though the body swallows it" : ""}; what stands before it runs once (FT-A5, T2)`, async () => {
      const lab = new Lab();
      let hello = 0;
      const graph = lab.graph({
        a: {
          waits: [V],
          body: async (ctx) => {
            const outer = ctx.once("outer", async () => {
              hello++;
              await turns(1);
              await wait(ctx);
              return "said";
            });
            return swallows ? await outer.catch(() => "swallowed") : await outer;
          },
        },
      });
      const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
      assert.deepEqual([result.reason, hello], ["errored", 1]);
      const { failure } = result.failures[0]!;
      assert.equal(failure.name, "ContextError");
      assert.match(failure.message, /once\("outer"\)/);
      assert.ok(failure.message.includes(call), failure.message);
      await assertOver(lab, graph);
    });
  }
}

for (const at of ["during the first sleep", "during the job", "after the mail"] as const) {
  test(`a race that a mail was sent of is won by the same for ever when the wait is answered ${at} (T1, T2)`, async () => {
    const lab = new Lab();
    const mails: unknown[] = [];
    const graph = lab.graph({
      a: {
        waits: [V],
        body: async (ctx) => {
          const w = ctx.waitFor(V).then((v) => `answer ${v}`);
          await ctx.sleep("s", 60);
          const won = await Promise.race([
            ctx.once("job", () => lab.clock.sleep(30).then(() => "job")),
            w,
          ]);
          await ctx.once("mail", () => void mails.push(won));
          await ctx.sleep("t", 80);
          return won;
        },
      },
    });
    const runner = lab.engine(graph);
    const handle = await runner.start(INPUT);
    const after = { "during the first sleep": 20, "during the job": 75, "after the mail": 120 }[at];
    const answering = (async () => {
      await lab.clock.sleep(after);
      const [row] = (await lab.elsewhere(graph).waits()).rows;
      await lab.elsewhere(graph).answer(handle.runId, row!.waitId, "yes");
    })();
    const result = await lab.drive(handle.result());
    await lab.drive(answering);
    assert.equal(result.status, "completed");
    assert.deepEqual(mails, [result.state.out.a]);
    await assertOver(lab, graph);
  });
}

test("while a once of the body is at work, no result comes out of its turn: a race keeps its winner (T2)", async () => {
  const lab = new Lab();
  const mails: unknown[] = [];
  const graph = lab.graph({
    a: {
      waits: [V, Question],
      body: async (ctx) => {
        const v = ctx.waitFor(V).then((answer) => `answer ${answer}`);
        // It has no result, so it is at work in every body.
        await ctx.once("probe", () => lab.clock.sleep(400).then(() => Promise.reject(new Error("down"))))
          .catch(() => {});
        const won = await Promise.race([v, ctx.once("job", () => "job")]);
        await ctx.once("mail", () => void mails.push(won));
        await ctx.waitFor(Question);
        return won;
      },
    },
  });
  const view = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = view.run;
  await lab.engine(graph).answer(runId, openId(view, "v"), "yes");
  await lab.drive(lab.elsewhere(graph).resume(runId));
  const result = await lab.drive(lab.elsewhere(graph).resume(runId, { payload: "go on" }));
  assert.deepEqual([result.status, result.state.out.a, mails], ["completed", "job", ["job"]]);
});

test("a loop that races one wait against plain work opens its name again each round (T2)", async () => {
  const lab = new Lab();
  let polls = 0;
  const Stop = defineWait("stop", z.string());
  const graph = lab.graph({
    a: {
      waits: [Stop],
      body: async (ctx) => {
        for (;;) {
          const poll = lab.clock.sleep(1_000).then(() => "poll");
          const won = await Promise.race([ctx.waitFor(Stop), poll]);
          if (won !== "poll") return won;
          if (++polls === 3) return "polled out";
        }
      },
    },
  });
  const first = await lab.drive(lab.engine(graph).run(INPUT));
  const { runId } = first.run;
  let view: RunView<State> = await lab.engine(graph).get(runId);
  for (let i = 0; i < 10 && view.status !== "completed"; i++) {
    assert.notEqual(view.run.reason, "errored");
    view = await later(lab, graph, "1m", runId);
  }
  assert.deepEqual([view.status, view.state.out.a], ["completed", "polled out"]);
  await assertOver(lab, graph);
});

test("two openings of one name side by side are refused at the second, naming key (FT-A4, T2)", async () => {
  const shapes: Readonly<Record<string, (ctx: TaskContext) => Promise<unknown>>> = {
    waits: (ctx) => Promise.all([ctx.waitFor(V, { info: 1 }), ctx.waitFor(V, { info: 2 })]),
    "keyed waits": (ctx) => Promise.all([ctx.waitFor(V, { key: "k" }), ctx.waitFor(V, { key: "k" })]),
    sleeps: (ctx) => Promise.all([ctx.sleep("s", 10), ctx.sleep("s", 20)]),
    "waits under catches": (ctx) =>
      Promise.allSettled([ctx.waitFor(V).catch(() => 1), (async () => await ctx.waitFor(V))()]),
  };
  for (const [what, body] of Object.entries(shapes)) {
    const lab = new Lab();
    const graph = lab.graph({ a: { waits: [V], body } });
    const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
    assert.equal(result.reason, "errored", what);
    assert.equal(result.failures[0]!.failure.name, "ContextError", what);
    assert.match(result.failures[0]!.failure.message, what === "sleeps" ? /name/ : /key/, what);
    assert.equal(lab.count("a"), 1, what);
  }
});
