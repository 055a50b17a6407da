// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorHandler } from "../../mod.ts";
import { completed, engine, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";
import { damage, storedCheckpoint } from "../waits/damage.ts";

class Late extends Error {}
class Lost extends Error {}

const noted = (what: string) => (s: Notes) => void s.log.push(what);
const BY_CLASS: readonly ErrorHandler<Notes>[] = [
  { route: "mend", match: Late, record: (s) => void s.log.push("late") },
  { route: "mend", match: Lost, record: (s) => void s.log.push("lost") },
];
const BY_PREDICATE: readonly ErrorHandler<Notes>[] = [
  { route: "mend", match: (e) => e instanceof Late, record: noted("late") },
  { route: "mend", match: (e) => e instanceof Lost, record: noted("lost") },
];

/** A vertex fails while another one of its step waits for an answer. */
function failing(error: Error, handlers: readonly ErrorHandler<Notes>[]) {
  return graphOf<Notes>({
    vertices: {
      start: { to: ["fails", "waits"] },
      fails: { run: () => Promise.reject(error), onError: handlers, to: "other" },
      waits: { run: (_input, ctx) => ctx.answer()?.value ?? ctx.interrupt() },
      mend: {},
      other: {},
    },
    finish: "waits",
  });
}

const LOG = (what: string) => ["start", what, "waits", "mend"];

for (const [how, handlers] of Object.entries({ class: BY_CLASS, predicate: BY_PREDICATE })) {
  for (const [what, error] of [["late", new Late("late")], ["lost", new Lost("lost")]] as const) {
    test(`handlers with one route that change places still record what they were chosen for: ${what} by ${how} (FT-D8, D7)`, async () => {
      const e = engine(failing(error, handlers));
      const { run } = interrupted(await e.run(notes()), "awaiting");
      e.kill();
      const swapped = failing(error, [...handlers].reverse());
      assert.equal(swapped.version, e.graph.version);
      const { state } = completed(await e.restart(swapped).resume(run.runId, { payload: 1 }));
      assert.deepEqual(state.log, LOG(what));
      assert.equal(e.ran("fails"), 1);
    });
  }
}

test("another build of handlers with one route is taken by their place (FT-D8)", async () => {
  const e = engine(failing(new Lost("lost"), BY_CLASS));
  const { run } = interrupted(await e.run(notes()), "awaiting");
  const built = failing(
    new Lost("lost"),
    BY_CLASS.map((h) => ({ ...h, record: noted(String(h.match === Lost)) })),
  );
  assert.deepEqual(
    completed(await e.restart(built).resume(run.runId, { payload: 1 })).state.log,
    LOG("true"),
  );
});

test("a handler is recorded by its route; where several share it, their places and code are told apart (FT-D8)", async () => {
  const alone = engine(failing(new Late("late"), [{ route: "other", match: Lost }, { route: "mend" }]));
  const { run } = interrupted(await alone.run(notes()), "awaiting");
  assert.deepEqual((await alone.eventsOf(run.runId, "failed")).map((f) => f.handler), ["mend"]);
  const shared = engine(failing(new Lost("lost"), BY_CLASS));
  const other = interrupted(await shared.run(notes()), "awaiting");
  const [failed] = await shared.eventsOf(other.run.runId, "failed");
  assert.match(String(failed!.handler), /^mend#1#[0-9a-f]{12}$/);
});

test("a record that names a handler by its index, as earlier releases wrote it, is carried on (FT-D8)", async () => {
  const e = engine(failing(new Late("late"), BY_CLASS));
  const { run } = interrupted(await e.run(notes()), "awaiting");
  await rewrite(e, run.runId, 1);
  const { log } = completed(await e.restart().resume(run.runId, { payload: 1 })).state;
  assert.deepEqual(log.slice(-3), ["lost", "waits", "mend"]);
});

test("a recorded handler with a route that the vertex does not have is refused, and nothing runs (FT-D8, C4)", async () => {
  for (const handler of ["waits", "mend#2#000000000000", 2, "", "#", "constructor"]) {
    const e = engine(failing(new Late("late"), BY_CLASS));
    const { run } = interrupted(await e.run(notes()), "awaiting");
    await rewrite(e, run.runId, handler);
    await assert.rejects(e.restart().resume(run.runId, { payload: 1 }), {
      name: "CheckpointDecodeError",
      message: /execution fails: it names an error handler that does not exist/,
    });
    assert.deepEqual([e.ran("fails"), e.ran("waits")], [1, 1]);
  }
});

async function rewrite(e: ReturnType<typeof engine<Notes>>, runId: string, handler: string | number) {
  const { executions } = await storedCheckpoint(e.store, runId);
  const changed = new Map(executions).set("fails", { ...executions.get("fails")!, handler });
  await damage(e.store, runId, { checkpoint: { executions: changed } });
}
