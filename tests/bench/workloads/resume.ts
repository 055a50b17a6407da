import { compile, type Runner } from "superstep";
import type { Bench } from "../bench.ts";
import { loopGraph, PADDING } from "../graphs.ts";
import type { Workload } from "./mod.ts";

/** N7: the resume of a long run beside that of a short one, from the call to the first body. */
export const resume: Workload = {
  id: "N7",
  name: "resume",
  modes: ["warm"],
  async prepare(bench) {
    const { store, costs } = await bench.open();
    const body: { run?: (() => void) | undefined } = {};
    const runner = compile(loopGraph(PADDING, () => body.run?.()), { store });
    const [short, long] = [10, bench.size(10_000, 100)];
    for (const length of [short, long]) await runTo(runner, body, length);
    return async () => {
      const bound = await resumed(runner, `run-${short}`, body);
      costs(1);
      const value = await resumed(runner, `run-${long}`, body);
      const { reads } = costs(1);
      const name = `resume at ${long} revisions to that at ${short}`;
      bench.report({ id: "N7", name, unit: "ms", value, bound, target: { of: "ratio", max: 3 } });
      const target = { of: "value", max: 4 } as const;
      bench.report({
        id: "N7",
        name: `reads of a resume at ${long}`,
        unit: "reads",
        value: reads ?? 0,
        target,
      });
      await loaded(bench, runner, short, long);
    };
  },
};

interface Body {
  run?: (() => void) | undefined;
}

/** A run that is left after so many steps. */
async function runTo(runner: Runner<unknown>, body: Body, length: number): Promise<void> {
  const leave = new AbortController();
  let turns = 0;
  body.run = () => {
    if (++turns === length) leave.abort();
  };
  const input = { count: 0, last: 1_000_000, pad: "" };
  const options = { runId: `run-${length}`, maxSteps: 1_000_000, signal: leave.signal };
  await runner.run(input, options).catch(() => {});
  body.run = undefined;
}

/** From the call of resume to the first body, in milliseconds. */
async function resumed(runner: Runner<unknown>, runId: string, body: Body): Promise<number> {
  const leave = new AbortController();
  const began = performance.now();
  let ms = NaN;
  body.run = () => {
    if (Number.isNaN(ms)) ms = performance.now() - began;
    leave.abort();
  };
  await runner.resume(runId, { signal: leave.signal }).catch(() => {});
  body.run = undefined;
  return ms;
}

/** What readers of a run wait for. */
async function loaded(bench: Bench, runner: Runner<unknown>, short: number, long: number): Promise<void> {
  const readers = {
    get: (id: string) => runner.get(id),
    "history, the newest entry": async (id: string) => {
      const { revision } = await runner.status(id);
      await runner.history(id, { from: revision, limit: 1 });
    },
  };
  for (const [what, read] of Object.entries(readers)) {
    const times = [];
    for (const length of [short, long]) {
      const began = performance.now();
      await read(`run-${length}`);
      times.push(performance.now() - began);
    }
    const [bound, value] = times as [number, number];
    bench.report({
      id: "N7",
      name: `${what}, at ${long} revisions to that at ${short}`,
      unit: "ms",
      value,
      bound,
    });
  }
}
