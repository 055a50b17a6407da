// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript.
/** What a body holds that is suspended when its run is released is not held by the engine (T8). */
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { gate, INPUT, interrupted, Lab } from "./lab.ts";

const Ok = defineWait("ok", z.string());

/** Collects garbage now. */
const collect: () => void = "bun" in process.versions
  ? () => (globalThis as unknown as { Bun: { gc(now: boolean): void } }).Bun.gc(true)
  : (setFlagsFromString("--expose-gc"), runInNewContext("gc") as () => void);

/** How many of these are left once garbage was collected. */
async function left(refs: readonly WeakRef<object>[], tries = 8): Promise<number> {
  let alive = refs.length;
  for (let i = 0; i < tries && alive > 0; i++) {
    await new Promise<void>((resolve) => setTimeout(resolve, 1));
    collect();
    alive = refs.filter((ref) => ref.deref() !== undefined).length;
  }
  return alive;
}

test("what suspended bodies hold is let go with their released runs, by cancelled and answered ones too (T8, T9)", async () => {
  const lab = new Lab();
  const contexts: WeakRef<object>[] = [];
  const held: WeakRef<object>[] = [];
  const graph = lab.graph({
    a: {
      waits: [Ok],
      body: async (ctx) => {
        const large = new Uint8Array(100_000);
        contexts.push(new WeakRef(ctx));
        held.push(new WeakRef(large));
        await ctx.once("begun", () => 1);
        const answer = await ctx.waitFor(Ok);
        return [answer, large.length];
      },
    },
  });
  const runner = lab.engine(graph);
  for (let i = 0; i < 10; i++) interrupted(await lab.drive(runner.run(INPUT, { runId: `r${i}` })));
  assert.deepEqual([await left(held), await left(contexts)], [0, 0]);
  await lab.drive(runner.resume("r0", { payload: "yes" }));
  await lab.drive(runner.cancel("r1"));
  assert.equal((await lab.drive(runner.resume("r2", { payload: "yes" }))).status, "completed");
});

/** Bun looks for references in the stack too, and may take what is left there of an old one for one. */
const STRAY = "bun" in process.versions ? 2 : 0;

// Bun collects what an asynchronous hook has held at no foreseeable time.
const HOOKS = [{}, { around: async (_: unknown, body: () => unknown) => void await body() }];

for (const hooks of "bun" in process.versions ? HOOKS.slice(0, 1) : HOOKS) {
  const seen = "around" in hooks ? ", which a hook surrounds," : "";
  test(`a suspended body${seen} that something else will bring back is kept by that alone, and keeps neither the state nor what worked on its run (T8, T9)`, async () => {
    const lab = new Lab();
    const contexts: WeakRef<object>[] = [];
    const states: WeakRef<object>[] = [];
    let back: ReturnType<typeof gate> | undefined = gate();
    const graph = lab.graph({
      a: {
        waits: [Ok],
        select: (s) => (states.push(new WeakRef(s)), null),
        body: async (ctx) => {
          contexts.push(new WeakRef(ctx));
          await Promise.race([ctx.waitFor(Ok), back!.promise]);
          ctx.emit("back");
        },
      },
    });
    const runner = lab.engine(graph, { hooks });
    const runs = 10;
    for (let i = 0; i < runs; i++) interrupted(await lab.drive(runner.run(INPUT, { runId: `r${i}` })));
    const [keptStates, keptContexts] = [await left(states), await left(contexts, 1)];
    assert.deepEqual([keptStates <= STRAY, keptContexts], [true, runs], `${keptStates} states are kept`);
    back = undefined; // Nobody can bring them back any more.
    assert.ok(await left(contexts) <= STRAY);
    assert.equal((await lab.drive(runner.cancel("r0"))).status, "cancelled");
  });
}
