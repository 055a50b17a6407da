/** What the processes of the durability tests run: a little of everything, in a fraction of a second. */
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { compile, defineWait, GraphBuilder } from "../../mod.ts";
import type { TaskContext } from "../../src/model/context.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import type { Store } from "../../src/store/store.ts";
import { aroundStore } from "../../src/testing/around_store.ts";

export const Go = defineWait("go", z.object({ by: z.string() }));

/** Values of every kind that a state keeps, to be carried from one runtime to another. */
const Keepsakes = z.object({
  big: z.bigint(),
  date: z.date(),
  map: z.map(z.string(), z.array(z.number())),
  bytes: z.instanceof(Uint8Array),
  set: z.set(z.string()),
  zero: z.number(),
  long: z.string(),
});

const State = z.object({
  items: z.array(z.string()).default(["x", "y", "z"]),
  rounds: z.number().default(0),
  log: z.array(z.string()).default([]),
  keep: Keepsakes.optional(),
});

export const KEEPSAKES: z.infer<typeof Keepsakes> = {
  big: 2n ** 70n,
  date: new Date(86_400_000),
  map: new Map([["π", [1, -0, 0.1]]]),
  bytes: Uint8Array.from({ length: 300 }, (_, i) => i % 256),
  set: new Set(["é", "\u{1F600}"]),
  zero: -0,
  long: "0123456789".repeat(10_000),
};

/** A line of the ledger. */
export interface Line {
  /** Which process wrote it, in the order in which they were started. */
  readonly generation: number;
  readonly kind: "owner" | "begin" | "effect";
  readonly key: string;
  readonly name: string;
}

/** The file that effects go to; what is in it happened. */
export class Ledger {
  constructor(readonly path: string, readonly generation: number) {}

  write(kind: Line["kind"], key: string, name = ""): void {
    appendFileSync(this.path, `${JSON.stringify({ generation: this.generation, kind, key, name })}\n`);
  }

  static read(path: string): readonly Line[] {
    // The newest line may have been cut off by a kill.
    return readFileSync(path, "utf8").split("\n").slice(0, -1).flatMap((line) => {
      try {
        return [JSON.parse(line) as Line];
      } catch {
        return [];
      }
    });
  }
}

/** How the bodies of a process behave. */
export interface Conduct {
  readonly ledger: Ledger;
  /** Called when the body of `slow` has begun; the body goes on when it resolves. */
  readonly slow?: (ctx: TaskContext) => Promise<void>;
}

/** intake → items (map) → {left, right} → gather ↺ twice → slow → ask (waits) → ask2 (waits) → end */
export function errand({ ledger, slow = () => pause(2) }: Conduct) {
  const working = <I, O>(work: (input: I, ctx: TaskContext) => Promise<O>) => ({
    execute: async (input: I, ctx: TaskContext): Promise<O> => {
      ledger.write("begin", ctx.idempotencyKey, ctx.vertexId);
      const output = await work(input, ctx);
      ledger.write("effect", ctx.idempotencyKey, ctx.vertexId);
      return output;
    },
  });
  const named = working(async (round: number, ctx) => {
    await pause(1 + 3 * Math.random());
    return `${ctx.vertexId} ${round}`;
  });
  const asking = working(async (_: null, ctx) => (await ctx.waitFor(Go)).by);
  return new GraphBuilder({ id: "errand", schema: State })
    .addVertex({
      id: "intake",
      retry: { maxAttempts: 2, backoff: { initial: "3ms" } },
      task: working(async (_: null, ctx) => {
        await pause(1);
        if (ctx.attempt === 1) throw new Error("the first attempt fails");
      }),
      select: () => null,
      reduce: (s) => {
        s.keep = KEEPSAKES;
      },
    })
    .addVertex({
      id: "items",
      task: working(async (item: string, ctx) => {
        const mark = await ctx.once("mark", async ({ idempotencyKey }) => {
          await pause(1);
          ledger.write("effect", idempotencyKey, "mark");
          return item.toUpperCase();
        });
        await pause(4 * Math.random());
        return mark;
      }),
      each: (s) => s.items,
      reduce: (s, marks) => void s.log.push(...marks),
    })
    .addVertex({ id: "left", task: named, select: (s) => s.rounds, reduce: (s, o) => void s.log.push(o) })
    .addVertex({ id: "right", task: named, select: (s) => s.rounds, reduce: (s, o) => void s.log.push(o) })
    .addVertex({
      id: "gather",
      join: "all",
      task: working((rounds: number) => Promise.resolve(rounds + 1)),
      select: (s) => s.rounds,
      reduce: (s, rounds) => {
        s.rounds = rounds;
      },
    })
    .addVertex({
      id: "slow",
      task: working((_: null, ctx) => slow(ctx)),
      select: () => null,
      reduce: () => {},
    })
    .addVertex({
      id: "ask",
      waits: [Go],
      task: asking,
      select: () => null,
      reduce: (s, o) => void s.log.push(o),
    })
    .addVertex({
      id: "ask2",
      waits: [Go],
      task: asking,
      select: () => null,
      reduce: (s, o) => void s.log.push(o),
    })
    .addVertex({
      id: "end",
      task: working(async (_: null) => {}),
      select: () => null,
      reduce: () => {},
    })
    .addEdge("intake", "items")
    .addEdge("items", "left")
    .addEdge("items", "right")
    .addEdge("left", "gather")
    .addEdge("right", "gather")
    .addConditionalEdge("gather", {
      targets: ["left", "right", "slow"],
      pick: (s) => s.rounds < 2 ? ["left", "right"] : "slow",
    })
    .addEdge("slow", "ask")
    .addEdge("ask", "ask2")
    .addEdge("ask2", "end")
    .build({ entry: "intake", finish: "end" });
}

/** The vertices of an errand in the order in which they run. */
export const PATH: readonly string[] = [
  "intake",
  "items",
  ...["left", "right", "gather"],
  ...["left", "right", "gather"],
  "slow",
  "ask",
  "ask2",
  "end",
];

/** Every effect of an errand, as it is in the ledger, sorted. */
export function effectsOf(runId: string): readonly string[] {
  const at = (step: number, vertex: string) => `graph=errand/run=${runId}/step=${step}/vertex=${vertex}`;
  return [
    at(0, "intake"),
    ...[0, 1, 2].flatMap((i) => [`${at(1, "items")}/item=${i}`, `${at(1, "items")}/item=${i}/once=mark`]),
    ...[2, 4].flatMap((step) => [at(step, "left"), at(step, "right"), at(step + 1, "gather")]),
    ...["slow", "ask", "ask2", "end"].map((vertex, i) => at(6 + i, vertex)),
  ].sort();
}

/** The state that an errand ends with. */
export const LOG: readonly string[] = [
  "X",
  "Y",
  "Z",
  "left 0",
  "right 0",
  "left 1",
  "right 1",
  "first",
  "second",
];

/** How much faster intervals pass for the processes of these tests, so that a lease lasts 250 ms. */
const SPEED = 60;

/** The real clock, set ahead so that delays of recoveries have passed, and leases that run out soon. */
export function hurried(ahead: number): Runtime {
  return {
    ...systemRuntime,
    now: () => systemRuntime.now() + ahead,
    elapsed: () => systemRuntime.elapsed() * SPEED,
    wakeAt: (at, run, options) => systemRuntime.wakeAt(at - ahead, run, options),
    wakeIn: (delay, run, options) => systemRuntime.wakeIn(delay / SPEED, run, options),
  };
}

/** A runner of errands; the ledger learns its owner ids before they are used. */
export function errandRunner(store: Store, conduct: Conduct, ahead = 0) {
  const { ledger } = conduct;
  const noting = aroundStore(store, (call) => {
    if (call.op === "owners.register") ledger.write("owner", String(call.args[0]));
    return call.apply();
  });
  return compile(errand(conduct), {
    store: noting,
    runtime: hurried(ahead),
    logger: { info: () => {}, warn: () => {} },
  });
}
