// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Subgraph } from "../../tasks/mod.ts";
import { GraphBuilder } from "../../src/graph/mod.ts";
import { compile } from "../../src/compile.ts";
import type { TaskContext } from "../../mod.ts";
import { effort } from "../support/effort.ts";
import { chainOf, graphOf, type Notes, notes } from "../support/graphs.ts";
import { serve } from "../../src/worker/mod.ts";
import { WorkerLab } from "./lab.ts";

const fresh = chainOf("a", "b");

/** Runs that do nothing but wait, each in its own way. */
const nap = async (_: unknown, ctx: TaskContext) => {
  for (let i = 0; i < 5; i++) await ctx.sleep(`nap${i}`, "10s");
};
const napping = graphOf({ id: "napping", vertices: { v: { run: nap } } });
const retrying = graphOf({
  id: "retrying",
  vertices: {
    v: {
      retry: { maxAttempts: 1_000, backoff: { initial: "10s", factor: 1, jitter: false } },
      run: () => Promise.reject(new Error("the service is down")),
    },
  },
});
const polling = graphOf({
  id: "polling",
  vertices: {
    look: {
      run: async (_, ctx) => (await ctx.once("ask", () => false), await ctx.sleep("poll", "10s")),
      targets: ["look", "end"],
      pick: () => "look",
    },
    end: {},
  },
});

for (const waiting of [napping, retrying, polling]) {
  test(`32 runs that are ${waiting.id} leave a fresh run its place at once, and go on themselves (FT-F2, E13)`, async () => {
    const lab = new WorkerLab();
    const { runner, eventsOf } = lab.process(waiting);
    const { worker } = await lab.serve(waiting, { more: [fresh] });
    for (let i = 0; i < 32; i++) await runner.submit(notes(), { runId: `w${i}` });
    await lab.pass("3s");
    assert.equal(worker.active, 32, "while nobody needs their places they wait in the process");
    const after = lab.bodies.length;
    const { runner: other } = lab.process(fresh);
    await other.submit(notes(), { runId: "fresh" });
    await lab.pass("1500ms");
    assert.equal((await other.status("fresh")).status, "completed");
    await lab.pass("10s");
    assert.ok(lab.bodies.length >= after + 32, "each of the others has gone on");
    const claims = await Promise.all(
      Array.from({ length: 32 }, async (_, i) => (await eventsOf(`w${i}`, "claimed")).length),
    );
    assert.ok(claims.every((n) => n <= 2), `claimed ${claims}: let go once, for the one that needed a place`);
    await lab.end();
  });
}

test("hundreds of runs that nap, retry and poll leave a fresh run its place within one poll, and a worker holds 32 at most (FT-F2, E13)", async () => {
  const lab = new WorkerLab();
  const runners = [napping, retrying, polling].map((graph) => lab.process(graph).runner);
  for (let i = 0; i < effort(200, 1_000); i++) await runners[i % 3]!.submit(notes(), { runId: `w${i}` });
  const { worker } = await lab.serve(fresh, { more: [napping, retrying, polling] });
  await lab.pass("2s");
  const { runner } = lab.process(fresh);
  for (let i = 0; i < 2; i++) {
    await lab.pass(i * 8_000);
    await runner.submit(notes(), { runId: `fresh${i}` });
    await lab.pass("1250ms");
    assert.equal((await runner.status(`fresh${i}`)).status, "completed");
    assert.ok(worker.active <= 32, `${worker.active} in hand`);
  }
  await lab.end();
});

test("40 runs that retry a dead service do not delay a healthy one (FT-F2, E13)", async () => {
  const lab = new WorkerLab();
  const { runner } = await lab.serve(retrying, { more: [napping], concurrency: 8 });
  for (let i = 0; i < 40; i++) await runner.submit(notes(), { runId: `w${i}` });
  const { runner: healthy } = lab.process(napping);
  const { runId } = await healthy.submit(notes());
  await lab.pass("55s");
  const { status, completedAt, createdAt } = await healthy.status(runId);
  assert.equal(status, "completed");
  assert.ok(completedAt! - createdAt < 52_000, `50 s of naps took ${(completedAt! - createdAt) / 1_000} s`);
  await lab.end();
});

test("a run whose called run naps gives its place to others too (FT-F2, E13, O5)", async () => {
  const lab = new WorkerLab();
  const { runner } = lab.process(fresh);
  const { store } = runner;
  const called = compile(napping, { store, runtime: lab.clock });
  const calling = new GraphBuilder<Notes>({ id: "calling" })
    .addVertex({ id: "call", task: new Subgraph(called), select: () => notes(), reduce: () => {} })
    .build({ entry: "call", finish: "call" });
  const callers = compile(calling, { store, runtime: lab.clock });
  const worker = await serve({
    runtime: lab.clock,
    runners: [runner, callers, called],
    concurrency: 2,
    logger: { info: () => {}, warn: () => {} },
  });
  for (let i = 0; i < 2; i++) await callers.submit(notes(), { runId: `w${i}` });
  await lab.pass("7s");
  assert.equal(worker.active, 2);
  await runner.submit(notes(), { runId: "fresh" });
  await lab.pass("1500ms");
  assert.equal((await runner.status("fresh")).status, "completed");
  await lab.pass("55s");
  assert.equal((await called.list({ status: "completed" })).rows.length, 2);
  assert.equal((await callers.list({ status: "completed" })).rows.length, 2);
  await lab.clock.drive(worker.stop(0));
  await lab.end();
});

test("a run at work keeps its place, whoever waits; a body that comes back to a run that gave its place up runs again (FT-F2, T9)", async () => {
  const lab = new WorkerLab();
  let bodies = 0;
  const graph = graphOf({
    vertices: {
      v: {
        run: (_, ctx) => {
          bodies++;
          const ordinary = lab.clock.sleep("4s").then(() => "ordinary");
          return Promise.race([ctx.sleep("nap", "25s").then(() => "nap"), ordinary]);
        },
        reduce: (s, won) => void s.log.push(won as string),
      },
    },
  });
  const working = graphOf({ id: "working", vertices: { v: { run: () => lab.clock.sleep("2s") } } });
  const { runner, eventsOf } = await lab.serve(graph, {
    more: [working],
    concurrency: 1,
  });
  await runner.submit(notes(), { runId: "r" });
  await lab.pass("1s");
  const { runner: other } = lab.process(working);
  await other.submit(notes(), { runId: "w1" });
  await other.submit(notes(), { runId: "w2" });
  await lab.pass("1500ms");
  assert.deepEqual((await eventsOf("r", "released")).map((e) => e.reason), ["sleeping"]);
  await lab.pass("30s");
  assert.deepEqual((await runner.get("r")).state.log, ["ordinary"]);
  assert.equal(bodies, 2);
  for (const id of ["w1", "w2"]) {
    assert.equal((await other.status(id)).status, "completed");
  }
  await lab.end();
});
