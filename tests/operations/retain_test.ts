// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CheckpointNotFoundError, Runner, Store } from "../../mod.ts";
import { INPUT, interrupted, Lab, type State } from "../waits/lab.ts";

/** A run of `steps` steps, each of which may change the state as `edit` says. */
function loop(lab: Lab, steps: number, edit: (s: State, n: number) => void = () => {}) {
  return lab.graph({
    a: {
      select: (s) => s.log.length,
      body: (_, n) => n,
      reduce: (s, n) => {
        edit(s, n as number);
        s.log.push(`step ${n}`);
      },
      route: { targets: ["a", "end"], pick: (s) => s.log.length < steps ? "a" : "end" },
    },
    end: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt() },
  });
}

async function begin(lab: Lab, graph: ReturnType<typeof loop>): Promise<Runner<State>> {
  const runner = lab.engine(graph);
  interrupted(await lab.drive(runner.run(INPUT, { runId: "r" })));
  return runner;
}

/** Where snapshots are: the revisions at which a reader may begin. */
async function revisions(store: Store, runId: string): Promise<number[]> {
  return (await store.range(runId, 0, 10_000)).map((r) => r.revision);
}

test("retain keeps the newest records, from a snapshot on; the run is read, resumed and forked as before (H4)", async () => {
  const lab = new Lab();
  const runner = await begin(lab, loop(lab, 300));
  const before = await runner.get("r");
  const { revision } = before.run;
  const { first } = await runner.retain("r", 10);
  assert.ok(first > 0 && first <= revision - 9, `${first} of ${revision}`);
  assert.ok(revision - first < 9 + 257);
  assert.deepEqual(
    await revisions(lab.store, "r"),
    Array.from({ length: revision - first + 1 }, (_, i) => first + i),
  );
  assert.deepEqual(await lab.elsewhere(runner.graph).get("r"), before);
  const fork = await runner.fork("r", revision);
  const early = await runner.fork("r", first);
  for (const runId of [fork.runId, early.runId, "r"]) {
    const paused = await lab.drive(runner.resume(runId));
    const done = runId === "r"
      ? await lab.drive(runner.resume(runId, { payload: 1 }))
      : interrupted(paused) && await lab.drive(runner.resume(runId, { payload: 1 }));
    assert.deepEqual([done.status, done.state.log.length, done.state.out], ["completed", 301, { end: 1 }]);
  }
});

test("below the cut history and fork say from where on the history is kept; without a place history begins there (H4, H1)", async () => {
  const lab = new Lab();
  const runner = await begin(lab, loop(lab, 300));
  const whole: { revision: number }[] = [];
  for (let from = 0; from < 400; from += 100) whole.push(...(await runner.history("r", { from })).rows);
  const { first } = await runner.retain("r", 10);
  const kept = await runner.history("r", { limit: 400 });
  assert.deepEqual(kept.rows, whole.filter((row) => row.revision >= first));
  for (const revision of [0, first - 1]) {
    for (const call of [() => runner.history("r", { from: revision }), () => runner.fork("r", revision)]) {
      const error = await lab.fails<CheckpointNotFoundError>(call(), "CheckpointNotFoundError");
      assert.deepEqual([error.revision, error.first], [revision, first]);
      assert.match(error.message, new RegExp(`kept from ${first} on`));
    }
  }
  const page = await runner.history("r", { limit: 3 });
  assert.deepEqual(page.rows.map((row) => row.revision), [first, first + 1, first + 2]);
  const next = await runner.history("r", { limit: 2, cursor: page.cursor! });
  assert.deepEqual(next.rows.map((row) => row.revision), [first + 3, first + 4]);
  assert.deepEqual((await runner.history("r", { from: first + 5, limit: 1 })).rows, [kept.rows[5]]);
  assert.deepEqual((await runner.history("r", { from: 1_000 })).rows, []);
});

test("retain again keeps what it must; more than there is cuts nothing, and a number that is none is refused (H4)", async () => {
  const lab = new Lab();
  const runner = await begin(lab, loop(lab, 300));
  const { revision } = await runner.status("r");
  assert.deepEqual(await runner.retain("r", revision + 1), { first: 0 });
  assert.deepEqual(await runner.retain("r", 10_000), { first: 0 });
  const { first } = await runner.retain("r", 150);
  assert.deepEqual(await runner.retain("r", 150), { first });
  assert.deepEqual(await runner.retain("r", 200), { first }, "what is gone stays gone");
  const later = await runner.retain("r", 1);
  assert.ok(later.first > first);
  assert.deepEqual(await lab.elsewhere(runner.graph, {}).retain("r", 1), later);
  for (const lastN of [0, -1, 1.5, NaN, undefined]) {
    await lab.fails(runner.retain("r", lastN as number), "ArgumentError");
  }
  await lab.fails(runner.retain("unknown", 1), "CheckpointNotFoundError");
  const other = lab.engine(lab.graph({ a: { body: () => 1 } }, { id: "other" }));
  assert.deepEqual(await other.retain("r", 1), later, "neither the graph nor its state is needed");
});

test("of a run whose beginning was cut off a mismatch of versions is still refused (H4, H3)", async () => {
  const lab = new Lab();
  const runner = await begin(lab, loop(lab, 200));
  await runner.retain("r", 1);
  const error = await lab.fails(
    lab.engine(lab.graph({ a: { body: () => 1 } })).resume("r"),
    "GraphVersionMismatchError",
  );
  assert.match(error.message, /no longer stored/);
});

test("a run that ended, by itself or by a cancellation, is retained and can be read, forked and purged (H4)", async () => {
  for (const end of ["completed", "cancelled"]) {
    const lab = new Lab();
    const runner = await begin(lab, loop(lab, 200));
    if (end === "completed") await lab.drive(runner.resume("r", { payload: 1 }));
    else await runner.cancel("r");
    const before = await runner.get("r");
    assert.equal(before.status, end);
    const { first } = await runner.retain("r", 1);
    assert.ok(first > 0);
    assert.deepEqual(await runner.get("r"), before);
    await runner.fork("r", before.run.revision);
    assert.equal(await runner.purge({}) >= 1, true);
    await lab.fails(runner.get("r"), "CheckpointNotFoundError");
    const again = await begin(lab, loop(lab, 200));
    assert.equal((await again.history("r")).rows[0]!.revision, 0, "a run begun anew has its whole history");
  }
});

/** Numbers that look random and are the same every time. */
function chance(seed: number): (below: number) => number {
  let x = seed * 2654435761 >>> 0;
  return (below) => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    return (x >>> 8) % below;
  };
}

for (const seed of [1, 2, 3]) {
  test(`while a run is at work others cut its history off again and again; it never notices, and reads back whole (seed ${seed}) (H4, C2)`, async () => {
    const lab = new Lab();
    const draw = chance(seed);
    const edit = (s: State, n: number) => {
      const field = `f${draw(12)}`;
      const kind = draw(4);
      if (kind === 0) s.out[field] = "x".repeat(draw(6_000));
      else if (kind === 1) {
        s.out[field] = Array.from({ length: draw(300) }, (_, i) => ({ i, n, text: "y".repeat(40) }));
      } else if (kind === 2 && Array.isArray(s.out[field])) (s.out[field] as unknown[]).push({ n });
      else if (kind === 3) delete s.out[field];
    };
    const graph = loop(lab, 400, edit);
    const others = [lab.elsewhere(graph), lab.elsewhere(graph)];
    let cuts = 0;
    let first = 0;
    let work: Promise<unknown> = Promise.resolve();
    const hooks = {
      checkpoint: ({ revision }: { readonly revision: number }) => {
        if (revision % 7 !== 0) return;
        const lastN = 1 + draw(40);
        work = work.then(async () => {
          const kept = await others[revision % 2]!.retain("r", lastN);
          assert.ok(kept.first >= first && kept.first <= revision + 1_000);
          if (kept.first > first) cuts++;
          first = kept.first;
          if (revision % 5 === 0) await others[0]!.get("r");
        });
      },
    };
    const live = interrupted(await lab.drive(lab.engine(graph).run(INPUT, { runId: "r", hooks })));
    await lab.drive(work);
    assert.ok(cuts >= 3, `${cuts} cuts`);
    const read = await lab.elsewhere(graph).get("r");
    assert.deepEqual(read.state, live.state);
    await others[0]!.retain("r", 1);
    assert.deepEqual((await lab.elsewhere(graph).get("r")).state, live.state);
    const done = await lab.drive(lab.elsewhere(graph).resume("r", { payload: 1 }));
    assert.equal(done.status, "completed");
  });
}
