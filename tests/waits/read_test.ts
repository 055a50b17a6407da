// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { engine, graphOf, notes } from "../support/graphs.ts";
import { gate, INPUT, interrupted, Lab, openId } from "./lab.ts";

function asking(lab: Lab) {
  return lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt("?") },
    b: { body: () => 1 },
  });
}

test("get gives the run as stored, with its state, and runs and writes nothing (H1)", async () => {
  const lab = new Lab();
  const graph = asking(lab);
  const live = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  const tail = await lab.store.tail(live.run.runId);
  const view = interrupted(await lab.elsewhere(graph).get(live.run.runId));
  assert.deepEqual(view, { ...live, activity: "waiting" });
  assert.throws(() => (view.state.log as string[]).push("x"), TypeError, "frozen");
  assert.deepEqual(await lab.store.tail(live.run.runId), tail);
  assert.equal(lab.count("a"), 1);
});

test("get tells a wait whose answer is accepted from the open ones, until the run has gone on (H1, I2)", async () => {
  const [One, Two] = [defineWait("one", z.string()), defineWait("two", z.string())];
  const lab = new Lab();
  const graph = lab.graph({
    a: { waits: [One, Two], body: (ctx) => Promise.all([ctx.waitFor(One), ctx.waitFor(Two)]) },
  });
  const live = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  const { runId, revision } = live.run;
  const [one, two] = [openId(live, "one"), openId(live, "two")];
  assert.deepEqual(live.answered, []);
  const runner = lab.elsewhere(graph);
  const view = async (options = {}) => {
    const { waits, answered } = interrupted(await runner.get(runId, options));
    return [waits.map((w) => w.waitId), answered];
  };
  await runner.answer(runId, one, "1");
  assert.deepEqual(await view(), [[two], [one]]);
  assert.deepEqual((await runner.waits({ runId })).rows.map((w) => w.waitId), [two]);
  const paused = interrupted(await lab.drive(runner.resume(runId)));
  assert.deepEqual([paused.waits.map((w) => w.waitId), paused.answered], [[two], []]);
  await runner.answer(runId, two, "2");
  assert.deepEqual(await view(), [[], [two]]);
  assert.deepEqual((await view({ revision }))[1], [], "nothing was answered at that revision");
});

test("get of a running run says so, with the state of the step that began (H1)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: { body: () => 1, to: "b" }, b: { body: () => gate().promise } }));
  const { runId } = await runner.start(INPUT);
  await lab.clock.settle();
  const view = await runner.get(runId);
  assert.deepEqual([view.status, view.state.log, view.path], ["running", ["a"], ["a"]]);
});

test("status is the run record without a state (H1)", async () => {
  const lab = new Lab();
  const graph = asking(lab);
  const { run } = await lab.drive(lab.engine(graph).run(INPUT, { tags: ["t"] }));
  assert.deepEqual(await lab.elsewhere(graph).status(run.runId), run);
});

test("history pages by revision, and a page says of each record the same as the whole (H1)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      body: () => 0,
      route: { targets: ["a", "end"], pick: (s) => s.log.length < 400 ? "a" : "end" },
    },
    end: { body: () => 0 },
  });
  const runner = lab.engine(graph);
  const { run } = await lab.drive(runner.run(INPUT));
  const { rows: whole } = await runner.history(run.runId, { limit: 1_000 });
  assert.deepEqual(whole.map((h) => h.revision), Array.from({ length: run.revision + 1 }, (_, i) => i));
  assert.equal((await runner.history(run.runId)).rows.length, 100);
  for (const from of [0, 1, 99, 255, 256, 257, 399, run.revision]) {
    const { rows: page } = await lab.elsewhere(graph).history(run.runId, { from, limit: 3 });
    assert.deepEqual(page, whole.slice(from, from + 3));
  }
  assert.deepEqual(await runner.history(run.runId, { from: run.revision + 1 }), { rows: [] });
  const last = await runner.history(run.runId, { from: run.revision - 2, limit: 3 });
  assert.deepEqual(last, { rows: whole.slice(-3) }, "a full last page has no cursor");
  const paged: typeof whole[number][] = [];
  for (let cursor: string | undefined, pages = 1;; pages++) {
    const page = await lab.elsewhere(graph).history(run.runId, {
      limit: 150,
      ...(cursor === undefined ? {} : { cursor }),
    });
    paged.push(...page.rows);
    cursor = page.cursor;
    if (cursor !== undefined) continue;
    assert.equal(pages, 3);
    break;
  }
  assert.deepEqual(paged, whole);
  const refused = [{ from: -1 }, { from: 0.5 }, { limit: 0 }, { limit: NaN }, { cursor: "x" }, {
    cursor: "",
  }];
  for (const query of refused) {
    await lab.fails(runner.history(run.runId, query), "ArgumentError");
  }
});

test("list finds this graph's runs by status, reason and tag, the newest created first, page by page (H1)", async () => {
  const lab = new Lab();
  const runner = lab.engine(asking(lab));
  const other = lab.engine(lab.graph({ x: { body: () => 0 } }, { id: "other" }));
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    const { run } = await lab.drive(
      runner.run(INPUT, { runId: `r${i}`, tags: [i % 2 === 0 ? "even" : "odd"] }),
    );
    ids.unshift(run.runId);
    await lab.clock.advance(1);
  }
  await lab.drive(other.run(INPUT));
  await lab.drive(runner.resume("r2", { payload: 1 }));
  const found = async (query: Parameters<typeof runner.list>[0]) =>
    (await runner.list(query)).rows.map((row) => row.runId);
  assert.deepEqual(await found({}), ids);
  assert.deepEqual(await found({ status: "completed" }), ["r2"]);
  assert.deepEqual(await found({ status: "interrupted", tag: "even" }), ["r4", "r0"]);
  assert.deepEqual(await found({ reason: "awaiting" }), ["r4", "r3", "r1", "r0"]);
  assert.deepEqual(await found({ reason: "halted" }), []);
  const row = (await runner.list({ status: "completed" })).rows[0]!;
  assert.deepEqual([row.graphId, row.graphVersion, row.openWaits], ["g", runner.graph.version, 0]);
  assert.equal((await runner.list({ limit: 1 })).rows[0]?.openWaits, 1);
  const paged: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await runner.list({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    paged.push(...page.rows.map((r) => r.runId));
    cursor = page.cursor;
  } while (cursor !== undefined);
  assert.deepEqual(paged, ids);
});

test("topology is plain JSON with vertices and edges; two engines of one graph give the same (H1)", () => {
  const lab = new Lab();
  const topology = lab.engine(asking(lab)).topology();
  assert.deepEqual(JSON.parse(JSON.stringify(topology)), topology);
  assert.deepEqual(lab.engine(asking(lab)).topology(), topology);
  assert.match(JSON.stringify(topology), /"v".*"a"|"a".*"v"/);
});

test("the drawing of a run shows what its vertices are at, the one without a run does not (H1)", async () => {
  const lab = new Lab();
  const runner = lab.engine(asking(lab));
  const plain = await runner.mermaid();
  assert.match(plain, /^(flowchart|graph) /);
  assert.doesNotMatch(plain, /suspended|done/);
  const { run } = await lab.drive(runner.run(INPUT));
  const drawn = await runner.mermaid(run.runId);
  for (const status of ["suspended", "done"]) assert.ok(drawn.includes(status), drawn);
});

test("a map vertex is drawn with the status of its items: failed before suspended, done when all are (H1)", async () => {
  const e = engine(graphOf({
    vertices: {
      split: {
        each: () => [0, 1, 2],
        run: (item, ctx) => {
          if (item === 1 && ctx.answer() === undefined) ctx.interrupt();
          if (item === 2) throw new Error("no");
          return item;
        },
        to: "end",
      },
      end: {},
    },
  }));
  const { run } = await e.run(notes());
  assert.match(await e.runner.mermaid(run.runId), /class v1 failed/);
});
