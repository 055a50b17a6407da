// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "../../src/compile.ts";
import type { Duration } from "../../src/model/durations.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { completed, engine, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";

const DAY = 86_400_000;

/** A graph of one vertex that sleeps once and notes when it went on. */
const sleeper = (until: Duration | Date, woke: (at: number) => void = () => {}) =>
  graphOf<Notes>({
    vertices: {
      v: {
        run: async (_input, ctx) => {
          await ctx.sleep("nap", until);
          woke(0);
        },
      },
    },
  });

for (
  const [text, ms] of [["30d", 30 * DAY], ["10y", 10 * 365.25 * DAY], [2 ** 31, 2 ** 31], [
    2 ** 32 + 5,
    2 ** 32 + 5,
  ]] as const
) {
  test(`a sleep of ${text} fires once, not a millisecond early, after a restart half-way too (O4, FC-15)`, async () => {
    let woke = 0;
    const graph = sleeper(text, () => woke++);
    const e = engine(graph, { inlineTimers: "20y" });
    const begin = e.clock.now();
    const handle = await e.runner.start(notes());
    await e.clock.settle();
    const [opened] = await e.eventsOf(handle.runId, "opened");
    const due = opened!.due!;
    assert.ok(Math.abs(due - begin - ms) <= DAY);
    e.kill();
    await skip(e.clock, begin + Math.floor((due - begin) / 2));
    const other = e.restart();
    const result = other.runner.resume(handle.runId, { takeover: true });
    await e.clock.settle();
    await skip(e.clock, due - 1);
    assert.equal(woke, 0);
    await e.clock.advance(1);
    assert.equal(woke, 1);
    completed(await result);
    await e.clock.advance("1h");
    assert.equal(woke, 1);
    assert.equal((await other.eventsOf(handle.runId, "resolved")).length, 1);
  });
}

/** Moves the clock without firing the beats of years. */
async function skip(
  clock: { now(): number; step(by: number): void; advance(by: number): Promise<void> },
  to: number,
) {
  clock.step(to - clock.now() - 1);
  await clock.advance(1);
}

test("a released sleep is woken by recover at its due time, by one process, and not before (O4, FC-15)", async () => {
  const e = engine(sleeper("30d"));
  const { run } = interrupted(await e.run(notes()), "sleeping");
  await skip(e.clock, e.clock.now() + 30 * DAY - 1);
  assert.deepEqual(await e.restart().runner.recover(), []);
  await e.clock.advance(1);
  const [one, two] = [e.restart(), e.restart()];
  const recovered = await Promise.all([one, two].map(({ runner }) => e.clock.drive(runner.recover())));
  const handles = recovered.flat();
  assert.equal(handles.length, 1);
  completed(await e.clock.drive(handles[0]!.result()));
  assert.deepEqual([e.ran(), (await e.eventsOf(run.runId, "resolved")).length], [2, 1]);
});

for (const due of [0, -5, "-1h", new Date(0)] as const) {
  test(`a sleep until ${due instanceof Date ? "a past date" : due} is due at once (O4, FC-15)`, async () => {
    const e = engine(sleeper(due));
    const begin = e.clock.now();
    completed(await e.run(notes()));
    assert.equal(e.clock.now(), begin);
  });
}

for (
  const bad of [
    NaN,
    Infinity,
    -Infinity,
    "soon" as Duration,
    "" as Duration,
    new Date(NaN),
    undefined as never,
  ]
) {
  test(`a sleep of ${String(bad) || "an empty text"} is refused as the vertex's fault, and no timer is left (O4, FC-15)`, async () => {
    const e = engine(sleeper(bad));
    const { failures, waits } = interrupted(await e.run(notes()), "errored");
    assert.deepEqual([failures[0]!.failure.name, waits], ["ContextError", []]);
    assert.equal(e.clock.next, undefined);
  });

  if (bad === undefined) continue;
  test(`an interrupt deadline of ${String(bad) || "an empty text"} is refused as the vertex's fault (O4, FC-15)`, async () => {
    const e = engine(
      graphOf<Notes>({ vertices: { v: { run: (_input, ctx) => ctx.interrupt(1, { deadline: bad }) } } }),
    );
    interrupted(await e.run(notes()), "errored");
  });
}

test("an interrupt deadline and a run deadline of 30 days fire at their time, after a restart too (O4, FC-15)", async () => {
  const e = engine(
    graphOf<Notes>({
      vertices: { v: { run: (_input, ctx) => ctx.answer() ?? ctx.interrupt(1, { deadline: "30d" }) } },
    }),
  );
  const begin = e.clock.now();
  const { run } = interrupted(await e.run(notes()), "awaiting");
  const { run: timed } = interrupted(await e.run(notes(), { deadline: "30d" }), "awaiting");
  await skip(e.clock, begin + 30 * DAY - 1);
  const other = e.restart();
  assert.deepEqual(await other.runner.recover(), []);
  await e.clock.advance(1);
  for (const handle of await other.runner.recover()) await e.clock.drive(handle.result());
  const expired = await other.runner.get(run.runId);
  assert.equal(expired.status === "interrupted" && expired.failures[0]!.failure.code, "WAIT_EXPIRED");
  const over = await other.runner.get(timed.runId);
  assert.deepEqual([over.status, over.run.cancelReason], ["cancelled", "deadline"]);
});

test("a timer survives a wall clock that is set back, and one set forward does not fire it twice (O4)", async () => {
  let woke = 0;
  const e = engine(sleeper("20s", () => woke++));
  const running = e.runner.run(notes());
  await e.clock.advance("5s");
  e.clock.step("-1h");
  await e.clock.advance("1h");
  assert.equal(woke, 0);
  await e.clock.advance("15s");
  assert.equal(woke, 1);
  completed(await e.clock.drive(running));
  assert.equal(woke, 1);
});

test("with the real clock a sleep of 30 days or 10 years does not fire at once, and calls back hardly ever (O4, FC-15)", async (t) => {
  let callbacks = 0;
  const counting: Runtime = {
    ...systemRuntime,
    wakeAt: (at, run, options) => systemRuntime.wakeAt(at, () => (callbacks++, run()), options),
  };
  for (const until of ["30d", "10y", 2 ** 31, 2 ** 40] as const) {
    let woke = 0;
    const abort = new AbortController();
    t.after(() => abort.abort());
    const runner = compile(sleeper(until, () => woke++), {
      store: memoryStore(),
      runtime: counting,
      inlineTimers: "1000y",
    });
    const handle = await runner.start(notes(), { signal: abort.signal });
    const ended = handle.result().catch((error: unknown) => error);
    await new Promise((done) => setTimeout(done, 150));
    assert.deepEqual([woke, (await runner.status(handle.runId)).status], [0, "running"]);
    abort.abort();
    assert.equal((await ended as { code?: string }).code, "RUN_ABORTED");
  }
  assert.ok(callbacks < 10, `${callbacks} callbacks`);
});

test("the system's timers are chained: however far away, one is set at a time and none of it fires early (O4, FC-15)", async () => {
  const delays: number[] = [];
  const real = globalThis.setTimeout;
  globalThis.setTimeout =
    ((run: () => void, delay?: number) => (delays.push(delay ?? 0), real(run, delay))) as never;
  try {
    let fired = 0;
    const timer = systemRuntime.wakeAt(Date.now() + 2 ** 40, () => fired++);
    await new Promise((done) => setImmediate(done));
    timer.cancel();
    assert.deepEqual([fired, delays.length], [0, 1]);
    assert.ok(delays[0]! <= 2 ** 31 - 1 && delays[0]! > 2 ** 30);
  } finally {
    globalThis.setTimeout = real;
  }
});
