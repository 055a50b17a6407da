// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { INPUT, interrupted, Lab } from "./lab.ts";

const Ok = defineWait("ok", z.string());
const LONG = "x".repeat(500);

async function mailboxBytes(lab: Lab): Promise<number> {
  const { value, entries } = (await lab.store.tail("r"))!.mailbox!;
  return [value, ...entries.map((entry) => entry.value)].reduce((sum, { length }) => sum + length, 0);
}

test("after 100 answers to one body after another the mailbox is as small as after one (FT-G10, I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Ok],
      select: (s) => s.log.length,
      body: (ctx) => ctx.waitFor(Ok),
      route: { targets: ["a", "b"], pick: (s) => s.log.length < 101 ? "a" : "b" },
    },
    b: { body: () => 0 },
  });
  await lab.drive(lab.engine(graph).run(INPUT, { runId: "r" }));
  const before = await mailboxBytes(lab);
  let one = 0;
  for (let i = 1; i <= 100; i++) {
    await lab.engine(graph).answer("r", Ok, LONG);
    assert.ok(await mailboxBytes(lab) >= before + LONG.length);
    interrupted(await lab.drive(lab.engine(graph).resume("r")));
    if (i === 1) one = await mailboxBytes(lab);
  }
  assert.equal(await mailboxBytes(lab), one);
  assert.ok(one <= before + 20, `${one} after one answer, ${before} before`);
});

test("after 100 answers within one body the mailbox is as small as after one, also when they came at once (FT-G10, I2)", async () => {
  const lab = new Lab();
  const keys = Array.from({ length: 50 }, (_, i) => `k${i}`);
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: async (ctx) => {
        for (let i = 0; i < 50; i++) await ctx.waitFor(Ok);
        const all = await Promise.all(keys.map((key) => ctx.waitFor(Ok, { key })));
        await ctx.waitFor(Ok, { key: "last" });
        return all.length;
      },
    },
  });
  const runner = lab.engine(graph);
  await lab.drive(runner.run(INPUT, { runId: "r" }));
  let one = 0;
  for (let i = 1; i <= 50; i++) {
    await runner.answer("r", Ok, LONG);
    interrupted(await lab.drive(runner.resume("r")));
    if (i === 1) one = await mailboxBytes(lab);
  }
  assert.equal(await mailboxBytes(lab), one);
  for (const key of keys) await runner.answer("r", Ok, LONG, { key });
  interrupted(await lab.drive(runner.resume("r")));
  assert.equal(await mailboxBytes(lab), one);
});

test("what was accepted for a wait that closed without it leaves the mailbox (FT-G10, I2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    b: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
  });
  const runner = lab.engine(graph);
  const paused = interrupted(await lab.drive(runner.run(INPUT, { runId: "r" })));
  await runner.answer("r", paused.waits[0]!.waitId, LONG);
  assert.ok(await mailboxBytes(lab) > LONG.length);
  await lab.drive(runner.cancel("r"));
  assert.ok(await mailboxBytes(lab) < LONG.length);
});
