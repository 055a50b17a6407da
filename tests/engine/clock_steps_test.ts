// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, GraphBuilder } from "../../mod.ts";
import type { AnswerError } from "../../mod.ts";
import { anotherHandle, gate, INPUT, interrupted, Lab, openId } from "../waits/lab.ts";
import { WorkerLab } from "../worker/lab.ts";

const Ok = defineWait("ok", z.string());
const HOUR = 3_600_000;

for (const step of ["-1h", "1h"] as const) {
  test(`a timeout of a body that hangs takes its time, though the clock is set by ${step} meanwhile (FT-B2, O3)`, async () => {
    for (const timeout of [{ attempt: "10s" }, { total: "10s" }] as const) {
      const lab = new Lab();
      const runner = lab.engine(lab.graph({ a: { body: () => gate().promise, timeout } }));
      const started = lab.clock.elapsed();
      const result = runner.run(INPUT, { runId: "r" });
      await lab.clock.advance("2s");
      lab.clock.step(step);
      const { failures } = interrupted(await lab.drive(result));
      assert.equal(failures[0]?.failure.phase, "timeout");
      assert.equal(lab.clock.elapsed() - started, 10_000);
    }
  });

  test(`what a body has used of its total timeout is what went by, though the clock is set by ${step} meanwhile (FT-B2, O3)`, async () => {
    const lab = new Lab();
    const body = async () => {
      await lab.clock.sleep("4s");
      throw new Error(`try ${lab.count("a")}`);
    };
    const retry = { maxAttempts: 9, backoff: { initial: 0 } };
    const runner = lab.engine(lab.graph({ a: { body, retry, timeout: { total: "10s" } } }));
    const result = runner.run(INPUT, { runId: "r" });
    await lab.clock.advance("2s");
    lab.clock.step(step);
    const { failures } = interrupted(await lab.drive(result));
    assert.deepEqual([failures[0]?.failure.phase, lab.count("a")], ["timeout", 3]);
  });
}

test("whoever follows a run of another process sees its end at once, though the clock was set back (FT-B2)", async () => {
  const lab = new Lab();
  const held = gate<string>();
  const graph = lab.graph({ a: { body: () => held.promise } });
  await lab.engine(graph).start(INPUT, { runId: "r" });
  const following = lab.elsewhere(graph).run(INPUT, { runId: "r" });
  await lab.clock.advance("2s");
  lab.clock.step("-1h");
  held.open("a");
  const from = lab.clock.elapsed();
  assert.equal((await lab.drive(following)).status, "completed");
  assert.ok(lab.clock.elapsed() - from <= 1_000);
});

test("a retry waits its backoff after the clock was set back (FT-B1, O3)", async () => {
  const lab = new Lab();
  const attempts: number[] = [];
  const body = () => {
    attempts.push(lab.clock.elapsed());
    if (attempts.length < 3) throw new Error("again");
    return "a";
  };
  const runner = lab.engine(lab.graph({
    a: { body: () => 0, to: "b" },
    b: { body, retry: { maxAttempts: 3, backoff: { initial: "10s", factor: 1 } } },
  }));
  lab.clock.step("1h");
  const result = runner.run(INPUT, { runId: "r" });
  await lab.clock.settle();
  lab.clock.step("-1h");
  assert.equal((await lab.drive(result)).status, "completed");
  for (const [i, at] of attempts.entries()) if (i > 0) assert.ok(at - attempts[i - 1]! >= 10_000);
});

test("what is due at once stays so when the clock is put right: submits, answers, forks and updates (FT-B4, O4)", async () => {
  const lab = new WorkerLab();
  const graph = new GraphBuilder<{ n: number }>({ id: "g" })
    .addVertex({
      id: "v",
      waits: [Ok],
      task: { execute: (_: unknown, ctx) => ctx.waitFor(Ok) },
      select: () => 0,
      reduce: (s) => void s.n++,
    })
    .build({ entry: "v", finish: "v" });
  const { runner } = lab.process(graph, { store: anotherHandle(lab.store) });
  await runner.run({ n: 0 }, { runId: "waits" });
  lab.clock.step("1h");
  await runner.submit({ n: 0 }, { runId: "submitted" });
  await runner.answer("waits", openId(await runner.get("waits"), "ok"), "yes");
  await runner.fork("waits", 0, { runId: "forked" });
  lab.clock.step("-1h");
  await lab.serve(graph);
  await lab.pass("5s");
  assert.equal((await runner.status("waits")).status, "completed");
  assert.equal((await runner.status("submitted")).reason, "awaiting");
  assert.equal((await runner.status("forked")).reason, "awaiting");
  await lab.end();
});

test("a timer whose time has come is not kept waiting behind a backlog of what is due at once (FT-B4, W1)", async () => {
  const lab = new WorkerLab();
  const graph = new GraphBuilder<{ n: number }>({ id: "g" })
    .addVertex({
      id: "v",
      task: {
        execute: async ({ n }: { n: number }, ctx) => {
          if (n > 0) await ctx.sleep("nap", "1m");
          else await lab.clock.sleep("10s");
        },
      },
      select: (s) => ({ n: s.n }),
      reduce: () => {},
    })
    .build({ entry: "v", finish: "v" });
  const { runner } = lab.process(graph);
  await runner.run({ n: 1 }, { runId: "z-timer" });
  await lab.pass("2m");
  for (let i = 0; i < 300; i++) await runner.submit({ n: 0 }, { runId: `a-${i}` });
  await lab.serve(graph, { concurrency: 4 });
  await lab.pass("4m");
  assert.equal((await runner.status("z-timer")).status, "completed");
  const waiting = await runner.list({ status: "running", limit: 300 });
  assert.ok(waiting.rows.length > 100, "the backlog stands");
  await lab.end();
});

test("a schedule whose newest tick lies more than a day ahead goes on by the clock that was put right, and says so (FT-B4, D12, Q3)", async () => {
  const lab = new WorkerLab();
  const graph = new GraphBuilder<{ n: number }>({ id: "job" })
    .addVertex({ id: "v", task: { execute: () => 1 }, select: () => 0, reduce: () => {} })
    .addSchedule("*/5 * * * *", { input: () => ({ n: 0 }) })
    .build({ entry: "v", finish: "v" });
  lab.clock.step("27h");
  const first = await lab.serve(graph);
  await lab.pass("6m");
  lab.clock.step("-27h");
  const { log } = await lab.serve(graph);
  await lab.pass("6m");
  await lab.end();
  const { rows } = await first.runner.list();
  assert.equal(rows.filter((row) => row.createdAt <= lab.clock.now()).length, 1, "the tick after it");
  assert.equal(log.filter(({ message }) => message.includes("lies ahead of the clock")).length, 1);
});

test("after the deadline of its run no answer is accepted, by whatever way it comes (FT-A13, I2)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } }));
  const paused = await lab.drive(runner.run(INPUT, { runId: "r", deadline: "1m" }));
  const id = openId(paused, "ok");
  lab.clock.step(HOUR);
  const before = (await runner.status("r")).revision;
  for (
    const late of [
      () => runner.answer("r", id, "late"),
      () => runner.answer("r", Ok, "late"),
      () => runner.resume("r", { payload: "late" }),
      () => runner.resume("r", { answers: { [id]: "late" } }),
    ]
  ) {
    const error = await lab.fails<AnswerError>(late(), "AnswerError");
    assert.deepEqual([error.reason, error.message.includes("deadline of its run")], ["expired", true]);
  }
  assert.equal((await runner.status("r")).revision, before);
  assert.equal((await lab.drive(runner.resume("r"))).run.cancelReason, "deadline");
});
