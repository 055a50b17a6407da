// Runs on deno by default: marks are kept by code that is the same everywhere; the store suite has what files do.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { GraphBuilder, type ScheduleOptions } from "../../mod.ts";
import type { CompiledGraph } from "../../src/model/definition.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { listSchedules, pauseSchedule, runSchedule } from "../../src/worker/mod.ts";
import { WorkerLab } from "./lab.ts";

const State = z.object({ tick: z.string().default("") });
type State = z.infer<typeof State>;

/** A workflow that is started every minute; `body` does the work of a run. */
function every(
  options: ScheduleOptions<{ tick?: string }> & {
    readonly body?: (tick: string) => unknown;
    readonly version?: number;
  } = {},
): CompiledGraph<State> {
  const { body = () => 1, version = 1, ...schedule } = options;
  return new GraphBuilder({ id: "job", version, schema: State })
    .addVertex<string, unknown>({ id: "v", task: { execute: body }, select: (s) => s.tick, reduce: () => {} })
    .addSchedule("* * * * *", {
      id: "minutely",
      input: (tick) => ({ tick: tick.toISOString().slice(11, 16) }),
      ...schedule,
    })
    .build({ entry: "v", finish: "v" }) as unknown as CompiledGraph<State>;
}

const labAt = (start: string, store = memoryStore()) =>
  new WorkerLab({ store, clock: new VirtualClock({ start: Date.parse(start) }) });

async function fates(lab: WorkerLab): Promise<string[]> {
  const [mark] = await lab.store.cells.list("schedules", { limit: 1 }).then(() => listSchedules(lab.store));
  return (mark?.fates ?? []).map(({ tick, fate }) => `${new Date(tick).toISOString().slice(11, 16)} ${fate}`)
    .reverse();
}

test("a tick that has run never runs again, although everything is purged and every worker restarts (FT-F1, Q3)", async () => {
  const lab = labAt("2026-01-05T09:00:30Z");
  const ran: string[] = [];
  const graph = every({ body: (tick) => void ran.push(tick), onMissed: "all" });
  for (let i = 0; i < 3; i++) {
    const workers = await Promise.all([lab.serve(graph), lab.serve(graph)]);
    await lab.pass("90s");
    await workers[0]!.runner.purge({ status: "completed" });
    assert.deepEqual((await workers[0]!.runner.list()).rows, []);
    await lab.clock.drive(Promise.all(workers.map(({ worker }) => worker.stop())).then(() => {}));
    await lab.pass("2m");
  }
  assert.deepEqual(ran, [...new Set(ran)].sort(), "no tick twice");
  assert.deepEqual(
    ran,
    Array.from({ length: 9 }, (_, i) => `09:0${i + 1}`).slice(0, ran.length),
    "none is forgotten",
  );
  assert.ok(ran.length >= 8);
  await lab.end();
});

test("with workers that purge at once no tick runs twice (FT-F1, Q3)", async () => {
  const lab = labAt("2026-01-05T09:00:30Z");
  const ran: string[] = [];
  const graph = every({ body: (tick) => void ran.push(tick) });
  const workers = await Promise.all([1, 2, 3].map(() => lab.serve(graph)));
  for (let i = 0; i < 60; i++) {
    await lab.pass("5s");
    await workers[0]!.runner.purge({ status: "completed" });
  }
  assert.deepEqual(ran, ["09:01", "09:02", "09:03", "09:04", "09:05"]);
  assert.deepEqual(workers.flatMap(({ log }) => log), []);
  await lab.end();
});

const OVERLAPS = {
  allow: { ran: ["09:01", "09:02", "09:03", "09:04", "09:05", "09:06"], skipped: 0 },
  skip: { ran: ["09:01", "09:04"], skipped: 4 },
  queueOne: { ran: ["09:01", "09:02", "09:04"], skipped: 2 },
  queue: { ran: ["09:01", "09:02", "09:03"], skipped: 0 },
  cancel: { ran: ["09:01", "09:02", "09:03", "09:04", "09:05", "09:06"], skipped: 0 },
} satisfies Readonly<Record<NonNullable<ScheduleOptions["overlap"]>, unknown>>;

for (const overlap of ["allow", "skip", "queueOne", "queue", "cancel"] as const) {
  test(`ticks while a run of 140 s is at work do as overlap "${overlap}" says, each with a fate (FT-F5, Q3)`, async () => {
    const expected = OVERLAPS[overlap];
    const lab = labAt("2026-01-05T09:00:30Z");
    const ran: string[] = [];
    const graph = every({ overlap, body: (tick) => (ran.push(tick), lab.clock.sleep("140s")) });
    const { runner } = await lab.serve(graph);
    await lab.serve(graph);
    await lab.pass("345s");
    assert.deepEqual(ran, expected.ran);
    const said = await fates(lab);
    const ticks = new Set(said.map((line) => line.slice(0, 5)));
    assert.deepEqual([...ticks].sort(), ["09:01", "09:02", "09:03", "09:04", "09:05", "09:06"]);
    assert.equal(said.filter((line) => line.endsWith("skipped")).length, expected.skipped);
    if (overlap === "cancel") assert.equal((await runner.list({ status: "cancelled" })).rows.length, 5);
    await lab.end();
  });
}

test("a worker of a lower version starts nothing while one of the version of the mark lives, and goes on when none does (Q3)", async () => {
  const lab = labAt("2026-01-05T09:00:30Z");
  const ran: string[] = [];
  const of = (version: number) => every({ version, body: (tick) => void ran.push(`${tick} v${version}`) });
  await lab.serve(of(1));
  await lab.pass("1m");
  const newer = await lab.serve(of(2));
  await lab.pass("2m");
  await lab.clock.drive(newer.worker.stop());
  await lab.pass("2m");
  assert.deepEqual(ran, ["09:01 v1", "09:02 v2", "09:03 v2", "09:04 v1", "09:05 v1"]);
  await lab.end();
});

test("a mark more than a day ahead of the clock is lowered with a warning; one that is less ahead is waited for (Q3, O4)", async () => {
  for (const [step, restarts] of [["-20h", false], ["-30h", true]] as const) {
    const lab = labAt("2026-01-05T09:00:30Z");
    let ran = 0;
    const { log } = await lab.serve(every({ body: () => void ran++ }));
    await lab.pass("2m");
    assert.equal(ran, 2);
    lab.clock.step(step);
    await lab.pass("5m");
    assert.equal(ran, restarts ? 6 : 2);
    assert.equal(
      log.filter(({ message }) => /lies ahead of the clock/.test(message)).length,
      restarts ? 1 : 0,
    );
    await lab.end();
  }
});

test("a crash before or after any write of the store costs no tick and repeats none, although all is purged then (FT-F1, Q3)", async () => {
  for (let stop = 1; stop <= 16; stop++) {
    const created: string[] = [];
    const inner = aroundStore(memoryStore(), async (call) => {
      const answer = await call.apply();
      if (call.op === "append" && call.args[1] === 0) created.push(call.args[0] as string);
      return answer;
    });
    const lab = labAt("2026-01-05T09:00:57Z", inner);
    const graph = every({ onMissed: "all" });
    let writes = 0;
    let dead = false;
    const store = aroundStore(inner, async (call) => {
      const isLast = call.writes && !dead && ++writes === Math.ceil(stop / 2);
      const answer = isLast && stop % 2 === 0 ? await call.apply() : undefined;
      dead ||= isLast;
      return dead ? await new Promise<never>(() => {}) : answer ?? await call.apply();
    });
    await lab.serve(graph, { engine: { store } });
    await lab.pass("100s");
    await lab.clock.drive(lab.process(graph).runner.purge({ force: true }));
    const heir = await lab.serve(graph);
    await lab.pass("3m");
    assert.deepEqual(created, [...new Set(created)], `stopped at write ${stop}`);
    // Where the first worker died before it had marked its beginning, the schedule begins with the second one.
    assert.equal(
      created.length,
      writes > 0 && (await listSchedules(inner))[0]!.fates.length,
      `stopped at ${stop}`,
    );
    assert.ok(created.length >= 3);
    await heir.worker.stop(0);
  }
});

test("a schedule is listed with the fates of its ticks, paused, gone on with, and run by hand (Q3)", async () => {
  const lab = labAt("2026-01-05T09:00:30Z");
  const { runner } = await lab.serve(every());
  await lab.pass("1m");
  const which = { graphId: "job", scheduleId: "minutely" };
  assert.equal(await pauseSchedule(lab.store, which), true);
  await lab.pass("2m");
  assert.deepEqual(await fates(lab), ["09:01 started", "09:02 paused", "09:03 paused"]);
  await pauseSchedule(lab.store, which, false);
  const { runId } = await runSchedule(runner, "minutely", lab.clock);
  await lab.pass("1m");
  assert.equal((await runner.status(runId)).status, "completed");
  const [mark] = await listSchedules(lab.store);
  assert.deepEqual([mark!.paused, mark!.fates[0]!.fate, mark!.expression], [false, "started", "* * * * *"]);
  assert.equal(await pauseSchedule(lab.store, { graphId: "job", scheduleId: "none" }), false);
  await assert.rejects(runSchedule(runner, "none", lab.clock), /no schedule none; it has minutely/);
  await lab.end();
});
