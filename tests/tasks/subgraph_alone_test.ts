// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { gate, INPUT, interrupted, Lab, openId, recorded } from "../waits/lab.ts";
import { house, nested } from "./nesting.ts";

const Ok = defineWait("ok", z.boolean());
const More = defineWait("more", z.string());
const KEY = "graph=parent/run=p/step=0/vertex=a";

for (const place of ["here", "elsewhere"] as const) {
  test(`a child that is cancelled by itself, ${place}, wakes its caller, whose inbox keeps no dead wait (FT-C2)`, async () => {
    const lab = new Lab();
    const home = house(lab);
    const child = lab.graph({ c: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } }, { id: "child" });
    const parent = lab.graph({
      a: nested(() => home, child, { onError: { route: "rescue" } }),
      rescue: { body: () => "rescued" },
    }, { id: "parent" });
    const paused = interrupted(await lab.drive(home.runner(parent).run(INPUT, { runId: "p" })));
    const waitId = openId(paused, "ok");
    const children = house(lab, place).runner(child);
    await lab.drive(children.cancel(children.runIdOf(KEY), "not needed"));
    await lab.drive(Promise.all((await home.runner(parent).recover()).map((handle) => handle.result())));
    const view = await home.runner(parent).get("p");
    assert.deepEqual([view.status, view.state.out.rescue], ["completed", "rescued"]);
    assert.deepEqual((await home.runner(parent).waits()).rows, []);
    const late = await lab.fails<Error & { reason: string }>(
      home.runner(parent).answer("p", waitId, true),
      "AnswerError",
    );
    assert.equal(late.reason, "closed");
  });

  test(`a child that is resumed to its end by itself, ${place}, wakes its caller (FT-C2)`, async () => {
    const lab = new Lab();
    const home = house(lab);
    const child = lab.graph({ c: { body: (ctx) => ctx.sleep("nap", "2h").then(() => "slept") } }, {
      id: "child",
    });
    const parent = lab.graph({ a: nested(() => home, child, { output: (s) => s.out.c }) }, { id: "parent" });
    interrupted(await lab.drive(home.runner(parent).run(INPUT, { runId: "p" })));
    // To this process the time has come.
    const children = house(lab, place).runner(child);
    lab.clock.step("2h");
    assert.equal((await lab.drive(children.resume(children.runIdOf(KEY)))).status, "completed");
    lab.clock.step("-2h");
    await lab.drive(Promise.all((await home.runner(parent).recover()).map((handle) => handle.result())));
    const view = await home.runner(parent).get("p");
    assert.deepEqual([view.status, view.state.out.a], ["completed", "slept"]);
  });
}

for (const place of ["here", "elsewhere"] as const) {
  test(`a child that is resumed by itself, ${place}, to another wait has it asked in the inbox of its caller at once (FT-C2)`, async () => {
    const lab = new Lab();
    const home = house(lab);
    const child = lab.graph({
      c: {
        waits: [Ok, More],
        body: async (ctx) => {
          await Promise.race([ctx.waitFor(Ok), ctx.sleep("cap", "2h")]);
          return await ctx.waitFor(More);
        },
      },
    }, { id: "child" });
    const parent = lab.graph({ a: nested(() => home, child, { output: (s) => s.out.c }) }, { id: "parent" });
    const runner = home.runner(parent);
    const first = openId(interrupted(await lab.drive(runner.run(INPUT, { runId: "p" }))), "ok");
    const children = house(lab, place).runner(child);
    lab.clock.step("2h"); // To this process the time has come.
    interrupted(await lab.drive(children.resume(children.runIdOf(KEY))));
    lab.clock.step("-2h");
    await lab.drive(Promise.all((await runner.recover()).map((handle) => handle.result())));
    const view = await runner.get("p");
    assert.equal(openId(view, "ok"), first, "the race that the timer won is not over for the answer");
    const done = await lab.drive(runner.resume("p", { answers: { [openId(view, "more")]: "yes" } }));
    assert.deepEqual([done.status, done.state.out.a, lab.count("c")], ["completed", "yes", 3]);
  });
}

test("a body of a child that comes back after its runs were released runs again, and its caller goes on (T9)", async () => {
  const lab = new Lab();
  const home = house(lab);
  const { promise, open } = gate<string>();
  const child = lab.graph({ c: { waits: [Ok], body: (ctx) => Promise.race([ctx.waitFor(Ok), promise]) } }, {
    id: "child",
  });
  const parent = lab.graph({
    a: nested(() => home, child, { output: (s) => s.out.c, to: "z" }),
    z: { body: () => "after" },
  }, { id: "parent" });
  const runner = home.runner(parent);
  interrupted(await lab.drive(runner.run(INPUT, { runId: "p" })));
  open("by itself");
  for (let i = 0; i < 20 && (await runner.status("p")).status !== "completed"; i++) {
    await lab.clock.advance("30s");
    for (const handle of await runner.recover()) await lab.drive(handle.result());
  }
  const { status, state } = await runner.get("p");
  assert.deepEqual([status, state.out, lab.count("c")], ["completed", { a: "by itself", z: "after" }, 2]);
  assert.deepEqual((await runner.waits()).rows, []);
  assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
});

test("with one body of the child at work and one waiting the caller is not released, and an answer to the one aborts nothing of the other (T8)", async () => {
  const lab = new Lab();
  const home = house(lab);
  const work = gate<string>();
  const aborts: unknown[] = [];
  const child = lab.graph({
    start: { body: () => 0, to: ["works", "asks"] },
    works: {
      body: (ctx) => {
        ctx.signal.addEventListener("abort", () => aborts.push(ctx.signal.reason));
        return work.promise;
      },
    },
    asks: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
  }, { id: "child" });
  const parent = lab.graph({
    a: nested(() => home, child, { output: (s) => s.out }),
  }, { id: "parent" });
  const runner = home.runner(parent);
  const result = runner.run(INPUT, { runId: "p" });
  await lab.clock.advance("2m");
  const { rows: [wait] } = await runner.waits({ runId: "p" });
  assert.equal((await runner.status("p")).status, "running");
  await runner.answer("p", wait!.waitId, true);
  await lab.clock.advance("2m");
  assert.equal((await runner.status("p")).status, "running");
  assert.deepEqual([aborts, lab.count("works")], [[], 1]);
  work.open("worked");
  const done = await lab.drive(result);
  assert.deepEqual(done.state.out.a, { start: 0, works: "worked", asks: true });
  assert.equal(lab.count("works"), 1);
  const events = (await recorded(runner, "p")).flat();
  assert.equal(
    events.filter((type) => type === "released" || type === "claimed").length,
    0,
    "it did not flap",
  );
});
