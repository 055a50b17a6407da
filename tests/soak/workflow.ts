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

/** What the state has in every version. */
const COMMON = z.object({ kind: z.enum(KINDS), log: z.array(z.string()).default([]) });
/** How long an `asleep` run sleeps, in milliseconds. */
const nap = z.number().default(0);

/** The state by version: the second has one more field, the third another name for how long runs sleep. */
const STATES = [
  COMMON.extend({ nap }),
  COMMON.extend({ nap, moved: z.number().default(0) }),
  COMMON.extend({ napMs: nap, moved: z.number().default(0) }),
] as unknown as readonly z.ZodType<State, State>[];
type State = z.infer<typeof COMMON> & { nap?: number; napMs?: number; moved?: number };

/** The ids that vertices have by version, where they are not those of the first one. */
const NAMES: readonly Readonly<Record<string, string>>[] = [
  {},
  { ask: "review" },
  { ask: "decide", flaky: "retrying" },
];

export type SoakRunner = Runner<State, { kind: Kind; nap?: number }>;

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

/** A runner of a version of the workflow, from 1 to 3; migrations lead from each to the next. */
export function soakRunner(
  store: Store,
  runtime: Runtime,
  ledger: string,
  process: number,
  version = 1,
): SoakRunner {
  const names = NAMES[version - 1]!;
  const now = (id: string) => names[id] ?? id;
  const first = (id: string) => Object.entries(names).find(([, name]) => name === id)?.[0] ?? id;
  const effect = (ctx: TaskContext, key: string, more = "") => {
    const item = ctx.item === undefined ? "" : `/${ctx.item}`;
    const line: Effect = { process, key, about: `${ctx.runId}/${first(ctx.vertexId)}${item}${more}` };
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
    reduce: (s: State, said: string) => void s.log.push(said),
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
  const builder = new GraphBuilder<State>({ id: "soak", version, schema: STATES[version - 1]! })
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
      id: now("flaky"),
      retry: { maxAttempts: 4, backoff: { initial: "300ms", factor: 3 } },
      task: working((_: null, ctx) => {
        if (ctx.attempt < 3) throw new Error(`attempt ${ctx.attempt} fails`);
        return Promise.resolve(ctx.vertexId);
      }),
      ...note,
    })
    .addVertex({
      id: now("ask"),
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
      select: (s) => s.nap ?? s.napMs!,
    })
    .addVertex({ id: "end", task: noting, ...note })
    .addConditionalEdge("begin", {
      targets: ["a", "b", "c", "items", "flaky", "ask", "nap"].map(now),
      pick: (s) => ways[s.kind].map(now),
    })
    .addEdge("a", "join").addEdge("b", "join").addEdge("c", "join")
    .addEdge("join", "end").addEdge("items", "end").addEdge(now("flaky"), "end").addEdge(now("ask"), "end")
    .addEdge("nap", "end");
  if (version > 1) {
    builder.addMigration({
      from: 1,
      state: (s: State) => ({ ...s, moved: 1 }),
      vertices: { ask: "review" },
    });
  }
  if (version > 2) {
    builder.addMigration({
      from: 2,
      state: ({ nap, moved = 0, ...s }: State) => ({ ...s, napMs: nap, moved: moved + 1 }),
      vertices: { review: "decide", flaky: "retrying" },
    });
  }
  const quiet = { info: () => {}, warn: () => {} };
  const graph = builder.build({ entry: "begin", finish: "end" });
  return compile(graph, { store, runtime, logger: quiet }) as unknown as SoakRunner;
}

/** The kind of a run is in its id. */
export function kindOf(runId: string): Kind {
  return runId.split("-")[0] as Kind;
}
