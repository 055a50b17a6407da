// Runs on deno by default: what is read and refused is decided by code that is the same everywhere; the store suite has the drivers.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { Store } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { denoKv, type DenoKvStore } from "../../src/store/deno_kv/mod.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { serve } from "../../src/worker/mod.ts";
import { type Runners, runnersOn, type State, type World } from "../fixtures/layout_1/graphs.ts";
import { readAll, type Reading } from "../fixtures/layout_1/read.ts";
import { ROOT } from "../support/paths.ts";
import { temporaryFolder } from "../support/stores.ts";

const FIXTURE = join(ROOT, "tests/fixtures/layout_1");
const expected = JSON.parse(readFileSync(join(FIXTURE, "expected.json"), "utf8")) as Reading & {
  readonly now: number;
};

interface Lab {
  readonly file: DenoKvStore;
  readonly store: Store;
  readonly runners: Runners;
  readonly world: World;
  readonly clock: VirtualClock;
}

/** Opens a copy of the file, so long after it was made. */
async function inCopy(later: number, work: (lab: Lab) => Promise<void>): Promise<void> {
  const folder = await temporaryFolder();
  const path = join(folder.path, "store.db");
  writeFileSync(path, gunzipSync(readFileSync(join(FIXTURE, "store.gz"))));
  const clock = new VirtualClock({ start: expected.now + later, seed: 7 });
  const file = await denoKv(path, { runtime: { ...systemRuntime, now: () => clock.now() } });
  try {
    const store = aroundStore(file, (call) => clock.hold(call.apply()));
    const world: World = { mended: true, effects: [], hang: () => Promise.resolve() };
    const logger = { info: () => {}, warn: () => {} };
    await work({ file, store, world, clock, runners: runnersOn(store, world, { logger, runtime: clock }) });
  } finally {
    await file.close();
    await folder.remove();
  }
}

/** What `expected` speaks of, of `actual`. */
function asked(actual: unknown, expected: unknown): unknown {
  if (typeof actual !== "object" || typeof expected !== "object" || actual === null || expected === null) {
    return actual;
  }
  if (Array.isArray(actual)) {
    return actual.map((item, i) => asked(item, (expected as readonly unknown[])[i]));
  }
  const known = Object.entries(actual).filter(([key]) => Object.hasOwn(expected, key));
  return Object.fromEntries(
    known.map(([key, value]) => [key, asked(value, (expected as Record<string, unknown>)[key])]),
  );
}

test("a file of the first layout is listed and read as it was by the code that wrote it (S3, H1)", async () => {
  await inCopy(0, async ({ store, runners }) => {
    const found = await readAll(store, runners);
    assert.deepEqual(found.lists, expected.lists);
    assert.deepEqual(found.wakes, expected.wakes);
    assert.deepEqual(Object.keys(found.runs), Object.keys(expected.runs));
    for (const [runId, run] of Object.entries(expected.runs)) {
      assert.deepEqual(asked(found.runs[runId], run), run, `run ${runId}`);
    }
  });
});

const DAY = 86_400_000;

/** How each run ends: the vertices that were reduced and what they put out, or its status where it does not complete. */
const ENDS: Readonly<Record<string, readonly [log: string, out?: Record<string, unknown>] | string>> = {
  plain: ["start plain end", { plain: true }],
  keyed: ["start keyed end", { keyed: [true, true] }],
  limited: ["start limited end", { limited: true }],
  "limited-late": ["start late end", { late: "expired" }],
  crowd: ["start crowd end", { crowd: [true, true, true] }],
  talk: ["start talk end", { talk: [{ yes: true }, { asked: 1 }] }],
  nap: ["start nap end"],
  race: ["start race end", { race: true }],
  "race-late": ["start race end", { race: "cap" }],
  retry: ["start retry end", { retry: 2 }],
  refuse: ["start refuse end", { refuse: "accepted" }],
  completed: ["start end"],
  cancelled: "cancelled no longer needed",
  "plain-deadline": "cancelled deadline",
  submitted: ["start plain end", { plain: true }],
  "join-near": ["fork far near beyond gather", { far: "far", near: true, beyond: "beyond" }],
  "join-far": ["fork far near beyond gather", { far: true, near: "near", beyond: "beyond" }],
  "join-beyond": ["fork far near beyond gather", { far: "far", near: "near", beyond: true }],
  "join-near-answered": ["fork far near beyond gather", { far: "far", near: true, beyond: "beyond" }],
  "halted-condition": ["a b"],
  "halted-undeclared_target": ["a b"],
  "halted-max_steps": ["a a a a a b"],
  "halted-load_fault": ["a b"],
  "halted-dead_end": "interrupted halted",
  "halted-max_recoveries": ["start work end", { work: "worked" }],
  rounds: ["ask", { ask: true }],
  "rounds-retained": ["ask", { ask: true }],
  parent: ["call", { call: [{ work: "at once" }, { work: true }] }],
  "parent-answered": ["call", { call: [{ work: "at once" }, { work: true }] }],
  "parent-at-work": ["call", { call: [{ work: "at once" }, { work: "at once" }] }],
  "fork-of-parent": ["call", { call: [{ work: "at once" }, { work: true }] }],
  "plain-answered": ["start plain end", { plain: true }],
  "crowd-answered": ["start crowd end", { crowd: [true, false, true] }],
  "talk-answered": ["start talk end", { talk: [0, { asked: 1 }] }],
  "fork-of-crowd": ["start crowd end", { crowd: [true, true, true] }],
  "fork-of-completed": ["start end"],
  "plain-updated": ["start plain end", { updated: true, plain: true }],
  "plain-staged": ["start plain end", { plain: true }],
  "crowd-many": ["start crowd end", { crowd: Array.from({ length: 400 }, () => true) }],
  "at-work": ["start work end", { work: "worked" }],
  "at-work-buried": ["start work end", { work: "worked" }],
  "at-work-cancel": "cancelled changed my mind",
};

/** Whether a run thanks for its answer; all but one had sent their mails before. */
function thanks(runId: string): boolean {
  const end = ENDS[runId]!;
  return typeof end !== "string" && end[0].includes("plain");
}

/** Runs whose wait nobody answers, or somebody answers at once with four hundred others. */
const UNANSWERED = ["limited-late", "race-late", "plain-deadline", "crowd-many"];

/** Answers and recovers whatever there is, resumes what stopped, moves time; until a turn changes nothing. */
async function carryOn({ store, runners, clock }: Lab): Promise<void> {
  const served = Object.values(runners).filter((runner) => runner !== runners.child);
  const resumed = new Set<string>();
  for (let turn = 0; turn < 60; turn++) {
    for (const runner of served) {
      const { rows } = await clock.drive(runner.waits({ limit: 1000 }));
      for (const { runId, waitId } of rows) {
        if (!UNANSWERED.includes(runId)) await clock.drive(runner.answer(runId, waitId, { yes: true }));
      }
      const handles = await clock.drive(runner.recover({ concurrency: 500 }));
      await clock.drive(Promise.all(handles.map((handle) => handle.result())));
      for (const reason of ["errored", "halted"]) {
        for (const { runId } of (await store.list({ graphId: runner.graph.id, reason })).rows) {
          if (resumed.has(runId)) continue;
          resumed.add(runId);
          await clock.drive(runner.resume(runId, { maxSteps: 1000 }));
        }
      }
    }
    if (turn === 0) {
      const all = { payload: { yes: true }, all: true, concurrency: 500 };
      await clock.drive(runners.waits.resume("crowd-many", all));
    }
    const [next] = await store.wakes(Number.MAX_SAFE_INTEGER, 1);
    const atWork = (await store.list({ status: "running" })).rows.length > 0;
    if (next === undefined && !atWork) return;
    await clock.advanceTo(Math.max(clock.now() + 20_000, atWork ? 0 : next!.due));
  }
  assert.fail("the runs of the file never come to an end");
}

test("a file of the first layout: every run goes on to its end, and nothing that was recorded happens again (S3, T1)", async () => {
  await inCopy(DAY, async (lab) => {
    const { store, runners, world } = lab;
    await carryOn(lab);
    for (const [runId, end] of Object.entries(ENDS)) {
      const { row } = expected.runs[runId] as { readonly row: { readonly graphId: string } };
      const runner = Object.values(runners).find(({ graph }) => graph.id === row.graphId)!;
      const view = await runner.get(runId);
      if (typeof end === "string") {
        const why = view.status === "cancelled" ? view.cancelReason : view.run.reason;
        assert.equal(`${view.status} ${why}`, end, runId);
        continue;
      }
      const { log, out } = view.state as State;
      assert.deepEqual([view.status, log.join(" "), out], ["completed", end[0], end[1] ?? {}], runId);
    }
    const others = (await store.list({ limit: 1000 })).rows.filter(({ runId }) =>
      !Object.hasOwn(ENDS, runId)
    );
    assert.deepEqual(new Set(others.map(({ status }) => status)), new Set(["completed"]));
    assert.equal((await store.list({ limit: 1000 })).rows.length, Object.keys(expected.runs).length);
    assert.deepEqual((await store.waits({})).rows, []);

    assert.equal(new Set(world.effects).size, world.effects.length, "an effect happened twice");
    const once = world.effects.filter((key) => key.includes("/once="));
    assert.deepEqual(
      once.map((key) => key.replace(/^.*\/run=(.*?)\/.*\/once=/, "$1 ")).sort(),
      ["submitted mail", ...Object.keys(ENDS).filter(thanks).map((runId) => `${runId} thanks`)].sort(),
    );
  });
});

test("a file of the first layout: what dead processes left in the middle is put in order (S3, H4)", async () => {
  await inCopy(DAY, async ({ file, store }) => {
    assert.equal((await store.waits({ runId: "crowd-many", limit: 1000 })).rows.length, 400);
    assert.equal(await store.tail("purged"), undefined);
    assert.equal(await file.sweep(), 1, "a large append; the purge was finished when the file was opened");
    assert.equal(await file.sweep(), 0);
  });
});

test("a file of the first layout: a tick that has a run there gets no other one, and later ticks come (D12)", async () => {
  await inCopy(60_000, async ({ store, runners, clock }) => {
    const logger = { info: () => {}, warn: () => {} };
    // Between the ticks nobody serves: two hours of beats are many writes.
    for (const hour of [3, 4]) {
      await clock.advanceTo(Date.UTC(2026, 0, 1, hour) - 60_000);
      const worker = await serve({ runners: [runners.ticks], poll: "10m", runtime: clock, logger });
      await clock.advance("2m");
      await clock.drive(worker.stop());
    }
    const { rows } = await store.list({ graphId: "ticks" });
    const ticks = rows.map(({ tags, status }) =>
      `${tags.find((tag) => tag.startsWith("tick:"))!.slice(5)} ${status}`
    );
    assert.deepEqual(
      ticks.sort(),
      [1, 2, 3, 4].map((hour) => `2026-01-01T0${hour}:00:00.000Z completed`),
    );
  });
});
