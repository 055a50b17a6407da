/** A workflow that is changed: one graph in which a run can stand at anything that a run stands at. */
import { z } from "zod";
import { compile, defineWait } from "../../../mod.ts";
import type { CompiledGraph, MigrationOptions } from "../../../src/model/definition.ts";
import type { TaskContext } from "../../../src/model/context.ts";
import type { Runner } from "../../../src/engine/runner.ts";
import type { Store } from "../../../src/store/store.ts";
import type { VirtualClock } from "../../../src/testing/virtual_clock.ts";
import { Subgraph } from "../../../tasks/mod.ts";
import { type Engine, engine, graphOf, type Notes, type VertexOf } from "../../support/graphs.ts";

/** What a person answers. */
export const By = z.object({ by: z.string() });

/** A version of the workflow, as data that a change edits. */
export interface Plan {
  readonly version: number;
  readonly vertices: Readonly<Record<string, VertexOf<Notes>>>;
  /** The ids that vertices have now. */
  readonly names: Readonly<Record<string, string>>;
  readonly schema: z.ZodType;
  readonly migrations: readonly MigrationOptions<never>[];
  /** What answers must be. */
  readonly answer: z.ZodType;
  /** The vertex of the workflow that is called two levels deep, and its version. */
  readonly inner: { readonly version: number; readonly vertex: string };
}

/** What bodies see and do, over all processes. */
export interface World {
  /** How often the effect of each execution was had. */
  readonly effects: Map<string, number>;
  /** Values that the types of the code which got them do not allow. */
  readonly violations: unknown[];
  /** Whether what failed and halted works now. */
  mended: boolean;
}

const to = { to: "end" };

/** The first version. */
export const FIRST: Plan = {
  version: 1,
  names: {},
  schema: z.object({
    log: z.array(z.string()),
    mode: z.string(),
    items: z.array(z.number()),
    n: z.number(),
  }),
  answer: By,
  migrations: [],
  inner: { version: 1, vertex: "ask" },
  vertices: {
    ask: to,
    nap: to,
    flaky: { ...to, retry: { maxAttempts: 2, backoff: { initial: "2h", jitter: false } } },
    each: { ...to, each: (s) => (s["items"] as number[]) },
    left: { to: "join" },
    slow: { to: "right" },
    right: { to: "join" },
    join: { ...to, join: "all" },
    call: to,
    halt: { targets: ["end"], pick: () => "end" },
    bad: to,
    fails: {
      ...to,
      onError: [
        { match: (e: unknown) => (e as Error).message === "a", route: "plan_a" },
        { match: (e: unknown) => (e as Error).message === "b", route: "plan_b" },
      ],
    },
    plan_a: to,
    plan_b: to,
  },
};

/** Where a run goes at its start. */
const WAYS: Readonly<Record<string, readonly string[]>> = {
  queued: ["ask"],
  waiting: ["ask"],
  answered: ["ask"],
  sleeping: ["nap"],
  backoff: ["flaky"],
  mapping: ["each"],
  joining: ["left", "slow"],
  calling: ["call"],
  halted: ["halt"],
  errored: ["bad"],
  handled: ["fails", "ask"],
};

/** A process with the code of a version. */
export interface Code {
  readonly process: Engine<Notes>;
  readonly graph: CompiledGraph<Notes>;
}

/** Makes a process with the code of a plan. */
export function codeOf(plan: Plan, world: World, on: { store?: Store; clock?: VirtualClock } = {}): Code {
  const waits = [defineWait("first", plan.answer), defineWait("go", plan.answer)] as const;
  const box: { middle?: Runner<Notes> } = {};
  const graph = graphOf<Notes>({
    version: plan.version,
    schema: plan.schema as never,
    migrations: plan.migrations,
    entry: "start",
    finish: Object.keys(plan.vertices).filter((id) => plan.vertices[id]!.finish).concat("end"),
    vertices: { start: startOf(plan), ...bodiesOf(plan, world, waits, box), end: {} },
  });
  const process = engine(graph, { adopt: "compatible", ...on });
  const at = {
    store: process.runner.store,
    runtime: process.clock,
    logger: false,
    adopt: "compatible",
  } as const;
  const inner = graphOf<Notes>({
    id: "inner",
    version: plan.inner.version,
    vertices: { [plan.inner.vertex]: { waits, run: asking(plan, world, waits) } },
  });
  const bottom = compile(inner, at);
  const middle = graphOf<Notes>({
    id: "middle",
    vertices: {
      pass: { waits, select: () => ({ log: [] }), run: (i, ctx) => new Subgraph(bottom).execute(i, ctx) },
    },
  });
  box.middle = compile(middle, at);
  return { process, graph };
}

function startOf(plan: Plan): VertexOf<Notes> {
  const now = (id: string) => plan.names[id] ?? id;
  const has = (id: string) => now(id) in plan.vertices;
  const targets = [...new Set([...Object.values(WAYS).flat(), "plan_a", "plan_b"])].filter(has).map(now);
  return {
    targets: [...targets, "end"],
    pick: (s) => {
      const ways = (WAYS[s["mode"] as string] ?? []).filter(has).map(now);
      return ways.length === 0 ? "end" : ways;
    },
  };
}

type Waits = readonly [ReturnType<typeof defineWait>, ReturnType<typeof defineWait>];

/** Vertices whose bodies judge what they get. */
function bodiesOf(plan: Plan, world: World, waits: Waits, box: { middle?: Runner<Notes> }) {
  const ids = new Set([...Object.keys(plan.vertices), "end"]);
  const old = (id: string) => Object.entries(plan.names).find(([, now]) => now === id)?.[0] ?? id;
  const vertices: Record<string, VertexOf<Notes>> = {};
  for (const [id, vertex] of Object.entries(plan.vertices)) {
    const { to: targets = [], ...rest } = vertex;
    const kept = [targets].flat().map((t) => plan.names[t] ?? t).filter((t) => ids.has(t));
    const body = bodyOf(old(id), plan, world, waits, box);
    vertices[id] = {
      ...rest,
      waits: [...waits, ...vertex.waits ?? []],
      ...(vertex.each === undefined ? { select: vertex.select ?? ((s) => s) } : {}),
      ...(vertex.pick === undefined ? { to: kept.length === 0 ? "end" : kept } : {
        pick: () => {
          if (!world.mended) throw new Error("nobody knows where to");
          return "end";
        },
      }),
      run: async (input, ctx) => {
        // A single vertex selects the whole state.
        if (vertex.each === undefined && !plan.schema.safeParse(input).success) {
          world.violations.push([id, input]);
        }
        return await body(input, ctx);
      },
    };
  }
  return vertices;
}

function bodyOf(id: string, plan: Plan, world: World, waits: Waits, box: { middle?: Runner<Notes> }) {
  const ask = asking(plan, world, waits);
  const mended = (message: string) => {
    if (world.mended) return id;
    throw new Error(message);
  };
  const bodies: Readonly<Record<string, (input: unknown, ctx: TaskContext) => unknown>> = {
    ask: async (_, ctx) => [await judged(plan, world, ctx.waitFor(waits[0])), await ask(_, ctx)],
    right: ask,
    nap: (_, ctx) => ctx.sleep("nap", "2h"),
    flaky: (_, ctx) => {
      if (ctx.attempt === 1) throw new Error("not yet");
      return id;
    },
    each: (item, ctx) => item === 1 ? "one" : ask(item, ctx),
    call: async (_, ctx) => {
      await new Subgraph(box.middle!).execute({ log: [] }, ctx);
      return id;
    },
    bad: () => mended("bad"),
    fails: () => mended("b"),
  };
  return async (input: unknown, ctx: TaskContext) => {
    await ctx.once("effect", () => {
      world.effects.set(ctx.idempotencyKey, (world.effects.get(ctx.idempotencyKey) ?? 0) + 1);
      return true;
    });
    return (await bodies[id]?.(input, ctx)) ?? id;
  };
}

function asking(plan: Plan, world: World, [, go]: Waits) {
  return (_: unknown, ctx: TaskContext) => judged(plan, world, ctx.waitFor(go));
}

async function judged(plan: Plan, world: World, given: Promise<unknown>): Promise<unknown> {
  const value = await given;
  if (!plan.answer.safeParse(value).success) world.violations.push(value);
  return value;
}
