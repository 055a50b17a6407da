// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { FatalError, GraphBuilder } from "../../mod.ts";
import { defaultCodec } from "../../src/checkpoint/codec.ts";
import { decodeRecord } from "../../src/checkpoint/wire.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { AppendEntry, Store } from "../../src/store/store.ts";
import type { AroundStore, StoreCall } from "../../src/testing/around_store.ts";
import { VirtualClock } from "../../src/testing/mod.ts";
import { openDenoKv, openMemory } from "../support/stores.ts";
import { startProcess, type VirtualProcess } from "./processes.ts";

const State = z.object({ log: z.array(z.string()).default([]) });
type State = z.infer<typeof State>;

/** The write of the first result of the step {b, c}, and its boundary with the second one. */
type Write = "result" | "commit";

interface Case {
  /** The write that takes 80 ms longer than the other one. */
  readonly slow: Write;
  /** The write at which the process is killed. */
  readonly at: Write;
  readonly when: "before" | "after";
}

/** The vertices whose results are in an append, and what it is to the step {b, c}. */
function look(call: StoreCall<unknown>): { readonly done: readonly string[]; readonly kind?: Write } {
  if (call.op !== "append") return { done: [] };
  const [runId, revision, entry] = call.args as [string, number, AppendEntry];
  const { events } = decodeRecord(entry.record, revision, runId, defaultCodec);
  const done = events.flatMap((e) => e.type === "done" ? [e.vertexId] : []);
  if (!done.includes("b") && !done.includes("c")) return { done };
  return { done, kind: events.some((e) => e.type === "routed") ? "commit" : "result" };
}

/** Runs a → {b, c} → d in a process that is killed as the case says, and then in another one to its end. */
async function play(store: Store, { slow, at, when }: Case) {
  const clock = new VirtualClock();
  const ledger: string[] = [];
  const stored = new Set<string>();
  const faults: string[] = [];
  const graphOf = (isAlive: () => boolean) => {
    const vertex = (id: string, takes: number) => ({
      id,
      task: {
        execute: async (_: null, ctx: TaskContext) => {
          if (stored.has(id)) faults.push(`${id} ran although its result was stored`);
          const sources = id === "d" ? ["b", "c"] : id === "a" ? [] : ["a"];
          for (const s of sources) {
            if (!stored.has(s)) faults.push(`${id} ran before the result of ${s} was stored`);
          }
          await clock.sleep(takes);
          if (isAlive()) ledger.push(ctx.idempotencyKey);
          return id;
        },
      },
      select: () => null,
      reduce: (s: { log: string[] }, out: string) => void s.log.push(out),
    });
    return new GraphBuilder({ id: "order", schema: State })
      .addVertex(vertex("a", 1))
      .addVertex(vertex("b", 10))
      .addVertex(vertex("c", 40))
      .addVertex(vertex("d", 1))
      .addEdge("a", "b")
      .addEdge("a", "c")
      .addEdge("b", "d")
      .addEdge("c", "d")
      .build({ entry: "a", finish: "d" });
  };

  let underWay = 0;
  const around: AroundStore = async (call) => {
    const { done, kind } = look(call);
    if (call.op === "append" && ++underWay > 1) faults.push("two appends of the run were under way at once");
    if (kind === slow) await clock.sleep(80);
    if (kind === at && when === "before") {
      first.kill();
      return await new Promise<never>(() => {});
    }
    const answer = await call.apply();
    for (const id of done) stored.add(id);
    if (kind === at) first.kill();
    if (call.op === "append") underWay--;
    return answer;
  };
  const first: VirtualProcess<State> = startProcess(graphOf(() => first.alive), { store, clock }, { around });
  await first.drive(first.runner.run({}, { runId: "r" }));
  assert.equal(first.alive, false);
  await clock.advance("16s");
  const kept = [...stored].sort();
  const second = startProcess(graphOf(() => true), { store, clock }, {
    around: async (call) => {
      const answer = await call.apply();
      for (const id of look(call).done) stored.add(id);
      return answer;
    },
  });
  const [handle] = (await second.drive(second.runner.recover()))!;
  const result = await second.drive(handle!.result());
  return { result: result!, ledger, faults, kept };
}

const STORED = {
  result: { before: ["a"], after: ["a", "b"] },
  commit: { before: ["a", "b"], after: ["a", "b", "c"] },
} as const;

for (const [name, open] of [["memory", openMemory], ["a Deno KV file", openDenoKv]] as const) {
  for (const slow of ["result", "commit"] as const) {
    for (const at of ["result", "commit"] as const) {
      for (const when of ["before", "after"] as const) {
        test(`with a slow ${slow} write, killed ${when} the ${at} write, only what has no stored result runs again [${name}] (FC-01)`, async () => {
          const opened = await open();
          try {
            const { result, ledger, faults, kept } = await play(opened.store, { slow, at, when });
            assert.deepEqual(faults, []);
            assert.deepEqual(kept, STORED[at][when]);
            assert.ok(result.status === "completed");
            assert.deepEqual(result.state.log, ["a", "b", "c", "d"]);
            assert.deepEqual(result.path, ["a", "b", "c", "d"]);
            assert.deepEqual(
              [...new Set(ledger)].sort(),
              ["a", "b", "c", "d"].map((v, i) => `graph=order/run=r/step=${[0, 1, 1, 2][i]}/vertex=${v}`),
            );
          } finally {
            await opened.cleanup();
          }
        });
      }
    }
  }

  test(`killed after a failure was recorded and before its handler ended, only the handler runs again [${name}] (FC-01)`, async () => {
    const opened = await open();
    try {
      const world = { store: opened.store, clock: new VirtualClock() };
      const ran: string[] = [];
      let kill: (() => void) | undefined;
      const graph = new GraphBuilder({ id: "handled", schema: State })
        .addVertex({
          id: "b",
          task: {
            execute: (_: null): string => {
              ran.push("b");
              throw new FatalError("no b today");
            },
          },
          select: () => null,
          reduce: () => {},
          onError: { route: "h", record: (s, failure) => void s.log.push(failure.message) },
        })
        .addVertex({
          id: "h",
          task: {
            execute: async (_: null) => {
              ran.push("h");
              kill?.();
              if (kill !== undefined) await new Promise(() => {});
              return "handled";
            },
          },
          select: () => null,
          reduce: (s, out) => void s.log.push(out),
        })
        .build({ entry: "b", finish: "h" });
      const first = startProcess(graph, world);
      kill = first.kill;
      await first.drive(first.runner.run({}, { runId: "r" }));
      assert.equal(first.alive, false);
      kill = undefined;
      await world.clock.advance("16s");
      const second = startProcess(graph, world);
      const [handle] = (await second.drive(second.runner.recover()))!;
      const result = await second.drive(handle!.result());
      assert.equal(result?.status, "completed");
      assert.deepEqual(result?.state.log, ["no b today", "handled"]);
      assert.deepEqual(ran, ["b", "h", "h"]);
    } finally {
      await opened.cleanup();
    }
  });
}
