/** One graph with everything that a run can do between its start and its end. */
import { z } from "zod";
import { defineWait, type Duration, FatalError, GraphBuilder } from "../../mod.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { CrashScenario, FakeAnswers } from "../../src/testing/mod.ts";

export const Vote = defineWait("vote", z.object({ yes: z.boolean() }));
export const Poke = defineWait("poke", z.object({ by: z.string() }));

const State = z.object({
  rounds: z.number().default(0),
  ticket: z.string().optional(),
  arrived: z.array(z.string()).default([]),
  voters: z.array(z.string()).default(["ada", "ben", "cyd"]),
  excuse: z.string().optional(),
  wins: z.array(z.string()).default([]),
  approved: z.unknown().optional(),
  bytes: z.number().default(0),
});
type State = z.infer<typeof State>;

/** The size of an output that takes more than one atomic operation of a Deno KV file. */
const ABOVE_ONE_OP = 900 * 1024;

/** What bodies tell of what they do; of a crash test, or of a process. */
export interface Doing {
  happen(key: string, name?: string): void;
  /** Takes that long, whatever the clock. */
  sleep(by: Duration): Promise<void>;
}

const later = <T>(what: string) => ({
  execute: (): Promise<T> => Promise.reject(new Error(`${what} needs its bodies`)),
});

/**
 * intake → {left, right → detour} → gather ↺ twice → votes (map, waits, one item fails into the route) → excuse → loop (a race
 * of a wait and a sleep, twice) → approve (interrupt with a continuation) → big → end
 */
export const everything = new GraphBuilder<State>({ id: "everything", schema: State })
  .addVertex({
    id: "intake",
    task: later<string>("intake"),
    retry: { maxAttempts: 3, backoff: { initial: "200ms" } },
    select: () => null,
    reduce: (s, ticket) => {
      s.ticket = ticket;
    },
  })
  .addVertex({
    id: "left",
    task: later<string>("left"),
    retry: { maxAttempts: 2 },
    timeout: { attempt: "5s", total: "1m" },
    select: (s) => s.rounds,
    reduce: (s, name) => {
      s.arrived.push(name);
    },
  })
  .addVertex({
    id: "right",
    task: later<string>("right"),
    select: (s) => s.rounds,
    reduce: (s, name) => {
      s.arrived.push(name);
    },
  })
  .addVertex({ id: "detour", task: later<void>("detour"), select: (s) => s.rounds, reduce: () => {} })
  .addVertex({
    id: "gather",
    join: "all",
    task: later<number>("gather"),
    select: (s) => s.rounds,
    reduce: (s, rounds) => {
      s.rounds = rounds;
    },
  })
  .addVertex({
    id: "votes",
    waits: [Vote],
    task: later<boolean>("votes"),
    each: (s) => s.voters,
    reduce: () => {},
    onError: {
      route: "excuse",
      record: (s, failure) => {
        s.excuse = `${failure.message} (${failure.failures?.map((f) => f.item).join()})`;
      },
    },
  })
  .addVertex({ id: "excuse", task: later<void>("excuse"), select: (s) => s.excuse ?? "", reduce: () => {} })
  .addVertex({
    id: "loop",
    waits: [Poke],
    task: later<string[]>("loop"),
    select: () => null,
    reduce: (s, wins) => {
      s.wins.push(...wins);
    },
  })
  .addVertex({
    id: "approve",
    task: later<unknown>("approve"),
    select: (s) => s.wins.length,
    reduce: (s, answer) => {
      s.approved = answer;
    },
  })
  .addVertex({
    id: "big",
    task: later<string>("big"),
    select: () => ABOVE_ONE_OP,
    reduce: (s, text) => {
      s.bytes = text.length;
    },
  })
  .addVertex({ id: "end", task: later<void>("end"), select: (s) => s.bytes, reduce: () => {} })
  .addEdge("intake", "left")
  .addEdge("intake", "right")
  .addEdge("left", "gather")
  .addEdge("right", "detour")
  .addEdge("detour", "gather")
  .addConditionalEdge("gather", {
    targets: ["left", "right", "votes"],
    pick: (s) => s.rounds < 2 ? ["left", "right"] : "votes",
  })
  .addEdge("votes", "loop")
  .addEdge("excuse", "loop")
  .addEdge("loop", "approve")
  .addEdge("approve", "big")
  .addEdge("big", "end")
  .build({ entry: "intake", finish: "end" });

/** The bodies of {@link everything}. */
export function bodiesOf(doing: Doing) {
  const happen = (ctx: TaskContext) => doing.happen(ctx.idempotencyKey, ctx.vertexId);
  return {
    intake: async (_: null, ctx: TaskContext) => {
      const ticket = await ctx.once("ticket", ({ idempotencyKey }) => {
        doing.happen(idempotencyKey, "ticket");
        return "T-1";
      });
      if (ctx.attempt === 1) throw new Error("the first attempt fails");
      happen(ctx);
      return ticket;
    },
    left: async (rounds: number, ctx: TaskContext) => {
      if (ctx.attempt === 1) await doing.sleep("1h");
      ctx.signal.throwIfAborted();
      happen(ctx);
      return `left ${rounds}`;
    },
    right: async (rounds: number, ctx: TaskContext) => {
      await doing.sleep("1s");
      happen(ctx);
      return `right ${rounds}`;
    },
    detour: (_: number, ctx: TaskContext) => happen(ctx),
    gather: (rounds: number, ctx: TaskContext) => {
      happen(ctx);
      return rounds + 1;
    },
    votes: async (voter: string, ctx: TaskContext) => {
      const { yes } = await ctx.waitFor(Vote, { info: { voter } });
      happen(ctx);
      if (!yes) throw new FatalError(`${voter} refuses`);
      return yes;
    },
    excuse: (_: string, ctx: TaskContext) => happen(ctx),
    loop: async (_: null, ctx: TaskContext) => {
      const wins: string[] = [];
      for (let turn = 0; turn < 2; turn++) {
        wins.push(
          await Promise.race([
            ctx.waitFor(Poke).then(({ by }) => by),
            ctx.sleep("nap", "1h").then(() => "nap"),
          ]),
        );
      }
      happen(ctx);
      return wins;
    },
    approve: (wins: number, ctx: TaskContext) => {
      const answer = ctx.answer();
      if (answer === undefined) return ctx.interrupt({ wins }, { continuation: { asked: wins } });
      happen(ctx);
      return { answer: answer.value, continuation: ctx.continuation()?.value };
    },
    big: (size: number, ctx: TaskContext) => {
      happen(ctx);
      return "0123456789abcdef".repeat(size / 16);
    },
    end: (_: number, ctx: TaskContext) => happen(ctx),
  };
}

/** The answers that {@link everything} gets: one voter refuses, only the first poke comes. */
export const answersOf: FakeAnswers = {
  vote: (wait) => ({ yes: wait.item !== 1 }),
  poke: [{ by: "eve" }],
  interrupt: { ok: false },
};

/** The state that it ends with. */
export const END: Partial<State> = {
  rounds: 2,
  ticket: "T-1",
  arrived: ["left 0", "right 0", "left 1", "right 1"],
  excuse: "ben refuses (1)",
  wins: ["eve", "nap"],
  approved: { answer: { ok: false }, continuation: { asked: 2 } },
  bytes: ABOVE_ONE_OP,
};

/** {@link everything} as a crash test. */
export const scenario: CrashScenario<State> = {
  input: {},
  tasks: bodiesOf,
  answers: answersOf,
};
