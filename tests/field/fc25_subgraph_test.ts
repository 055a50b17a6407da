// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineWait, type RunResult } from "../../mod.ts";
import { z } from "zod";
import { finish, stored } from "../operations/story.ts";
import { type House, house, nested } from "../tasks/nesting.ts";
import { gate, INPUT, interrupted, Lab, revisionOf, type State } from "../waits/lab.ts";

const First = defineWait("first", z.string());
const Second = defineWait("second", z.string());

/** A run `p` whose vertex `v` runs a workflow that works, asks, works, asks and works, beside a sibling. */
function office() {
  const lab = new Lab();
  let home: House = house(lab);
  const child = lab.graph({
    one: { body: () => 1, to: "ask" },
    ask: { waits: [First], body: (ctx) => ctx.waitFor(First), to: "two" },
    two: { body: (ctx) => ctx.once("two", () => lab.count("two")), to: "again" },
    again: { waits: [Second], body: (ctx) => ctx.waitFor(Second), to: "three" },
    three: { body: () => 3 },
  }, { id: "child" });
  const parent = lab.graph({
    before: { body: () => "b", to: "v" },
    v: nested(() => home, child),
  }, { id: "parent" });
  return {
    lab,
    child,
    parent,
    runner: () => home.runner(parent),
    children: () => home.runner(child),
    move: () => void (home = house(lab, "elsewhere")),
    /** The run that works for `v` of a run. */
    childOf: (runId: string) => home.runner(child).runIdOf(`graph=parent/run=${runId}/step=1/vertex=v`),
    counts: () => ["before", "one", "ask", "two", "again", "three"].map((id) => lab.count(id)),
  };
}

type Office = ReturnType<typeof office>;

/** Answers whatever is asked until the run is over; the names of what was asked. */
async function answered(
  { lab, runner }: Pick<Office, "lab" | "runner">,
  runId: string,
  answers: Readonly<Record<string, unknown>>,
): Promise<{ readonly result: RunResult<State>; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  let result = await finish(lab, runner(), runId);
  while (result.status === "interrupted" && result.reason === "awaiting") {
    for (const { waitId, name } of result.waits) {
      asked.push(name);
      await runner().answer(runId, waitId, answers[name]);
    }
    result = await finish(lab, runner(), runId);
  }
  return { result, asked: asked.toSorted() };
}

/** What `work` adds to the counts. */
async function added<T>(counts: () => readonly number[], work: Promise<T>): Promise<[readonly number[], T]> {
  const before = counts();
  const result = await work;
  return [counts().map((n, i) => n - before[i]!), result];
}

/** Tells the run to its end, and at which revision each answer was recorded. */
async function told(
  o: Office,
): Promise<{ readonly first: number; readonly second: number; readonly end: number }> {
  const { lab, runner } = o;
  const paused = interrupted(await lab.drive(runner().run(INPUT, { runId: "p", tags: ["mine"] })));
  await runner().answer("p", paused.waits[0]!.waitId, "yes");
  const again = interrupted(await finish(lab, runner(), "p"));
  await runner().answer("p", again.waits[0]!.waitId, "no");
  assert.equal((await finish(lab, runner(), "p")).status, "completed");
  const { rows } = await runner().history("p");
  const [first, second] = rows.filter(({ events }) => events.some((e) => e.type === "resolved"));
  return { first: first!.revision, second: second!.revision, end: await revisionOf(runner(), "p") };
}

test("a fork at every revision of a run goes on with its subgraph where that stood: nothing that was done is done again, what was answered is not asked again, what came later is (FC-25)", async () => {
  const o = office();
  const { lab, runner, children, childOf } = o;
  const { first, second, end } = await told(o);
  const before = [await stored(lab.store, "p"), await stored(lab.store, childOf("p"))];
  const { rows } = await runner().history("p");
  const begun = rows.find(({ frontier }) => frontier[0] === "v")!.revision;
  const opened = rows.find(({ events }) => events.some((e) => e.type === "opened"))!.revision;
  assert.ok(begun < opened && opened < first && first < second && second < end);
  for (let at = 0; at <= end; at++) {
    if (at % 2 === 0) o.move();
    const { runId } = await runner().fork("p", at);
    assert.equal(
      (await children().list({ tag: `called-by:${runId}` })).rows.length,
      at > begun && at < end ? 1 : 0,
    );
    if (at === end) continue;
    const answers = { first: "YES", second: "NO" };
    const [counts, { result, asked }] = await added(o.counts, answered(o, runId, answers));
    const expected = at < begun
      ? [1, 1, 2, 1, 2, 1]
      : at === begun
      ? [0, 1, 2, 1, 2, 1]
      : at < first
      ? [0, 0, 2, 1, 2, 1]
      // An answer that was recorded and not yet handed down is in the fork; its body runs with it.
      : at === first
      ? [0, 0, 1, 1, 2, 1]
      : at < second
      ? [0, 0, 0, 0, 2, 1]
      : [0, 0, 0, 0, 1, 1];
    assert.deepEqual(counts, expected, `of revision ${at}`);
    assert.deepEqual(asked, at < first ? ["first", "second"] : at < second ? ["second"] : [], `of ${at}`);
    assert.equal(result.status, "completed");
    const { ask, again } = result.state.out.v as State["out"];
    assert.deepEqual([ask, again], [at < first ? "YES" : "yes", at < second ? "NO" : "no"]);
    const { parent, caller, tags, graphId } = await children().status(childOf(runId));
    assert.deepEqual(
      [
        parent?.runId,
        { graphId: caller!.graphId, runId: caller!.runId, vertexId: caller!.vertexId },
        tags,
        graphId,
      ],
      [
        at > begun ? childOf("p") : undefined,
        { graphId: "parent", runId, vertexId: "v" },
        [`called-by:${runId}`],
        "child",
      ],
    );
  }
  assert.deepEqual([await stored(lab.store, "p"), await stored(lab.store, childOf("p"))], before);
});

test("an answer that was accepted and not recorded yet is kept, and one that expired is not waited for again (FC-25)", async () => {
  for (const end of ["answered", "expired"] as const) {
    const lab = new Lab();
    const home = house(lab);
    const Late = defineWait("late", z.string());
    const child = lab.graph({
      c: { body: () => 0, to: "d" },
      d: {
        waits: [Late],
        body: (ctx) =>
          ctx.waitFor(Late, { deadline: "1h" }).catch((e: Error) => {
            if (e.name !== "WaitExpiredError") throw e;
            return "expired";
          }),
      },
    }, { id: "child" });
    const parent = lab.graph({ v: nested(() => home, child) }, { id: "parent" });
    const runner = home.runner(parent);
    const paused = interrupted(await lab.drive(runner.run(INPUT, { runId: "p" })));
    let at = paused.run.revision;
    if (end === "answered") await runner.answer("p", paused.waits[0]!.waitId, "answered");
    else {
      await lab.clock.advance("2h");
      await finish(lab, runner, "p");
      const { rows } = await runner.history("p");
      at = rows.find(({ events }) => events.some((e) => e.type === "resolved"))!.revision;
    }
    const { runId } = await runner.fork("p", at);
    const done = await finish(lab, runner, runId);
    assert.deepEqual([done.status, done.state.out.v], ["completed", { c: 0, d: end }]);
    assert.equal(lab.count("c"), 1);
  }
});

test("a fork of a record that a sibling wrote finds the subgraph as far as it was then, although it is at work (FC-25)", async () => {
  const lab = new Lab();
  const home = house(lab);
  const gates = [gate(), gate(), gate()];
  const child = lab.graph({
    c: { body: () => gates[0]!.promise, to: "d" },
    d: { body: () => 1, to: "e" },
    e: { body: () => lab.count("e") === 1 ? gates[2]!.promise : 0 },
  }, { id: "child" });
  const parent = lab.graph({
    a: { body: () => 0, to: ["b", "s", "v"] },
    b: { body: () => 1 },
    s: { body: () => lab.count("s") === 1 ? gates[1]!.promise : 0 },
    v: nested(() => home, child),
  }, { id: "parent" });
  const runner = home.runner(parent);
  const handle = await runner.start(INPUT, { runId: "p" });
  await lab.clock.settle();
  const early = await revisionOf(runner, "p");
  gates[0]!.open();
  await lab.clock.settle();
  gates[1]!.open();
  await lab.clock.settle();
  const late = await revisionOf(runner, "p");
  assert.ok(early < late);
  const childId = home.runner(child).runIdOf("graph=parent/run=p/step=1/vertex=v");
  const before = [await stored(lab.store, "p"), await stored(lab.store, childId)];
  const counts = () => ["b", "s", "c", "d", "e"].map((id) => lab.count(id));
  for (const [at, expected] of [[early, [0, 1, 1, 1, 1]], [late, [0, 0, 0, 0, 1]]] as const) {
    const { runId } = await runner.fork("p", at);
    const [more, done] = await added(counts, finish(lab, runner, runId));
    assert.equal(done.status, "completed");
    assert.deepEqual(more, expected);
  }
  assert.deepEqual([await stored(lab.store, "p"), await stored(lab.store, childId)], before);
  gates[2]!.open();
  assert.equal((await lab.drive(handle.result())).status, "completed");
});

test("forks of forks, worked on or not, go on with the subgraph as well, also when every source is purged (FC-25)", async () => {
  const o = office();
  const { lab, runner, children, childOf } = o;
  const { first, second } = await told(o);
  const unrun = await runner().fork("p", second, { runId: "f1" });
  const again = await runner().fork(unrun.runId, 0, { runId: "f2" });
  const worked = await runner().fork("p", first - 1, { runId: "g1" });
  const paused = interrupted(await finish(lab, runner(), worked.runId));
  await runner().answer("g1", paused.waits[0]!.waitId, "mine");
  const { revision } = interrupted(await finish(lab, runner(), "g1")).run;
  const second2 = await runner().fork("g1", revision, { runId: "g2" });
  assert.deepEqual((await children().status(childOf("f2"))).parent, { runId: childOf("f1"), revision: 0 });
  assert.equal((await children().status(childOf("g2"))).parent?.runId, childOf("g1"));
  for (const runId of ["p", "f1", "g1"]) await lab.drive(runner().purge({ runId, force: true }));
  o.move();
  const [ofUnrun, unrunEnd] = await added(o.counts, answered(o, again.runId, {}));
  assert.deepEqual([unrunEnd.result.status, unrunEnd.asked, ofUnrun], ["completed", [], [0, 0, 0, 0, 1, 1]]);
  const [ofWorked, workedEnd] = await added(o.counts, answered(o, second2.runId, { second: "no" }));
  assert.deepEqual([workedEnd.asked, ofWorked], [["second"], [0, 0, 0, 0, 2, 1]]);
  assert.deepEqual([(workedEnd.result.state.out.v as State["out"]).ask, workedEnd.result.status], [
    "mine",
    "completed",
  ]);
});

test("a fork of a run that was cancelled, with its subgraph, goes on where both stood before (FC-25)", async () => {
  const o = office();
  const { lab, runner } = o;
  const paused = interrupted(await lab.drive(runner().run(INPUT, { runId: "p" })));
  await lab.drive(runner().cancel("p"));
  for (const at of [paused.run.revision, paused.run.revision + 1]) {
    const { runId } = await runner().fork("p", at);
    const [counts, { result, asked }] = await added(
      o.counts,
      answered(o, runId, { first: "a", second: "b" }),
    );
    assert.deepEqual([result.status, asked], ["completed", ["first", "second"]]);
    assert.deepEqual(counts, [0, 0, 2, 1, 2, 1]);
  }
});
