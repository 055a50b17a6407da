import assert from "node:assert/strict";
import { compile, type RunResult } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { build } from "./build.ts";
import { Chance } from "./chance.ts";
import { predict, type PredictedResult } from "./model.ts";
import { emptyTally, planOf, type Tally } from "./plans.ts";
import { SILENT } from "./world.ts";

/** Runs a random workflow in an engine that nothing disturbs, and compares all it does with the model. */
export async function compare(
  seed: number,
  concurrency: number,
  checkpointEvery: "step" | "vertex",
): Promise<void> {
  const plan = planOf(seed);
  const expected = predict(plan);
  const clock = new VirtualClock({ seed });
  const chance = new Chance("pace", seed, concurrency, checkpointEvery);
  const bodies: string[] = [];
  let mends = 0;
  let running = 0;
  const graph = build(plan, {
    mends: () => mends,
    begun: (ctx) => {
      bodies.push([ctx.step, ctx.vertexId, ctx.item ?? "", mends, ctx.attempt].join("/"));
      running += 1;
      assert.ok(running <= concurrency, `seed ${seed}: ${running} bodies at once`);
      return pace(clock, chance);
    },
    ended: () => void (running -= 1),
  });
  const runner = compile(graph, { store: memoryStore(), runtime: clock, logger: SILENT });
  const options = { concurrency, checkpointEvery, maxSteps: plan.maxSteps };
  const runId = `run-${seed}`;
  let work = runner.run(emptyTally(), { ...options, runId });
  for (const [i, wanted] of expected.results.entries()) {
    const result = await clock.drive(work);
    assert.deepEqual(told(result), wanted, `seed ${seed}, call ${i}`);
    if (i === expected.results.length - 1) break;
    mends += 1;
    work = runner.resume(runId, {
      ...options,
      maxSteps: result.run.maxSteps + (wanted.halt?.startsWith("max_steps") ? plan.maxSteps : 0),
    });
  }
  assert.deepEqual(bodies.sort(), expected.bodies, `seed ${seed}: bodies`);
  const { rows: history } = await runner.history(runId, { limit: 10_000 });
  const routes = history.filter((h) => h.events.some((e) => e.type === "routed"))
    .map((h) => h.routes.map(({ from, to, kind }) => `${from} -${kind}-> ${to}`));
  assert.deepEqual(routes, expected.routes, `seed ${seed}: routes`);
  assert.equal(clock.next, undefined, `seed ${seed}: a timer is left`);
}

/** A body takes no time, a turn, or some time. */
export function pace(
  clock: Pick<VirtualClock, "macrotask" | "sleep">,
  chance: Chance,
): Promise<void> | undefined {
  switch (chance.below(3)) {
    case 0:
      return undefined;
    case 1:
      return new Promise((resolve) => clock.macrotask(resolve));
    default:
      return clock.sleep(chance.below(200));
  }
}

/** What a result says, as the model would put it. */
export function told(result: RunResult<Tally>): PredictedResult {
  const { status, state, path, run } = result;
  if (status === "cancelled") throw new Error("cancelled");
  const base = { status, state, path: [...path], step: run.step, failures: [] };
  if (status === "completed") return base;
  const { kind, step, vertexId, target } = result.halt ?? {};
  return {
    ...base,
    reason: result.reason as "halted",
    failures: result.failures.map(({ vertexId, item, failure }) =>
      `${vertexId}/${item ?? ""}: ${failure.name} ${failure.attempt} ${failure.phase}`
    ),
    ...(kind === undefined
      ? {}
      : { halt: [kind, step, vertexId, target].filter((x) => x !== undefined).join(" ") }),
  };
}
