// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineWait, type TaskContext } from "../../mod.ts";
import { z } from "zod";
import { CheckpointLog } from "../../src/checkpoint/log.ts";
import { idempotencyKey, runIdOf } from "../../src/engine/ids.ts";
import { executionKey } from "../../src/model/checkpoint.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { Chance, seedsOf } from "../fuzz/chance.ts";
import { stored } from "../operations/story.ts";
import { INPUT, Lab, revisionOf, type Spec } from "../waits/lab.ts";
import { house, nested } from "./nesting.ts";
import { effort } from "../support/effort.ts";

const Ok = defineWait("ok", z.string());

/** How many forks of each run are worked on to their end. */
const FINISHED = 3;

/** When an append of a run was begun and acknowledged, counted in appends of all runs. */
interface Written {
  readonly begun: number;
  over: number;
}

/** A store that notes the order of what is written. */
function noting(chance: Chance) {
  const written = new Map<string, Written[]>();
  let now = 0;
  const store = aroundStore(memoryStore(), async (call) => {
    if (call.op !== "append") return await call.apply();
    const [runId, revision] = call.args as [string, number];
    const one: Written = { begun: now++, over: Infinity };
    for (let ticks = chance.below(30); ticks > 0; ticks--) await undefined;
    const answer = await call.apply();
    for (let ticks = chance.below(30); ticks > 0; ticks--) await undefined;
    one.over = now++;
    const of = written.get(runId) ?? [];
    of[revision] = one;
    written.set(runId, of);
    return answer;
  });
  return { store, written };
}

/** Workflows on three levels, made by chance: chains and fans of work, questions, naps and further levels. */
function grown(lab: Lab, chance: Chance) {
  const home = house(lab);
  let stamps = 0;
  const bodies: readonly (() => Spec)[] = [
    () => ({ body: () => `s${++stamps}` }),
    () => {
      const ms = chance.below(50);
      return { body: async (ctx) => (await lab.clock.sleep(ms), await ctx.once("o", () => `s${++stamps}`)) };
    },
    () => ({ waits: [Ok], body: (ctx) => ctx.waitFor(Ok) }),
    () => ({
      waits: [Ok],
      body: async (ctx: TaskContext) => [await ctx.waitFor(Ok), await ctx.waitFor(Ok, { key: "k" })],
    }),
    () => ({ body: (ctx) => ctx.sleep("nap", chance.pick(["5s", "2h"])) }),
  ];
  const level = (depth: number, id: string) => {
    const below = depth === 0 ? [] : Array.from({ length: 2 }, (_, i) => level(depth - 1, `${id}-${i}`));
    const count = 2 + chance.below(2);
    const vertices: Record<string, Spec> = {};
    const ids = Array.from({ length: count }, (_, i) => `${id}.v${i}`);
    ids.forEach((vertexId, i) => {
      const to = i === 0 && count > 2
        ? [ids[1]!, ids[2]!]
        : i + 1 < count && i > 1
        ? ids[i + 1]!
        : i + 1 < count
        ? ids[i + 1]!
        : [];
      const each = chance.below(3) === 0 ? { each: () => [INPUT, { out: {}, log: ["x"] }] } : {};
      const calls = below.length > 0 && i > 0 && chance.below(3) > 0;
      vertices[vertexId] = calls
        ? { ...nested(() => home, chance.pick(below), each), to }
        : { ...chance.pick(bodies)(), ...each, to };
    });
    return lab.graph(vertices, { id });
  };
  return { runner: home.runner(level(2, "top")) };
}

for (const seed of seedsOf(effort(1, 10))) {
  test(`forks at every revision of workflows by chance go on where every run below was at that moment (seed ${seed}) (FC-25)`, async () => {
    const chance = new Chance(seed);
    const { store, written } = noting(chance);
    const lab = new Lab(store);
    const { runner } = grown(lab, chance);
    const log = new CheckpointLog(store, lab.clock);
    const through = async (runId: string) => {
      for (let round = 0; round < 200; round++) {
        const result = await lab.drive(runner.resume(runId));
        if (result.status !== "interrupted") return result;
        assert.notEqual(result.reason, "errored", JSON.stringify(result.failures));
        assert.notEqual(result.reason, "halted");
        const { rows } = await runner.waits({ runId, limit: 100 });
        for (const { waitId } of rows) {
          if (chance.below(2) === 0) await runner.answer(runId, waitId, "yes");
        }
        if (result.reason === "sleeping") await lab.clock.advance("1h");
      }
      throw new Error(`run ${runId} comes to no end`);
    };
    const first = await lab.drive(runner.run(INPUT, { runId: "p" }));
    if (first.status === "interrupted") await through("p");
    const end = await revisionOf(runner, "p");
    const { rows: sources } = await store.list({ limit: 1000 });
    const before = await Promise.all(sources.map((row) => stored(store, row.runId)));
    for (let at = 0; at < end; at++) {
      const { runId } = await runner.fork("p", at, { runId: `f${at}` });
      const moment = written.get("p")![at]!;
      const forks = new Map([["p", runId]]);
      const pending = [runId];
      while (pending.length > 0) {
        for (const row of (await store.list({ tag: `called-by:${pending.pop()}`, limit: 1000 })).rows) {
          pending.push(row.runId);
          const { parent } = await runner.status(row.runId);
          forks.set(parent!.runId, row.runId);
          const history = written.get(parent!.runId)!;
          assert.ok(history[parent!.revision]!.begun < moment.over, "it comes from later");
          const next = history[parent!.revision + 1];
          assert.ok(next === undefined || next.over > moment.begun, "it could have come from later");
        }
      }
      for (const { runId: source, graphId } of sources) {
        const { caller } = await runner.status(source);
        const [first] = written.get(source)!;
        if (caller === undefined || first!.over > moment.begun) continue;
        const callerFork = forks.get(caller.runId);
        const of = callerFork === undefined ? undefined : (await log.load(callerFork))?.checkpoint;
        const key = idempotencyKey(
          caller.graphId,
          caller.runId,
          of?.nextStep ?? -1,
          caller.vertexId,
          caller.item,
        );
        const isOfStep = of !== undefined && source === runIdOf(graphId, key);
        const status = of?.executions.get(executionKey(caller.vertexId, caller.item))?.status;
        const isUnderWay = isOfStep && status !== "done" && status !== "failed";
        assert.equal(forks.has(source), isUnderWay, `${source} of ${caller.runId} at revision ${at}`);
      }
      const isSmall = sources.length < 25;
      if (isSmall && chance.below(end) < FINISHED) assert.equal((await through(runId)).status, "completed");
    }
    assert.deepEqual(await Promise.all(sources.map((row) => stored(store, row.runId))), before);
  });
}
