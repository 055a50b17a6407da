import { compile, type CompiledGraph, type StartOptions } from "superstep";
import { z } from "zod";
import { type Bench, expectStatus, timed } from "../bench.ts";
import { askAllGraph, items, loopGraph, mapGraph, PADDING, stepsGraph, turns } from "../graphs.ts";
import { median } from "../lines.ts";
import { textOf } from "./state.ts";
import type { Workload } from "./mod.ts";

const MB = 1024 * 1024;

const counted = { count: z.number(), last: z.number() };
const Texts = z.object({ ...counted, texts: z.array(z.string()) });
const Table = z.object({ ...counted, table: z.record(z.string(), z.string()) });

/** N5: what a step costs in a long run to what it costs at its beginning. */
export const growth: Workload = {
  id: "N5",
  name: "growth",
  modes: ["warm"],
  prepare(bench) {
    const grow = bench.size(1_000, 50);
    const long = bench.size(10_000, 100);
    return async () => {
      const growing = (body: () => void) =>
        stepsGraph({ schema: Texts, body, reduce: (s, count) => void s.texts.push(textOf(1024, count)) });
      const name = `array that grows by 1 KB a step, ${grow} steps`;
      const bytes = await curve(bench, name, growing, { ...turns(grow), texts: [] }, 1.5);
      const target = { of: "value", max: 8 } as const;
      bench.report({ id: "N5", name: `${name}, on disk`, unit: "MB", value: bytes / MB, target });
      const flat = (body: () => void) => loopGraph(PADDING, body);
      await curve(bench, `chain of ${long}`, flat, turns(long));
    };
  },
};

/** The time of a step at the end of a run to that at its beginning, after the first 10. */
async function curve(
  bench: Bench,
  name: string,
  graphOf: (body: () => void) => CompiledGraph<unknown>,
  input: ReturnType<typeof turns> & { readonly texts?: readonly string[] },
  max?: number,
): Promise<number> {
  const bodies: number[] = [];
  const graph = graphOf(() => void bodies.push(performance.now()));
  const { bytes } = await bench.inFile(async ({ store }) => {
    const runner = compile(graph, { store });
    expectStatus(await runner.run(input, { maxSteps: input.last + 10 }), "completed");
  });
  const steps = bodies.slice(1).map((at, i) => at - bodies[i]!);
  const width = bench.size(100, 10);
  bench.report({
    id: "N5",
    name: `${name}, a step at the end to that at 10`,
    unit: "ms",
    value: median(steps.slice(-width)),
    bound: median(steps.slice(10, 10 + width)),
    ...(max === undefined ? {} : { target: { of: "ratio", max } }),
    bytes: bytes / steps.length,
  });
  return bytes;
}

/** N5: what long runs of several shapes leave on disk, to the information in them. */
export const information: Workload = {
  id: "N5",
  name: "information",
  modes: ["once"],
  prepare(bench) {
    const steps = bench.size(10_000, 100);
    const one = async (
      name: string,
      graph: CompiledGraph<unknown>,
      input: unknown,
      info: number,
      options: StartOptions = {},
    ) => {
      const { result: ms, bytes } = await bench.inFile(async ({ store }) => {
        const runner = compile(graph, { store });
        return await timed(async () =>
          expectStatus(await runner.run(input, { maxSteps: steps + 10, ...options }), "completed")
        );
      });
      report(bench, name, bytes, info, ms);
    };
    return async () => {
      await one(`${steps} steps of 1 KB`, loopGraph(PADDING), turns(steps), steps * 1024);

      const entries = bench.size(5_000, 50);
      const texts = Array.from({ length: entries }, (_, i) => textOf(200, i));
      const changing = stepsGraph({
        schema: Texts,
        reduce: (s, count) => void (s.texts[count * 7 % entries] = textOf(200, count)),
      });
      const array = { ...turns(steps), texts };
      await one(
        `${steps} times one of ${entries} entries of 200 B`,
        changing,
        array,
        200 * (entries + steps),
      );

      const keyed = stepsGraph({
        schema: Table,
        reduce: (s, count) => void (s.table[`key-${count * 7 % entries}`] = textOf(200, count)),
      });
      const table = Object.fromEntries(texts.map((text, i) => [`key-${i}`, text]));
      const record = { ...turns(steps), table };
      await one(
        `${steps} times one of ${entries} keys of 200 B`,
        keyed,
        record,
        200 * (entries + steps),
      );

      const outputs = mapGraph("map", (item) => textOf(2_000, item));
      const name = `map over ${entries} items of 2 KB, one by one`;
      await one(name, outputs, items(entries), 2_000 * entries, { concurrency: 1 });
      await answered(bench);
    };
  },
};

/** Open waits that are answered one after another, each by a resume of its own. */
async function answered(bench: Bench): Promise<void> {
  const count = bench.size(800, 5);
  const graph = askAllGraph();
  const { result: ms, bytes } = await bench.inFile(async ({ store }) => {
    const runner = compile(graph, { store });
    const result = await runner.run(items(count));
    if (result.status !== "interrupted") throw new Error(`the run is ${result.status}`);
    const { runId } = result.run;
    return await timed(async () => {
      let status = "";
      for (const [i, { waitId }] of result.waits.entries()) {
        await runner.answer(runId, waitId, textOf(1_000, i));
        ({ status } = await runner.resume(runId));
      }
      expectStatus({ status }, "completed");
    });
  });
  // Each answer is written as the result of its wait, and as what its body returns.
  report(bench, `${count} waits answered one by one with 1 KB`, bytes, 2_000 * count, ms);
}

function report(bench: Bench, name: string, bytes: number, information: number, ms: number): void {
  bench.report({
    id: "N5",
    name: `${name}, on disk to what was written`,
    unit: "MB",
    value: bytes / MB,
    bound: information / MB,
    target: { of: "ratio", max: 5 },
  });
  bench.report({ id: "N5", name: `${name}, the run`, unit: "ms", value: ms });
}
