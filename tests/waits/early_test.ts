// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { setImmediate } from "node:timers";
import { z } from "zod";
import { defineWait, type TaskContext } from "../../mod.ts";
import { commandFor, HOST } from "../support/runtimes.ts";
import { Unhandled } from "../support/unhandled.ts";
import { carry } from "./carry.ts";
import { INPUT, interrupted, Lab, openId } from "./lab.ts";

const Verdict = defineWait("verdict", z.object({ ok: z.boolean() }));
const Legal = defineWait("legal", z.string());
const Boss = defineWait("boss", z.string());
const KEYS = ["ann", "bob", "cy"];
type Answer = { ok: boolean } | void;

/** Plain work of a body. */
async function turns(count = 3): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

const asked = async (ctx: TaskContext, key: string) => {
  const { ok } = await ctx.waitFor(Verdict, { key });
  return ok;
};
const isOk = (answer: Answer) => answer?.ok;

/** What opens waits now and is awaited after other work. */
const EARLY: Readonly<Record<string, (ctx: TaskContext) => Promise<unknown>>> = {
  "Promise.all": async (ctx) =>
    (await Promise.all(KEYS.map((key) => ctx.waitFor(Verdict, { key })))).every(isOk),
  "Promise.allSettled": async (ctx) =>
    (await Promise.allSettled(KEYS.map((key) => ctx.waitFor(Verdict, { key })))).every((v) =>
      v.status === "fulfilled"
    ),
  "Promise.any": (ctx) => Promise.any(KEYS.map((key) => ctx.waitFor(Verdict, { key }))).then(isOk),
  "Promise.race with a sleep": (ctx) =>
    Promise.race([ctx.waitFor(Verdict, { key: "ann" }), ctx.sleep("cap", "2d")]).then(isOk),
  "then": (ctx) => ctx.waitFor(Verdict).then(isOk),
  "catch": (ctx) => ctx.waitFor(Verdict).catch(() => ({ ok: false })).then(isOk),
  "finally": (ctx) => ctx.waitFor(Verdict).finally(() => {}).then(isOk),
  "a helper": (ctx) => asked(ctx, "ann"),
  "helpers side by side": async (ctx) =>
    (await Promise.all(KEYS.map((key) => asked(ctx, key)))).every(Boolean),
};

for (const [what, open] of Object.entries(EARLY)) {
  for (const plain of [0, 3]) {
    const before = plain === 0 ? "a once" : "plain work and a once";
    test(`a wait opened early under ${what} and awaited after ${before} pauses the run and ends well (FT-A1, T2)`, async () => {
      const unhandled = new Unhandled();
      const lab = new Lab();
      let mails = 0;
      const graph = lab.graph({
        a: {
          waits: [Verdict],
          body: async (ctx) => {
            const early = open(ctx);
            await turns(plain);
            await ctx.once("mail", async () => {
              mails++;
              await turns();
            });
            await turns(plain);
            return await early;
          },
        },
      });
      const paused = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
      assert.equal(paused.reason, "awaiting");
      if (plain === 0) assert.equal(mails, 1);
      const result = await carry(lab, graph, paused.run.runId, { verdict: { ok: true } });
      assert.deepEqual([result.status, result.state.out.a, mails], ["completed", true, 1]);
      assert.deepEqual((await lab.engine(graph).waits()).rows, []);
      await unhandled.end();
      assert.deepEqual(unhandled.reasons, []);
    });
  }
}

test("a recorded expiry that reaches what is awaited after other work ends no process (FT-A1, T2)", async () => {
  const { code, output } = await late();
  assert.equal(code, 0, output);
  const found = JSON.parse(output) as Record<string, unknown>;
  assert.ok(Object.keys(found).length >= 6);
  for (const [what, told] of Object.entries(found)) {
    assert.deepEqual(told, ["completed", "WaitExpiredError", 1], what);
  }
});

test("a rejection of the user's own that nobody handles ends the process, beside expiries of the engine (T2)", async () => {
  const { code, output } = await late("own");
  assert.notEqual(code, 0);
  assert.match(output, /the user's own/);
});

/** Runs the bodies of `late_expiries.ts` in a process of their own: a test fails on any rejection that is handled late. */
async function late(...args: string[]): Promise<{ readonly code: unknown; readonly output: string }> {
  const { command, args: all } = commandFor(HOST, "tests/waits/late_expiries.ts", args);
  return await new Promise((resolve) => {
    execFile(command, all, (error, out, err) => {
      resolve({ code: error === null ? 0 : error.code, output: error === null ? out : out + err });
    });
  });
}

test("an open wait is not skipped when a catch around it does other work and another wait is answered (FT-A15, T2)", async () => {
  const lab = new Lab();
  let fallbacks = 0;
  const graph = lab.graph({
    a: {
      waits: [Legal, Boss],
      body: (ctx) => {
        const boss = async () => {
          try {
            return await ctx.waitFor(Boss);
          } catch {
            fallbacks++;
            await turns();
            return "default";
          }
        };
        return Promise.all([ctx.waitFor(Legal), boss()]);
      },
    },
  });
  const { runId } = (await lab.drive(lab.engine(graph).run(INPUT))).run;
  const second = interrupted(await carry(lab, graph, runId, { legal: "fine" }));
  assert.deepEqual(second.waits.map((w) => w.name), ["boss"]);
  const third = await carry(lab, graph, runId, { boss: "approved" });
  assert.deepEqual([third.status, third.state.out.a, fallbacks], ["completed", ["fine", "approved"], 0]);
});

for (const depth of [1, 60, 500]) {
  test(`an open wait under ${depth} nested awaits is not skipped when another wait is answered (FT-A15, T2)`, async () => {
    const lab = new Lab();
    const deep = async (wait: () => Promise<string>, left: number): Promise<string> => {
      try {
        return left === 0 ? await wait() : await deep(wait, left - 1);
      } catch {
        return "default";
      }
    };
    const graph = lab.graph({
      a: {
        waits: [Legal, Boss],
        body: (ctx) => Promise.all([ctx.waitFor(Legal), deep(() => ctx.waitFor(Boss), depth)]),
      },
    });
    const { runId } = (await lab.drive(lab.engine(graph).run(INPUT))).run;
    const second = interrupted(await carry(lab, graph, runId, { legal: "fine" }));
    assert.deepEqual(second.waits.map((w) => w.name), ["boss"]);
    const third = await carry(lab, graph, runId, { boss: "approved" });
    assert.deepEqual([third.status, third.state.out.a], ["completed", ["fine", "approved"]]);
  });
}

test("of two answers in one append the first accepted wins a race however deep the helpers around it (T2)", async () => {
  const deep = async (wait: Promise<string>, left: number): Promise<string> =>
    left === 0 ? await wait : await deep(wait, left - 1);
  for (const [first, second] of [["legal", "boss"], ["boss", "legal"]] as const) {
    const lab = new Lab();
    const graph = lab.graph({
      a: {
        waits: [Legal, Boss],
        body: async (ctx) => {
          const won = await Promise.race([deep(ctx.waitFor(Legal), 300), ctx.waitFor(Boss)]);
          return [won, await ctx.once("mail", () => won)];
        },
      },
    });
    const paused = await lab.drive(lab.engine(graph).run(INPUT));
    const { runId } = paused.run;
    await lab.engine(graph).answer(runId, openId(paused, first), first);
    await lab.clock.advance("1s");
    await lab.engine(graph).answer(runId, openId(paused, second), second);
    const result = await lab.drive(lab.elsewhere(graph).resume(runId));
    assert.deepEqual([result.status, result.state.out.a], ["completed", [first, first]]);
  }
});
