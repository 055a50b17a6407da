// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile, Graph, GraphBuilder, Schedule, type ScheduleOptions, Vertex, Workflow } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { serve } from "../../src/worker/mod.ts";
import { WorkerLab } from "./lab.ts";

const State = z.object({ tick: z.string().default(""), n: z.number().max(9).default(0) });

function scheduled(
  expression: string,
  options: ScheduleOptions<{ tick?: string; n?: number }> = {},
  version = 1,
) {
  return new GraphBuilder({ id: "job", version, schema: State })
    .addVertex({ id: "v", task: { execute: () => 1 }, select: () => 0, reduce: () => {} })
    .addSchedule(expression, { input: (tick) => ({ tick: tick.toISOString() }), ...options })
    .build({ entry: "v", finish: "v" });
}

/** The ticks that have runs, in order. */
async function started(lab: WorkerLab): Promise<string[]> {
  const { rows } = await lab.store.list({ limit: 1_000 });
  const ticks = rows.map(({ tags }) => tags.find((tag) => tag.startsWith("tick:"))!.slice(5)).sort();
  assert.equal(new Set(ticks).size, ticks.length, "no tick has two runs");
  return ticks.map((tick) => tick.slice(11, 19));
}

const at = (start: string) => new WorkerLab({ clock: new VirtualClock({ start: Date.parse(start) }) });

test("a schedule starts one run per tick, with any number of workers, and hands it the input of its tick (D12)", async () => {
  const lab = at("2026-01-05T08:58:30Z");
  const graph = scheduled("*/2 9 * * 1-5");
  const workers = await Promise.all([1, 2, 3, 4].map(() => lab.serve(graph)));
  await lab.pass("6m");
  assert.deepEqual(await started(lab), ["09:00:00", "09:02:00", "09:04:00"]);
  const { rows } = await workers[0]!.runner.list({ status: "completed" });
  const states = await Promise.all(
    rows.map(async ({ runId }) => (await workers[0]!.runner.get(runId)).state),
  );
  assert.deepEqual(states.map((s) => s.tick.slice(11, 16)).sort(), ["09:00", "09:02", "09:04"]);
  for (const row of rows) assert.ok(row.createdAt % 60_000 < 1_000, "it starts on time");
  assert.deepEqual(workers.flatMap((w) => w.log), []);
  await lab.end();
  assert.equal(lab.clock.pending, 0);
});

test("two schedules of one graph whose ticks meet start a run each, with any number of workers (FT-G4, D12)", async () => {
  const lab = at("2026-01-05T08:58:30Z");
  const input = (from: string) => (tick: Date) => ({ tick: `${from} ${tick.toISOString().slice(11, 16)}` });
  const graph = new GraphBuilder({ id: "job", version: 1, schema: State })
    .addVertex({ id: "v", task: { execute: () => 1 }, select: () => 0, reduce: () => {} })
    .addSchedule("*/2 * * * *", { id: "often", input: input("often") })
    .addSchedule("0 * * * *", { id: "hourly", input: input("hourly") })
    .addSchedule("0 9 * * *", { input: input("daily") })
    .build({ entry: "v", finish: "v" });
  const workers = await Promise.all([1, 2].map(() => lab.serve(graph)));
  await lab.pass("4m");
  const { runner } = workers[0]!;
  const { rows } = await runner.list({ status: "completed" });
  const ticks = await Promise.all(rows.map(async ({ runId }) => (await runner.get(runId)).state.tick));
  assert.deepEqual(ticks.sort(), ["daily 09:00", "hourly 09:00", "often 09:00", "often 09:02"]);
  const tagged = async (tag: string) => (await runner.list({ tag })).rows.length;
  assert.deepEqual([await tagged("schedule:often"), await tagged("schedule:hourly")], [2, 1]);
  assert.deepEqual(workers.flatMap((w) => w.log), []);
  await lab.end();
});

test("a worker that begins starts nothing of the past of a schedule that never ran (D12)", async () => {
  const lab = at("2026-01-05T09:10:30Z");
  await lab.serve(scheduled("* * * * *", { onMissed: "all" }));
  await lab.pass("1m");
  assert.deepEqual(await started(lab), ["09:11:00"]);
  await lab.end();
});

const MISSED = {
  skip: ["09:01:00", "09:06:00", "09:07:00"],
  one: ["09:01:00", "09:05:00", "09:06:00", "09:07:00"],
  all: ["09:01:00", "09:02:00", "09:03:00", "09:04:00", "09:05:00", "09:06:00", "09:07:00"],
} as const;

for (const onMissed of ["skip", "one", "all"] as const) {
  test(`of ticks without a worker "${onMissed}" starts what it says, one of the last minute always (D12)`, async () => {
    const lab = at("2026-01-05T09:00:30Z");
    const graph = scheduled("* * * * *", { onMissed });
    const { worker } = await lab.serve(graph);
    await lab.pass("1m");
    await lab.clock.drive(worker.stop());
    await lab.pass("5m");
    assert.deepEqual(await started(lab), ["09:01:00"]);
    await Promise.all([lab.serve(graph), lab.serve(graph)]);
    await lab.pass("1m");
    assert.deepEqual(await started(lab), MISSED[onMissed]);
    await lab.end();
  });
}

test('"one" is the default, and "all" starts the newest 100 at most (D12)', async () => {
  assert.equal(scheduled("* * * * *").schedules[0]!.onMissed, "one");
  const lab = at("2026-01-05T09:00:30Z");
  const graph = scheduled("* * * * *", { onMissed: "all" });
  const { worker } = await lab.serve(graph);
  await lab.pass("1m");
  await lab.clock.drive(worker.stop());
  lab.clock.step("10h");
  await lab.serve(graph);
  await lab.clock.settle();
  const ticks = await started(lab);
  assert.deepEqual([ticks.length, ticks[1], ticks.at(-1)], [102, "17:21:00", "19:01:00"]);
  await lab.end();
});

test("a clock that is set ahead or back starts no tick twice (D12, O6)", async () => {
  const lab = at("2026-01-05T09:00:30Z");
  await lab.serve(scheduled("*/10 * * * *", { onMissed: "skip" }));
  await lab.pass("10m");
  lab.clock.step("-5m");
  await lab.pass("5m");
  assert.deepEqual(await started(lab), ["09:10:00"]);
  lab.clock.step("9m");
  await lab.pass("2m");
  assert.deepEqual(await started(lab), ["09:10:00", "09:20:00"]);
  await lab.end();
});

test("where clocks are set, a time of day ticks once a day, and repeated times as time goes by (D12)", () => {
  const ticks = (expression: string, from: string, hours: number) => {
    const [schedule] = scheduled(expression, { timezone: "Europe/Berlin" }).schedules;
    const begin = Date.parse(from);
    return schedule!.between(begin, begin + hours * 3_600_000, 1_000).map((t) =>
      new Date(t).toISOString().slice(5, 16)
    );
  };
  assert.deepEqual(ticks("30 2 * * *", "2026-03-27T22:00:00Z", 72), [
    "03-28T01:30",
    "03-29T01:00", // 02:30 does not exist; the gap ends at 03:00
    "03-30T00:30",
  ]);
  assert.deepEqual(ticks("30 2 * * *", "2026-10-23T22:00:00Z", 72), [
    "10-24T00:30",
    "10-25T00:30", // 02:30 comes twice
    "10-26T01:30",
  ]);
  assert.deepEqual(ticks("0 9 * * *", "2026-03-28T00:00:00Z", 48), ["03-28T08:00", "03-29T07:00"]);
  assert.deepEqual(ticks("*/30 * * * *", "2026-03-29T00:01:00Z", 2), [
    "03-29T00:30",
    "03-29T01:00",
    "03-29T01:30",
    "03-29T02:00",
  ]);
  assert.equal(ticks("*/30 * * * *", "2026-10-25T00:00:00Z", 3).length, 6);
});

test("a worker follows a schedule over the night in which the clocks are set ahead (D12)", async () => {
  const lab = at("2026-03-29T00:55:00Z");
  await lab.serve(scheduled("30 2 * * *", { timezone: "Europe/Berlin" }));
  await lab.pass("10m");
  assert.deepEqual(await started(lab), ["01:00:00"]);
  await lab.end();
});

test("a bad expression, time zone, id or choice is a build error that names it (D12, D9)", () => {
  const bad: readonly (readonly [string, ScheduleOptions<{ n?: number }>, RegExp])[] = [
    ["every day", {}, /"every day" is none/],
    ["61 * * * *", {}, /"61 \* \* \* \*" is none: .*minute/],
    ["0 0 30 2 *", {}, /names no time that comes again/],
    ["2026-01-01T00:00:00", {}, /names no time that comes again/],
    ["0 9 * * *", { timezone: "Mars/Olympus" }, /time zone is "Mars\/Olympus"/],
    ["0 9 * * *", { id: "a b" }, /the id is "a b"/],
    ["0 9 * * *", { onMissed: "some" as never }, /onMissed is "some"/],
    [7 as never, {}, /the expression is 7/],
  ];
  for (const [expression, options, message] of bad) {
    assert.throws(() => scheduled(expression, options), (error: Error & { code?: string }) => {
      assert.equal(error.code, "BUILD");
      assert.match(error.message, message);
      assert.match(error.message, /schedule of graph job/);
      return true;
    });
  }
  const builder = new GraphBuilder({ id: "g", schema: State }).addSchedule("0 9 * * *");
  assert.throws(() => builder.addSchedule("0 9 * * *"), { code: "BUILD", message: /two schedules/ });
});

test("the decorator records what the builder takes, several on one class, and they are no part of the version (D12, D1, D8)", () => {
  @Schedule("0 9 * * 1-5", { timezone: "Europe/Berlin", onMissed: "skip", id: "mornings" })
  @Schedule("0 18 * * *")
  @Graph({ id: "twice", version: 1 })
  class Twice extends Workflow(State) {}
  @Graph({ id: "twice", version: 1 })
  class Never extends Workflow(State) {}
  @Vertex({ graph: Twice, id: "v", entry: true, finish: true, select: () => 0, reduce: () => {} })
  @Vertex({ graph: Never, id: "v", entry: true, finish: true, select: () => 0, reduce: () => {} })
  class _V {
    execute(_: number) {
      return 1;
    }
  }
  const { graph } = compile(Twice, { store: memoryStore() });
  assert.deepEqual(
    graph.schedules.map(({ id, expression, timezone, onMissed }) => [id, expression, timezone, onMissed]),
    [
      ["mornings", "0 9 * * 1-5", "Europe/Berlin", "skip"],
      [graph.schedules[1]!.id, "0 18 * * *", "UTC", "one"],
    ],
  );
  assert.match(graph.schedules[1]!.id, /^s-[0-9a-f]{12}$/);
  assert.equal(compile(Never, { store: memoryStore() }).graph.version, graph.version);
  assert.ok(Object.isFrozen(graph.schedules));

  @Schedule("nine o'clock")
  @Graph({ id: "bad" })
  class Bad extends Workflow(State) {}
  @Vertex({ graph: Bad, id: "v", entry: true, finish: true, select: () => 0, reduce: () => {} })
  class _W extends _V {}
  assert.throws(() => compile(Bad, { store: memoryStore() }), { code: "BUILD", message: /nine o'clock/ });
  assert.throws(() => Schedule("0 9 * * *")(class {} as never), {
    code: "BUILD",
    message: /does not extend Workflow/,
  });
});

test("an input that is refused, or that throws, is told once per tick and keeps nothing from ticking (D12)", async () => {
  const lab = at("2026-01-05T09:00:30Z");
  const input = (tick: Date) => {
    if (tick.getUTCMinutes() === 2) throw new Error("not on twos");
    return { n: tick.getUTCMinutes() === 1 ? 10 : 1 };
  };
  const { log } = await lab.serve(scheduled("* * * * *", { input }));
  await lab.pass("3m");
  assert.deepEqual(await started(lab), ["09:03:00"]);
  assert.deepEqual(log.map((line) => /not on twos|n: /.exec(line.message)?.[0]), ["n: ", "not on twos"]);
  await lab.end();
});

test("of a graph that is served in two versions the newer one follows its schedules, and a worker may leave them to others (D12)", async () => {
  const lab = at("2026-01-05T09:00:30Z");
  const older = lab.process(scheduled("* * * * *", {}, 1));
  const newer = lab.process(scheduled("*/2 * * * *", {}, 2));
  const quiet = { info: () => {}, warn: () => {} };
  const silent = await serve({
    runners: [older.runner],
    runtime: lab.clock,
    logger: quiet,
    schedules: false,
  });
  await lab.pass("2m");
  assert.deepEqual(await started(lab), []);
  const both = [newer.runner, compile(older.graph, { store: newer.runner.store, runtime: lab.clock })];
  const worker = await serve({ runners: both, runtime: lab.clock, logger: quiet });
  await lab.pass("3m");
  assert.deepEqual(await started(lab), ["09:04:00"]);
  const { rows: [row] } = await lab.store.list({});
  assert.equal(row!.graphVersion, newer.graph.version);
  await lab.clock.drive(Promise.all([worker.stop(), silent.stop()]).then(() => {}));
});
