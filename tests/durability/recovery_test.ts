// Runs on deno by default: the stops find faults of the engine, which no runtime decides.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { GraphBuilder } from "../../mod.ts";
import { MAX_DELTAS } from "../../src/checkpoint/log.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { crashTest, VirtualClock } from "../../src/testing/mod.ts";
import { effort } from "../support/effort.ts";
import { everything, scenario } from "./everything.ts";
import { startProcess } from "./processes.ts";

const State = z.object({ poison: z.boolean().default(false), sum: z.number().default(0) });

test("a run that kills its process ends halted after max_recoveries; its neighbours and its history are unharmed, and it goes on when mended (O2, E8)", async () => {
  const clock = new VirtualClock();
  const store = memoryStore();
  const MAX = 4;
  let mended = false;
  let kill = () => {};
  const bodies: string[] = [];
  const graph = new GraphBuilder({ id: "poison", schema: State })
    .addVertex({
      id: "a",
      task: { execute: (poison: boolean, ctx: TaskContext) => (bodies.push(`${ctx.runId} a`), poison) },
      select: (s) => s.poison,
      reduce: () => {},
    })
    .addVertex({
      id: "b",
      task: {
        execute: async (poison: boolean, ctx: TaskContext) => {
          bodies.push(`${ctx.runId} b`);
          if (!poison || mended) return;
          kill();
          await new Promise(() => {});
        },
      },
      select: (s) => s.poison,
      reduce: (s) => {
        s.sum = 1;
      },
    })
    .addEdge("a", "b")
    .build({ entry: "a", finish: "b" });

  const first = startProcess(graph, { store, clock }, { maxRecoveries: MAX });
  kill = first.kill;
  const poison = await first.drive(first.runner.start({ poison: true }, { runId: "poison" }));
  await first.drive(poison!.result());
  assert.equal(first.alive, false);
  // Begun by another process and left in the middle.
  const second = startProcess(graph, { store, clock });
  const innocent = await second.drive(second.runner.start({}, { runId: "innocent" }));
  second.kill();
  assert.equal(innocent?.runId, "innocent");

  const due: number[] = [];
  for (let round = 0; round < 12; round++) {
    await clock.advance("16s");
    const process = startProcess(graph, { store, clock }, { maxRecoveries: MAX });
    kill = process.kill;
    const handles = await process.drive(process.runner.recover());
    await process.drive(Promise.all((handles ?? []).map((h) => h.result())));
    const [wake] = await store.wakes(Number.MAX_SAFE_INTEGER, 10);
    if (wake !== undefined) {
      due.push(wake.due - clock.now());
      await clock.advanceTo(wake.due);
    }
    process.kill();
  }

  const last = startProcess(graph, { store, clock }, { maxRecoveries: MAX });
  const { runner } = last;
  assert.equal((await runner.status("innocent")).status, "completed");
  const halted = await runner.get("poison");
  assert.ok(halted.status === "interrupted" && halted.reason === "halted");
  assert.equal(halted.halt?.kind, "max_recoveries");
  assert.deepEqual((await runner.list({ reason: "halted" })).rows.map((r) => r.runId), ["poison"]);
  assert.deepEqual(bodies.filter((b) => b === "poison a").length, 1);
  assert.deepEqual(bodies.filter((b) => b === "poison b").length, 1 + MAX);
  const { rows: history } = await runner.history("poison");
  assert.deepEqual(history.map((h) => h.revision), history.map((_, i) => i));
  assert.equal(due.length, MAX - 1, "each recovery after the first waits");
  for (const [i, ms] of due.entries()) {
    assert.ok(ms >= 500 * 2 ** i && ms <= 1_000 * 2 ** i, `delay ${i} is ${ms}`);
  }

  mended = true;
  const result = await last.drive(runner.resume("poison"));
  assert.equal(result?.status, "completed");
  assert.equal(result?.state.sum, 1);
  assert.equal(bodies.filter((b) => b === "poison a").length, 1);
});

test(`a step of more than ${MAX_DELTAS} records is recovered, and nothing that it recorded runs again (C2)`, async () => {
  const clock = new VirtualClock();
  const store = memoryStore();
  const COUNT = MAX_DELTAS + 60;
  const STOP = MAX_DELTAS + 20;
  const ran = new Map<string, number>();
  let onRecord = (_: number) => {};
  const graph = new GraphBuilder({ id: "long", schema: State })
    .addVertex({
      id: "many",
      task: {
        execute: async (_: null, ctx: TaskContext) => {
          let sum = 0;
          for (let i = 0; i < COUNT; i++) {
            sum += await ctx.once(`n${i}`, ({ idempotencyKey }) => {
              ran.set(idempotencyKey, (ran.get(idempotencyKey) ?? 0) + 1);
              return i;
            });
            onRecord(i);
          }
          return sum;
        },
      },
      select: () => null,
      reduce: (s, sum) => {
        s.sum = sum;
      },
    })
    .build({ entry: "many", finish: "many" });
  const first = startProcess(graph, { store, clock });
  onRecord = (i) => i === STOP && first.kill();
  await first.drive(first.runner.run({}, { runId: "r" }));
  assert.equal(first.alive, false);
  onRecord = () => {};
  await clock.advance("16s");
  const second = startProcess(graph, { store, clock });
  const tail = await store.tail("r");
  assert.ok(tail!.position.revision > MAX_DELTAS && tail!.records.length <= MAX_DELTAS + 1);
  const [handle] = (await second.drive(second.runner.recover()))!;
  const result = await second.drive(handle!.result());
  assert.equal(result?.status, "completed");
  assert.equal(result?.state.sum, COUNT * (COUNT - 1) / 2);
  assert.equal(ran.size, COUNT);
  const again = [...ran].filter(([, times]) => times > 1).map(([key]) => key);
  assert.ok(again.length <= 1 && again.every((key) => key.endsWith(`/once=n${STOP + 1}`)), again.join());
});

test("with a checkpoint every step a stop at any write comes to the same outcome (E4)", async () => {
  const report = await crashTest(everything, {
    ...scenario,
    options: { checkpointEvery: "step" },
    secondCrashes: effort(1, 10),
  });
  assert.ok(report.crashes.length > 2 * report.writes);
});
