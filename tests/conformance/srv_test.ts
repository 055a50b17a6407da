// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { serve, type ServedRunner, storePlane } from "../../src/worker/mod.ts";
import { chainOf, gate, graphOf, notes } from "../support/graphs.ts";
import { Broker } from "../worker/broker.ts";
import { WorkerLab } from "../worker/lab.ts";

const Go = defineWait("go", z.object({ by: z.string() }));

const asking = graphOf({
  vertices: { ask: { run: async (_, ctx) => (await ctx.waitFor(Go)).by, waits: [Go] } },
});

/** A worker that polls the store hardly ever, so that what a broker says can be told from what the store says. */
async function broker(graph = chainOf("a", "b")) {
  const lab = new WorkerLab();
  const plane = new Broker(lab.clock);
  const served = await lab.serve(graph, { plane, poll: "1h" });
  await lab.pass("1s");
  const other = lab.process(graph);
  const keyOf = (runId: string) => ({ runId, graphId: graph.id, graphVersion: graph.version });
  const submit = async (runId: string) => {
    await other.runner.submit(notes(), { runId });
    await plane.submit(keyOf(runId));
  };
  return { lab, plane, ...served, other, keyOf, submit };
}

test("what a broker delivers is claimed, completed and acknowledged (SRV-01, SRV-05, W1)", async () => {
  const { lab, plane, submit, runner } = await broker();
  await submit("r");
  await lab.pass("1s");
  assert.equal((await runner.status("r")).status, "completed");
  assert.deepEqual(plane.settled, [{ runId: "r", how: "ack" }]);
  await lab.end();
});

test("a delivery that comes three times, one of them an hour late, runs each body once, and is settled once each (SRV-03, SRV-19, FC-32)", async () => {
  const { lab, plane, submit, runner } = await broker();
  plane.copies = [0, 0, 3_600_000];
  await submit("r");
  await lab.pass("61m");
  const { status, revision } = await runner.status("r");
  assert.equal(status, "completed");
  assert.equal(lab.bodies.length, 2);
  assert.deepEqual(plane.settled.map(({ how }) => how), ["ack", "ack", "ack"]);
  assert.equal((await runner.history("r")).rows.length, revision + 1);
  await lab.end();
});

test("a delivery of a run that is over, paused, not due or unknown is acknowledged and changes nothing (SRV-08, SRV-10, SRV-11)", async () => {
  const { lab, plane, keyOf, submit, runner, other } = await broker(asking);
  await submit("r");
  await lab.pass("1s");
  const paused = await runner.status("r");
  assert.equal(paused.reason, "awaiting");
  await plane.submit(keyOf("r"));
  await plane.submit(keyOf("nobody"));
  await lab.pass("1s");
  assert.deepEqual(await runner.status("r"), paused);
  const { rows: [wait] } = await other.runner.waits({ runId: "r" });
  await other.runner.answer("r", wait!.waitId, { by: "me" });
  await plane.submit(keyOf("r"));
  await lab.pass("1s");
  const over = await runner.status("r");
  assert.equal(over.status, "completed");
  await plane.submit(keyOf("r"));
  await lab.pass("1s");
  assert.deepEqual(await runner.status("r"), over);
  assert.deepEqual(plane.settled.map(({ how }) => how), ["ack", "ack", "ack", "ack", "ack"]);
  assert.equal(lab.bodies.length, 2);
  await lab.end();
});

test("a delivery of a version that the worker does not have is not acknowledged, whatever the broker thinks of versions (SRV-04, HND-14)", async () => {
  const lab = new WorkerLab();
  const plane = new Broker(lab.clock);
  const graph = chainOf("a");
  const { worker } = await lab.serve(graph, {
    plane: {
      submit: plane.submit.bind(plane),
      close: plane.close.bind(plane),
      consume: (keys, signal) => plane.consume([...keys, { graphId: "g", graphVersion: "other" }], signal),
    },
  });
  await plane.submit({ runId: "r", graphId: "g", graphVersion: "other" });
  await lab.pass("4s");
  assert.ok(plane.settled.length >= 2, "it comes again");
  assert.ok(plane.settled.every(({ how }) => how === "nack"));
  assert.equal(worker.active, 0);
  await lab.end();
});

test("a second delivery of a run at work is settled at once, also when every place is taken (SRV-03, SRV-19)", async () => {
  const lab = new WorkerLab();
  const plane = new Broker(lab.clock);
  const open = gate();
  const graph = graphOf({ vertices: { v: { run: () => open.promise } } });
  const { runner } = await lab.serve(graph, { plane, concurrency: 1 });
  await runner.submit(notes(), { runId: "r" });
  await lab.pass("1s");
  await plane.submit({ runId: "r", graphId: graph.id, graphVersion: graph.version });
  await lab.pass("1s");
  assert.deepEqual(plane.settled, [{ runId: "r", how: "ack" }]);
  open.open();
  await lab.pass("1s");
  assert.deepEqual([lab.bodies.length, (await runner.status("r")).status], [1, "completed"]);
  await lab.end();
});

test("a broker that fails, loses everything or is closed stops no worker: the store is the truth (SRV-13, SRV-14, FC-32)", async () => {
  const lab = new WorkerLab();
  const plane = new Broker(lab.clock);
  const { runner, worker, log } = await lab.serve(chainOf("a"), { plane });
  const other = lab.process(chainOf("a"));
  plane.fault = new Error("no route to host");
  await plane.submit({ runId: "none", graphId: "g", graphVersion: "v" });
  await other.runner.submit(notes(), { runId: "first" });
  await lab.pass("2s");
  assert.equal((await runner.status("first")).status, "completed");
  assert.ok(log.some((line) => line.message.includes("no route to host")));
  plane.fault = undefined;
  plane.copies = [];
  await plane.submit({ runId: "second", graphId: "g", graphVersion: "v" });
  await other.runner.submit(notes(), { runId: "second" });
  await lab.pass("2s");
  assert.equal((await runner.status("second")).status, "completed");
  await plane.close();
  await other.runner.submit(notes(), { runId: "third" });
  await lab.pass("2s");
  assert.equal((await runner.status("third")).status, "completed");
  let stopped = false;
  worker.stopped.then(() => stopped = true);
  await lab.pass("1m");
  assert.equal(stopped, false);
  await lab.end();
});

test("a worker whose plane is that of its store stops, without an error, when that is closed (SRV-14)", async () => {
  const lab = new WorkerLab();
  const process = lab.process(chainOf("a"));
  const plane = storePlane(process.runner.store, { runtime: lab.clock });
  const worker = await serve({ runners: [process.runner], plane, runtime: lab.clock });
  await process.runner.submit(notes(), { runId: "r" });
  await lab.pass("2s");
  assert.equal((await process.runner.status("r")).status, "completed");
  await plane.close();
  await lab.clock.drive(worker.stopped);
  assert.equal(lab.clock.pending, 0);
});

test("what is added to the list of runners after a worker has begun is not served (SRV-16)", async () => {
  const lab = new WorkerLab();
  const late = lab.process(graphOf({ id: "late", vertices: { v: {} } }));
  const more: ServedRunner[] = [];
  const { runner, worker } = await lab.serve(chainOf("a"), { runners: more });
  more.push(late.runner);
  assert.deepEqual(worker.keys, [{ graphId: "g", graphVersion: runner.graph.version }]);
  await late.runner.submit(notes(), { runId: "r" });
  await lab.pass("5s");
  assert.equal((await late.runner.status("r")).revision, 0);
  await lab.end();
});

test("a worker needs a store, something to serve, one runner per version, and runners of that store (W1)", async () => {
  const lab = new WorkerLab();
  const { runner } = lab.process(chainOf("a"));
  await assert.rejects(serve({}), { code: "ARGUMENT", message: /no store/ });
  await assert.rejects(serve({ store: lab.store }), { code: "ARGUMENT", message: /nothing to serve/ });
  await assert.rejects(serve({ runners: [runner, runner] }), { code: "DUPLICATE_REGISTRATION" });
  await assert.rejects(serve({ store: lab.store, runners: [runner] }), {
    code: "ARGUMENT",
    message: /another store/,
  });
  for (const options of [{ concurrency: 0 }, { concurrency: 1.5 }, { grace: -1 }, { poll: 0 }]) {
    await assert.rejects(serve({ runners: [runner], ...options }), { code: "ARGUMENT" });
  }
});
