// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryEntry } from "../../src/engine/history.ts";
import { appendHints } from "../../src/checkpoint/hints.ts";
import type { Store } from "../../src/store/store.ts";
import { chainOf, engine, gate, graphOf, notes } from "../support/graphs.ts";

const LONG = chainOf(...Array.from({ length: 200 }, (_, i) => `v${String(i).padStart(3, "0")}`));

/** Reads to the end, moving the clock meanwhile. */
async function all(entries: AsyncIterable<HistoryEntry>): Promise<readonly HistoryEntry[]> {
  const found: HistoryEntry[] = [];
  for await (const entry of entries) found.push(entry);
  return found;
}

const revisions = (entries: readonly HistoryEntry[]) => entries.map((entry) => entry.revision);
const upTo = (last: number, first = 0) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

test("a run followed from its start shows what its history shows, each revision once, and ends with it (O6)", async () => {
  const { runner, clock } = engine(LONG);
  const handle = await runner.start(notes());
  const [followed] = await clock.drive(Promise.all([all(runner.follow(handle.runId)), handle.result()]));
  const { rows } = await runner.history(handle.runId, { limit: 1000 });
  assert.deepEqual(followed, rows);
  assert.deepEqual(revisions(followed), upTo(rows.length - 1));
  assert.equal(followed.at(-1)!.status, "completed");
});

test("a run is followed from any revision on, also from the one after its end (O6)", async () => {
  const { runner, run, clock } = engine(LONG);
  const { run: { runId, revision: last } } = await run(notes());
  for (const from of [0, 1, 63, 64, 65, 128, last - 1, last]) {
    assert.deepEqual(revisions(await clock.drive(all(runner.follow(runId, { from })))), upTo(last, from));
  }
  assert.deepEqual(await clock.drive(all(runner.follow(runId, { from: last + 1 }))), []);
});

test("a revision that no run has yet, or an unknown run, cannot be followed (O6)", async () => {
  const { runner, run } = engine(chainOf("a"));
  const { run: { runId, revision: last } } = await run(notes());
  for (const from of [-1, 0.5, NaN, last + 2]) {
    await assert.rejects(all(runner.follow(runId, { from })), { code: "ARGUMENT" });
  }
  await assert.rejects(all(runner.follow("nobody")), { code: "CHECKPOINT_NOT_FOUND" });
  await assert.rejects(all(runner.follow("../x")), { code: "ARGUMENT" });
});

test("records that another process appends are seen within one poll, those of this process at once (O6)", async () => {
  const first = gate();
  const second = gate();
  const here = engine(graphOf({
    vertices: { a: { run: () => first.promise, to: "b" }, b: { run: () => second.promise } },
  }));
  const there = here.restart();
  const handle = await here.runner.start(notes());
  await here.clock.settle();
  const seen = { here: [] as number[], there: [] as number[] };
  const follow = async (runner: typeof here.runner, into: number[]) => {
    for await (const { revision } of runner.follow(handle.runId, { poll: "2s" })) into.push(revision);
  };
  const ends = [follow(here.runner, seen.here), follow(there.runner, seen.there)];
  await here.clock.advance("10s");
  first.open();
  await here.clock.settle();
  assert.deepEqual(seen, { here: [0, 1], there: [0] });
  await here.clock.advance("2s");
  assert.deepEqual(seen.there, [0, 1]);
  second.open();
  await here.clock.drive(Promise.all([handle.result(), ...ends]));
  assert.deepEqual(seen.there, seen.here);
});

test("a paused run is followed on; an abort ends the reading without an error and leaves nothing behind (O6)", async () => {
  const { runner, clock } = engine(graphOf({ vertices: { a: { run: (_, ctx) => ctx.interrupt("?") } } }));
  const handle = await runner.start(notes());
  await clock.drive(handle.result());
  const listening = countListeners(runner.store);
  const before = clock.pending;
  const stop = new AbortController();
  const seen: number[] = [];
  const reading = (async () => {
    for await (const entry of runner.follow(handle.runId, { signal: stop.signal })) seen.push(entry.revision);
  })();
  await clock.advance("1m");
  assert.equal(seen.length, 2);
  assert.deepEqual([listening(), clock.pending], [1, before + 1]);
  stop.abort();
  await reading;
  assert.deepEqual([listening(), clock.pending], [0, before]);
});

test("following a run that is purged ends with its absence, also when its id is begun anew (H4)", async () => {
  const graph = graphOf({ vertices: { a: { run: (_, ctx) => ctx.interrupt("?") } } });
  for (const again of [false, true]) {
    const { runner, clock, store } = engine(graph);
    const handle = await runner.start(notes(), { runId: "r" });
    await clock.drive(handle.result());
    const ended = assert.rejects(all(runner.follow("r")), { code: "CHECKPOINT_NOT_FOUND" });
    await clock.settle();
    await store.purge("r");
    if (again) await clock.drive((await runner.start(notes(), { runId: "r" })).result());
    await clock.drive(ended);
  }
});

test("a reader that leaves listens no more (O6)", async () => {
  const { runner } = engine(chainOf("a"));
  const handle = await runner.start(notes());
  const listening = countListeners(runner.store);
  for await (const _ of runner.follow(handle.runId)) {
    assert.equal(listening(), 1);
    break;
  }
  assert.equal(listening(), 0);
  await handle.result();
});

/** How many listen to the hints of a store from now on. */
function countListeners(store: Store): () => number {
  const hints = appendHints(store);
  const listen = hints.listen.bind(hints);
  let listening = 0;
  hints.listen = (runId, listener) => {
    listening++;
    const leave = listen(runId, listener);
    return () => {
      listening--;
      leave();
    };
  };
  return () => listening;
}
