// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { interrupted, Lab, revisionOf, type State } from "../waits/lab.ts";
import { finish, Ok } from "./story.ts";

test("items of which nothing is recorded change, go and come; the waits of the others keep their ids (H2, D5)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    m: {
      each: (s) => s.log,
      waits: [Ok],
      body: async (ctx, item) => {
        if (item === "bad") throw new Error("bad item");
        return `${item} ${await ctx.waitFor(Ok)}`;
      },
      reduce: (s, out) => void (s.out.m = out),
    },
  });
  const runner = lab.engine(graph);
  const input = { out: {}, log: ["one", "bad", "two", "bad"] };
  const paused = interrupted(await lab.drive(runner.run(input, { runId: "r" })));
  const ids = paused.waits.map((w) => w.waitId);
  const view = await runner.update("r", (s) => void (s.log = ["one", "three", "two"]));
  assert.deepEqual([view.status, view.run.reason], ["running", undefined]);
  // It is due at once.
  const [handle] = await lab.drive(lab.elsewhere(graph).recover());
  assert.equal(interrupted(await lab.drive(handle!.result())).reason, "errored");
  await finish(lab, runner, "r");
  const open = (await runner.waits()).rows.map((w) => w.waitId);
  assert.deepEqual([open.length, ids.every((id) => open.includes(id))], [3, true]);
  for (const id of open) await runner.answer("r", id, "yes");
  const done = await finish(lab, runner, "r");
  assert.deepEqual([done.status, done.state.out.m], ["completed", ["one yes", "three yes", "two yes"]]);
});

test("an item of which a wait, an answer or a once is recorded stays what it is in an update and in a fork (FT-D4, H2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    m: {
      each: (s) => s.log,
      waits: [Ok],
      body: async (ctx, item) => {
        if (item === "mails") {
          await ctx.once("mail", () => "sent");
          throw new Error("after the mail");
        }
        if (item === "fails") throw new Error("no more than an attempt");
        if (item === "asks twice") return [await ctx.waitFor(Ok), await ctx.waitFor(Ok)];
        return `${item}: ${await ctx.waitFor(Ok)}`;
      },
    },
  });
  const runner = lab.engine(graph);
  const log = ["asks", "mails", "fails", "asks twice"];
  const paused = interrupted(await lab.drive(runner.run({ out: {}, log }, { runId: "r" })));
  const twice = paused.waits.find((w) => w.item === 3)!;
  await runner.answer("r", twice.waitId, "YES");
  await lab.drive(runner.recover().then((handles) => Promise.all(handles.map((h) => h.result()))));
  const { revision } = await runner.status("r");
  const put = (item: number, text: string) => (s: State) => void (s.log[item] = text);
  const cases: readonly (readonly [(s: State) => void, number | undefined, boolean])[] = [
    // An open wait is not kept by a fork, which asks anew.
    [put(0, "mallory"), 0, false],
    [put(1, "mallory"), 1, true],
    [put(2, "mallory"), undefined, true],
    [put(3, "mallory"), 3, true],
    [(s) => void s.log.pop(), 3, true],
    [(s) => void s.log.unshift("mallory"), 0, true],
    [(s) => void s.log.push("new"), undefined, true],
  ];
  for (const [i, [edit, item, alsoFork]] of cases.entries()) {
    const fork = () => runner.fork("r", revision, { state: edit, runId: `fork-${i}` });
    const update = () => runner.update("r", edit);
    if (item === undefined) {
      await fork();
      continue;
    }
    const error = await lab.fails(update(), "ArgumentError");
    assert.match(error.message, new RegExp(`map vertex m .* item ${item}, `));
    if (alsoFork) await lab.fails(fork(), "ArgumentError");
    else await fork();
    assert.equal(await revisionOf(runner, "r"), revision);
  }
  await runner.update("r", (s) => void (s.log[2] = "asks", s.log.push("new")));
  assert.deepEqual((await runner.get("r")).state.log, ["asks", "mails", "asks", "asks twice", "new"]);
});

test("an answer that is accepted and not taken in yet keeps its item in a fork (FT-D4)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ m: { each: (s) => s.log, waits: [Ok], body: (ctx) => ctx.waitFor(Ok) } });
  const runner = lab.engine(graph);
  const input = { out: {}, log: ["alice", "bob"] };
  const paused = interrupted(await lab.drive(runner.run(input, { runId: "r" })));
  await runner.answer("r", paused.waits[0]!.waitId, "YES");
  const fork = (item: number) =>
    runner.fork("r", paused.run.revision, { state: (s) => void (s.log[item] = "mallory") });
  assert.match((await lab.fails(fork(0), "ArgumentError")).message, /item 0/);
  await fork(1);
});
