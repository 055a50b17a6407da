/** The runs of a soak: a little of everything, told apart by their kind. */
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { compile, defineWait, GraphBuilder, type Runner, type Store, type TaskContext } from "../../mod.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";

export const Go = defineWait("go", z.object({ by: z.string() }));

/** What a run does. `patient` waits for an answer that nobody gives; `doomed` is to be cancelled while it waits. */
export const KINDS = ["fan", "map", "retry", "answered", "asleep", "doomed", "patient"] as const;
export type Kind = (typeof KINDS)[number];

const State = z.object({
  kind: z.enum(KINDS),
  /** How long an `asleep` run sleeps, in milliseconds. */
  nap: z.number().default(0),
  log: z.array(z.string()).default([]),
});

export type SoakRunner = Runner<z.infer<typeof State>, z.input<typeof State>>;

/** One effect, as it is in the ledger: what happened in fact, whoever remembers it. */
export interface Effect {
  readonly process: number;
  readonly key: string;
  /** Run, vertex and item: the one thing in the world that the effect is about. */
  readonly about: string;
}

/** The effects in a ledger; the newest line may have been cut off by a kill. */
export function effectsIn(path: string): readonly Effect[] {
  return readFileSync(path, "utf8").split("\n").slice(0, -1).flatMap((line) => {
    try {
      return [JSON.parse(line) as Effect];
    } catch {
      return [];
    }
  });
}

/** What every run that completes has done, by its kind. */
const VERTICES: Readonly<Record<Kind, readonly string[]>> = {
  fan: ["a", "b", "c", "join"],
  map: [...Array(6).keys()].map((i) => `items/${i}`).concat(
    [...Array(6).keys()].map((i) => `items/${i}/mark`),
  ),
  retry: ["flaky"],
  answered: ["ask"],
  asleep: ["nap"],
  doomed: ["ask"],
  patient: ["ask"],
};

/** The effects of a completed run. */
export function effectsOf(runId: string, kind: Kind): readonly string[] {
  return ["begin", ...VERTICES[kind], "end"].map((what) => `${runId}/${what}`);
}

/** A runner of the workflow; `write` puts effects where they last. */
export function soakRunner(store: Store, runtime: Runtime, ledger: string, process: number): SoakRunner {
  const effect = (ctx: TaskContext, key: string, more = "") => {
    const item = ctx.item === undefined ? "" : `/${ctx.item}`;
    const line: Effect = { process, key, about: `${ctx.runId}/${ctx.vertexId}${item}${more}` };
    appendFileSync(ledger, `${JSON.stringify(line)}\n`);
  };
  const working = <I, O>(work: (input: I, ctx: TaskContext) => Promise<O>) => ({
    execute: async (input: I, ctx: TaskContext): Promise<O> => {
      // Mostly short, sometimes long enough for a kill to come in between.
      await pause(2 + 250 * Math.random() ** 3);
      const output = await work(input, ctx);
      effect(ctx, ctx.idempotencyKey);
      return output;
    },
  });
  const noting = working((_: null, ctx) => Promise.resolve(ctx.vertexId));
  const note = {
    select: () => null,
    reduce: (s: z.infer<typeof State>, said: string) => void s.log.push(said),
  };
  const ways: Readonly<Record<Kind, readonly string[]>> = {
    fan: ["a", "b", "c"],
    map: ["items"],
    retry: ["flaky"],
    answered: ["ask"],
    asleep: ["nap"],
    doomed: ["ask"],
    patient: ["ask"],
  };
  const graph = new GraphBuilder({ id: "soak", schema: State })
    .addVertex({ id: "begin", task: noting, ...note })
    .addVertex({ id: "a", task: noting, ...note })
    .addVertex({ id: "b", task: noting, ...note })
    .addVertex({ id: "c", task: noting, ...note })
    .addVertex({ id: "join", join: "all", task: noting, ...note })
    .addVertex({
      id: "items",
      task: working((item: number, ctx) =>
        ctx.once("mark", ({ idempotencyKey }) => {
          effect(ctx, idempotencyKey, "/mark");
          return 2 * item;
        })
      ),
      each: () => [0, 1, 2, 3, 4, 5],
      reduce: (s, marks) => void s.log.push(marks.join()),
    })
    .addVertex({
      id: "flaky",
      retry: { maxAttempts: 4, backoff: { initial: "300ms", factor: 3 } },
      task: working((_: null, ctx) => {
        if (ctx.attempt < 3) throw new Error(`attempt ${ctx.attempt} fails`);
        return Promise.resolve(ctx.vertexId);
      }),
      ...note,
    })
    .addVertex({
      id: "ask",
      waits: [Go],
      task: working(async (_: null, ctx) => (await ctx.waitFor(Go)).by),
      ...note,
    })
    .addVertex({
      id: "nap",
      task: working(async (ms: number, ctx) => {
        await ctx.sleep("nap", ms);
        return ctx.vertexId;
      }),
      ...note,
      select: (s) => s.nap,
    })
    .addVertex({ id: "end", task: noting, ...note })
    .addConditionalEdge("begin", {
      targets: ["a", "b", "c", "items", "flaky", "ask", "nap"],
      pick: (s) => ways[s.kind] as ("a" | "items" | "flaky" | "ask" | "nap")[],
    })
    .addEdge("a", "join").addEdge("b", "join").addEdge("c", "join")
    .addEdge("join", "end").addEdge("items", "end").addEdge("flaky", "end").addEdge("ask", "end")
    .addEdge("nap", "end")
    .build({ entry: "begin", finish: "end" });
  const quiet = { info: () => {}, warn: () => {} };
  return compile(graph, { store, runtime, logger: quiet });
}

/** The kind of a run is in its id. */
export function kindOf(runId: string): Kind {
  return runId.split("-")[0] as Kind;
}
