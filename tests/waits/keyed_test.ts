// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineWait } from "../../mod.ts";
import { z } from "zod";
import { INPUT, interrupted, Lab, type Spec } from "./lab.ts";

const Review = defineWait("review", z.boolean());
const REVIEWERS = ["ann", "bob", "cy"];

const PANEL: Spec = {
  waits: [Review],
  body: async (ctx) => {
    const votes = REVIEWERS.map((key) => ctx.waitFor(Review, { key, info: { of: key } }));
    return Object.fromEntries((await Promise.all(votes)).map((vote, i) => [REVIEWERS[i], vote]));
  },
};

test("waits of one definition under keys of their own are open side by side and answered each on its own (T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: PANEL });
  const runner = lab.engine(graph);
  const first = interrupted(await lab.drive(runner.run(INPUT, { runId: "r" })));
  assert.deepEqual(
    first.waits.map((w) => [w.name, w.key, w.info]),
    REVIEWERS.map((of) => ["review", of, { of }]),
  );
  const { rows } = await runner.waits();
  assert.deepEqual(rows.map((row) => row.key).toSorted(), REVIEWERS);
  const ids = new Map(rows.map((row) => [row.key, row.waitId]));
  assert.equal(new Set(ids.values()).size, 3);

  await runner.answer("r", ids.get("bob")!, true);
  const second = interrupted(await lab.drive(lab.elsewhere(graph).resume("r")));
  assert.deepEqual(
    second.waits.map((w) => [w.key, w.waitId]),
    ["ann", "cy"].map((key) => [key, ids.get(key)]),
  );
  await lab.fails(runner.answer("r", Review, true), "AnswerError");
  const third = await lab.drive(
    runner.resume("r", { answers: { [ids.get("ann")!]: false, [ids.get("cy")!]: true } }),
  );
  assert.equal(third.status, "completed");
  assert.deepEqual(third.state.out.a, { ann: false, bob: true, cy: true });
});

test("opening a key again closes that one alone, and one without a key stands beside them (T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      waits: [Review],
      body: (ctx) => {
        const open = [
          ctx.waitFor(Review, { key: "ann" }),
          ctx.waitFor(Review, { key: "bob" }),
          ctx.waitFor(Review),
        ];
        return ctx.once("look", () => {}).then(() =>
          Promise.all([...open, ctx.waitFor(Review, { key: "ann" })])
        );
      },
    },
  });
  const runner = lab.engine(graph);
  await lab.drive(runner.run(INPUT, { runId: "r" }));
  const { rows } = await runner.waits();
  assert.deepEqual(rows.map((row) => row.key ?? "").toSorted(), ["", "ann", "bob"]);
});

test("waitId tells the id of a keyed wait before it is open; under another key it is another one (T6)", async () => {
  const lab = new Lab();
  const ids: string[] = [];
  const graph = lab.graph({
    a: {
      waits: [Review],
      body: (ctx) => {
        ids.push(ctx.waitId(Review, 1, "ann"), ctx.waitId(Review, 1, "bob"), ctx.waitId(Review));
        return ctx.waitFor(Review, { key: "ann" });
      },
    },
  });
  const runner = lab.engine(graph);
  await lab.drive(runner.run(INPUT, { runId: "r" }));
  assert.equal(new Set(ids).size, 3);
  assert.deepEqual((await runner.waits()).rows.map((row) => row.waitId), [ids[0]]);
});

test("an answer that the code refuses opens its own key again and leaves the others as they were (I2)", async () => {
  const lab = new Lab();
  const panel = (schema: z.ZodType<unknown>) => {
    const wait = defineWait("review", schema);
    return lab.graph({
      a: { waits: [wait], body: (ctx) => Promise.all(REVIEWERS.map((key) => ctx.waitFor(wait, { key }))) },
    });
  };
  const before = lab.engine(panel(z.unknown()));
  const paused = interrupted(await lab.drive(before.run(INPUT, { runId: "r" })));
  const idOf = (key: string, waits = paused.waits) => waits.find((w) => w.key === key)!.waitId;
  await before.answer("r", idOf("ann"), 1);
  await before.answer("r", idOf("bob"), "text");
  const after = lab.engine(panel(z.number()));
  const again = interrupted(await lab.drive(after.resume("r")));
  assert.deepEqual(again.waits.map((w) => w.key).toSorted(), ["bob", "cy"]);
  assert.notEqual(idOf("bob", again.waits), idOf("bob"));
  assert.equal(idOf("cy", again.waits), idOf("cy"));
  const done = await lab.drive(after.resume("r", { payload: 2, all: true }));
  assert.deepEqual([done.status, done.state.out.a], ["completed", [1, 2, 2]]);
});

test("a fork keeps the answers of keyed waits and asks for the others anew (H2)", async () => {
  const lab = new Lab();
  const runner = lab.engine(lab.graph({ a: PANEL }));
  const paused = interrupted(await lab.drive(runner.run(INPUT, { runId: "r" })));
  await runner.answer("r", paused.waits[1]!.waitId, true);
  const { run } = await lab.drive(runner.resume("r"));
  const fork = await runner.fork("r", run.revision, { runId: "f" });
  const [handle] = await runner.recover();
  assert.equal(handle?.runId, fork.runId);
  const forked = interrupted(await lab.drive(handle!.result()));
  assert.deepEqual(forked.waits.map((w) => w.key), ["ann", "cy"]);
});

test("a key that is no id fails the body by name (T2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { waits: [Review], body: (ctx) => ctx.waitFor(Review, { key: "a/b" }) } });
  const result = interrupted(await lab.drive(lab.engine(graph).run(INPUT)));
  assert.match(result.failures[0]!.failure.message, /the key of wait review.*"a\/b"/);
});
