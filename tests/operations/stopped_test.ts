// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type { CompiledGraph, Runner } from "../../mod.ts";
import { CrashStore } from "../../src/testing/crash_store.ts";
import { gate, INPUT, Lab, mortal, recorded, type State } from "../waits/lab.ts";

const Ok = defineWait("ok", z.string());
const LEASE = "16s";

/** An operation that a process begins, and that another process does again after the first was stopped in it. */
interface Operation {
  readonly of: string;
  readonly graph: (lab: Lab) => CompiledGraph<State>;
  readonly prepare: (lab: Lab, runner: Runner<State>) => Promise<unknown>;
  readonly run: (runner: Runner<State>) => Promise<unknown>;
  /** Whether the operation may be seen half done, as one that works on several runs. */
  readonly several?: boolean;
}

function waiting(lab: Lab): CompiledGraph<State> {
  return lab.graph({
    v: { body: () => 1, to: ["a", "m"] },
    a: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
    m: { each: (s) => s.log, waits: [Ok], body: (ctx) => ctx.waitFor(Ok) },
  });
}

const paused = (lab: Lab, runner: Runner<State>) => lab.drive(runner.run(INPUT, { runId: "r" }));

const OPERATIONS: readonly Operation[] = [
  {
    of: "submit",
    graph: waiting,
    prepare: () => Promise.resolve(),
    run: (runner) =>
      runner.submit(INPUT, { runId: "r", tags: ["t"], deadline: new Date(Date.UTC(2027, 0, 1)) }),
  },
  {
    of: "cancel of a run that waits",
    graph: waiting,
    prepare: async (lab, runner) => {
      await paused(lab, runner);
      const { rows } = await runner.waits();
      await runner.answer("r", rows[0]!.waitId, "yes");
    },
    run: (runner) => runner.cancel("r", "why"),
  },
  {
    of: "cancel of a run whose process died",
    graph: (lab) => lab.graph({ a: { body: () => gate().promise } }),
    prepare: async (lab, runner) => {
      const dying = mortal(lab.store);
      await lab.engine(runner.graph, { store: dying.store }).start(INPUT, { runId: "r" });
      await lab.clock.settle();
      dying.kill();
      await lab.clock.advance(LEASE);
    },
    run: (runner) => runner.cancel("r", "why"),
  },
  {
    of: "cancel of a run at work in another process",
    graph: (lab) => lab.graph({ a: { body: () => gate().promise } }),
    prepare: async (lab, runner) => {
      await lab.elsewhere(runner.graph).start(INPUT, { runId: "r" });
      await lab.clock.settle();
    },
    run: (runner) => runner.cancel("r", "why"),
  },
  {
    of: "fork",
    graph: waiting,
    prepare: paused,
    run: (runner) => runner.fork("r", 1, { runId: "f", state: (s) => void s.log.push("forked") }),
  },
  {
    of: "update",
    graph: waiting,
    prepare: paused,
    run: (runner) => runner.update("r", (s) => void (s.out.x = 1)),
  },
  {
    of: "update that gives a map another item",
    graph: waiting,
    prepare: paused,
    run: (runner) => runner.update("r", (s) => void (s.log = [s.log[0]!, "two"])),
  },
  {
    of: "retain",
    graph: (lab) =>
      lab.graph({
        a: {
          body: () => 1,
          reduce: (s) => void s.log.push("x"),
          route: { targets: ["a", "b"], pick: (s) => s.log.length < 150 ? "a" : "b" },
        },
        b: { body: (ctx) => ctx.interrupt() },
      }),
    prepare: paused,
    run: (runner) => runner.retain("r", 5),
  },
  {
    of: "purge",
    several: true,
    graph: waiting,
    prepare: async (lab, runner) => {
      for (const runId of ["r", "s", "t"]) {
        await lab.drive(runner.run(INPUT, { runId }));
        await runner.cancel(runId);
      }
    },
    run: (runner) => runner.purge({}),
  },
  {
    of: "purge with force",
    several: true,
    graph: waiting,
    prepare: async (lab, runner) => {
      for (const runId of ["r", "s"]) await lab.drive(runner.run(INPUT, { runId }));
    },
    run: (runner) => runner.purge({ force: true }),
  },
];

/** Everything that a reader can tell of the store, apart from times. */
async function observed(lab: Lab, graph: CompiledGraph<State>): Promise<unknown> {
  const runner = lab.elsewhere(graph);
  const { rows } = await runner.list();
  const sorted = [...rows].sort((a, b) => a.runId < b.runId ? -1 : 1);
  const runs = await Promise.all(sorted.map(async ({ runId }) => {
    const { run, state, status } = await runner.get(runId);
    const { createdAt: _, updatedAt: __, startedAt: ___, interruptedAt: ____, cancelledAt: _____, ...rest } =
      run;
    const { rows: [first] } = await runner.history(runId);
    return [
      runId,
      status,
      { ...rest, owner: undefined, waitSalt: undefined },
      state,
      await recorded(runner, runId),
      first?.revision,
    ];
  }));
  const waits = (await runner.waits()).rows.map((w) => [w.runId, w.waitId]).sort();
  const wakes = (await lab.store.wakes(Number.MAX_SAFE_INTEGER, 100)).map((w) => w.runId).sort();
  return [runs, waits, wakes];
}

for (const { of, graph: graphIn, prepare, run, several = false } of OPERATIONS) {
  test(`a ${of} that is stopped at any write of the store is done whole or not at all, and doing it again finishes it (S1, O5, H2, H4)`, async () => {
    const whole = new Lab();
    const graph = graphIn(whole);
    const runner = whole.engine(graph);
    await prepare(whole, runner);
    const untouched = await observed(whole, graph);
    const counting = new CrashStore(whole.store, whole.clock, 1, undefined, () => {});
    await whole.drive(run(whole.engine(graph, { store: counting.store })));
    const done = await observed(whole, graph);
    assert.notDeepEqual(done, untouched);
    assert.ok(counting.writes >= 1);
    for (let write = 1; write <= counting.writes; write++) {
      for (const when of ["before", "after"] as const) {
        const lab = new Lab();
        const graph = graphIn(lab);
        await prepare(lab, lab.engine(graph));
        const runtime = lab.clock.fork();
        const crash = new CrashStore(lab.store, lab.clock, 1, { write, when }, () => runtime.stop());
        const stopped = lab.engine(graph, { store: crash.store, runtime });
        await assert.rejects(lab.drive(Promise.race([run(stopped), crash.stopped])), /was stopped/);
        const left = await observed(lab, graph);
        const named = `${when} write ${write} (${crash.point?.op})`;
        if (!several && of.indexOf("at work") < 0) {
          const seen = [untouched, done].filter((state) => equal(state, left));
          assert.equal(seen.length, 1, `half done ${named}`);
        }
        await lab.clock.advance(LEASE);
        await lab.drive(run(lab.elsewhere(graph)));
        assert.deepEqual(await observed(lab, graph), done, named);
      }
    }
  });
}

function equal(a: unknown, b: unknown): boolean {
  try {
    assert.deepEqual(a, b);
    return true;
  } catch {
    return false;
  }
}
