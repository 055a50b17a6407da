import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { Activity } from "../../src/engine/activity.ts";
import type { Engine } from "../support/graphs.ts";
import { chainOf, gate, graphOf, notes } from "../support/graphs.ts";
import { WorkerLab } from "./lab.ts";

const Go = defineWait("go", z.object({ by: z.string() }));

const asking = (version: number) =>
  graphOf({
    version,
    vertices: { ask: { run: (_, ctx) => ctx.waitFor(Go), waits: [Go], to: "end" }, end: {} },
  });
const plain = (version: number, ...ids: string[]) => ({ ...graphOf({ version, vertices: chain(ids) }) });
const chain = (ids: string[]) =>
  Object.fromEntries(ids.map((id, i) => [id, ids[i + 1] === undefined ? {} : { to: ids[i + 1]! }]));

async function activities<S>({ runner }: Engine<S>): Promise<Readonly<Record<string, Activity | undefined>>> {
  const { rows } = await runner.list({ limit: 1_000 });
  return Object.fromEntries(rows.map(({ runId, activity }) => [runId, activity]));
}

test("a run that has begun no body moves to the higher version that is served, and says so (FT-F3, V1)", async () => {
  const lab = new WorkerLab();
  const old = lab.process(plain(1, "a", "b"));
  const ids = ["r0", "r1", "r2"];
  for (const runId of ids) await old.runner.submit(notes(), { runId, tags: ["kept"] });
  const { runner, events, log } = await lab.serve(plain(2, "first", "a", "b"));
  await lab.pass("6s");
  for (const runId of ids) {
    const { status, graphVersion, createdAt, tags } = await runner.status(runId);
    assert.deepEqual([status, graphVersion, tags], ["completed", runner.graph.version, ["kept"]]);
    assert.ok(createdAt < lab.clock.now() - 5_000);
    assert.deepEqual((await runner.get(runId)).path, ["first", "a", "b"]);
    const { type, ...what } = (await events(runId))[1]!;
    assert.equal(type, "adopted");
    assert.deepEqual(what, {
      from: old.graph.version,
      to: runner.graph.version,
      entry: "first",
      form: (what as { form: string }).form,
    });
  }
  assert.equal(lab.bodies.length, 9);
  assert.equal((await runner.list({ status: "completed" })).rows[0]!.graphVersion, runner.graph.version);
  assert.deepEqual(await lab.store.wakes(Infinity, 10), []);
  assert.deepEqual(log.filter(({ message }) => /no living worker/.test(message)), []);
  await lab.end();
});

test("its input is judged by the schema of the new version: what is missing is completed, what does not pass stays (FT-F3, V1)", async () => {
  const lab = new WorkerLab();
  const of = <S>(version: number, schema: z.ZodType<S>) =>
    graphOf<S>({ version, schema: schema as never, vertices: { v: { reduce: () => {} } } });
  const Old = z.object({ n: z.number() });
  const New = z.object({ n: z.number().max(10), unit: z.string().default("kg") });
  const old = lab.process(of(1, Old));
  await old.runner.submit({ n: 5 }, { runId: "fits" });
  await old.runner.submit({ n: 50 }, { runId: "too-large" });
  const next = await lab.serve(of(2, New));
  await lab.pass("30s");
  assert.deepEqual((await next.runner.get("fits")).state, { n: 5, unit: "kg" });
  const { graphVersion, revision } = await next.runner.status("too-large");
  assert.deepEqual([graphVersion, revision], [old.graph.version, 0]);
  await lab.end();
});

test("a run that has begun stays with its version, also when nothing of it is recorded yet, and none ever moves back (FT-F3, V1)", async () => {
  const lab = new WorkerLab();
  const forever = (version: number) =>
    graphOf({ version, vertices: { v: { run: () => new Promise(() => {}) } } });
  const first = lab.process(forever(1));
  await first.runner.start(notes(), { runId: "begun" });
  await lab.clock.settle();
  first.kill();
  await lab.process(forever(3)).runner.submit(notes(), { runId: "newer" });
  const { runner } = await lab.serve(forever(2));
  await lab.pass("60s");
  assert.equal((await runner.status("begun")).graphVersion, first.graph.version);
  assert.equal((await runner.status("newer")).revision, 0);
  assert.equal(await runner.adopt("begun"), false);
  assert.equal(await runner.adopt("newer"), false);
  assert.equal(lab.bodies.length, 1);
  await lab.end();
});

test("to another structure of the same version a run moves only once nobody who lives serves its own (FT-F3, V1)", async () => {
  const lab = new WorkerLab();
  const open = gate();
  const busy = graphOf({ vertices: { hold: { run: () => open.promise } } });
  const old = await lab.serve(busy, { concurrency: 1 });
  await old.runner.submit(notes(), { runId: "at-work" });
  await lab.pass("2s");
  await old.runner.submit(notes(), { runId: "queued" });
  const next = await lab.serve(chainOf("a"));
  await lab.pass("30s");
  assert.equal((await next.runner.status("queued")).revision, 0);
  old.kill(); // Its cell stays behind.
  await lab.pass("12s");
  assert.equal((await next.runner.status("queued")).revision, 0, "silence must be watched for a lease");
  await lab.pass("15s");
  assert.equal((await next.runner.status("queued")).status, "completed");
  assert.deepEqual((await next.runner.workers()).map(({ serves }) => serves[0]!.graphVersion), [
    next.graph.version,
  ]);
  await lab.clock.drive(next.worker.stop());
});

test("recover and resume move a run that never began, too (FT-F3, V1)", async () => {
  const lab = new WorkerLab();
  const old = lab.process(plain(1, "a"));
  for (const runId of ["r", "s"]) await old.runner.submit(notes(), { runId });
  const { runner, clock } = lab.process(plain(2, "b"));
  assert.deepEqual((await clock.drive(runner.resume("r"))).path, ["b"]);
  const [handle] = await runner.recover();
  assert.deepEqual((await clock.drive(handle!.result())).path, ["b"]);
  await assert.rejects(old.runner.get("r"), { code: "GRAPH_VERSION_MISMATCH" });
});

test("lists, inbox and get tell queued, working, waiting and stranded runs apart (FT-F3, Q4)", async () => {
  const lab = new WorkerLab();
  const old = await lab.serve(asking(1));
  await old.runner.submit(notes(), { runId: "asks" });
  await lab.pass("2s");
  assert.equal((await activities(old))["asks"], "waiting");
  await lab.clock.drive(old.worker.stop());
  assert.equal(
    (await activities(old))["asks"],
    "waiting",
    "where nobody lives nothing is stranded: it waits for somebody",
  );

  const open = gate();
  const next = await lab.serve(graphOf({ version: 2, vertices: { v: { run: () => open.promise } } }), {
    concurrency: 1,
  });
  await next.runner.submit(notes(), { runId: "works" });
  await lab.pass("1s");
  await next.runner.submit(notes(), { runId: "queued" });
  await lab.process(plain(1, "a")).runner.submit(notes(), { runId: "moves" });
  await lab.process(plain(3, "a")).runner.submit(notes(), { runId: "early" });
  const done = await lab.process(plain(1, "x")).run(notes(), { runId: "done" });
  assert.equal(done.status, "completed");
  assert.deepEqual(await activities(next), {
    asks: "stranded",
    works: "working",
    queued: "queued",
    moves: "queued",
    early: "stranded",
    done: undefined,
  });
  const of = async (activity: Activity) =>
    (await next.runner.list({ activity })).rows.map(({ runId }) => runId);
  assert.deepEqual(await of("stranded"), ["early", "asks"]);
  assert.deepEqual(await of("waiting"), []);
  assert.deepEqual((await next.runner.waits()).rows.map(({ runId, activity }) => [runId, activity]), [[
    "asks",
    "stranded",
  ]]);
  assert.equal((await next.runner.get("works")).activity, "working");
  assert.equal((await next.runner.get("queued")).activity, "queued");
  open.open();
  await lab.end();
});

test("a worker names the open runs that nobody serves in its log, soon after it started and every hour (FT-F3, V5)", async () => {
  const lab = new WorkerLab();
  const old = lab.process(asking(1));
  await old.run(notes(), { runId: "asks" });
  const { log, worker } = await lab.serve(plain(2, "a"));
  await lab.pass("20s");
  const lines = () => log.map(({ message }) => message).filter((m) => /no living worker serves/.test(m));
  assert.equal(lines().length, 1);
  assert.match(lines()[0]!, /version \S+:1 of graph g, of which 1 run is open, such as asks; start a worker/);
  await lab.clock.drive(worker.stop());
  await lab.end();
});

test("workers are listed with their name, place, what they serve and how full they are, until they stop or are dead (FT-F3)", async () => {
  const lab = new WorkerLab();
  const open = gate();
  const graph = graphOf({ vertices: { v: { run: () => open.promise } } });
  const named = await lab.serve(graph, { name: "web-1", concurrency: 3 });
  const other = await lab.serve(chainOf("a"));
  for (let i = 0; i < 2; i++) await named.runner.submit(notes(), { runId: `r${i}` });
  await lab.pass("6s");
  const rows = await other.runner.workers();
  const shown = rows.map(({ name, places, active, isAlive }) => `${name} ${active}/${places} ${isAlive}`)
    .sort();
  assert.equal(shown[1], "web-1 2/3 true");
  assert.match(shown[0]!, /^.+:\d+ 0\/32 true$/);
  const web = rows.find(({ name }) => name === "web-1")!;
  assert.deepEqual(web.serves, [{ graphId: "g", graphVersion: graph.version }]);
  assert.equal(typeof web.host, "string");
  named.kill();
  await lab.pass("25s");
  assert.deepEqual((await other.runner.workers()).length, 1);
  await lab.clock.drive(other.worker.stop());
  assert.deepEqual(await other.runner.workers(), []);
});
