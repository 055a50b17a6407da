import { type TaskContext, type WaitDefinition, WaitExpiredError } from "../../mod.ts";
import { defineWait } from "../../mod.ts";
import { z } from "zod";
import type { Execution } from "../../src/model/checkpoint.ts";
import { Chance, hash } from "./chance.ts";

/** Random bodies made of waits, as plain data. */
export type Program = readonly Statement[];

export type Statement =
  /** Goes on when the first, or all, of these have a result. */
  | { readonly kind: "race" | "all"; readonly of: readonly Use[] }
  /** Opens now what is awaited at the end. */
  | { readonly kind: "early"; readonly use: Use }
  | { readonly kind: "once"; readonly name: string }
  /** Takes some time, or a turn. */
  | { readonly kind: "work" }
  /** Fails in the first attempts. */
  | { readonly kind: "trip"; readonly until: number };

/** One use of a name. */
export type Use =
  | { readonly kind: "answer"; readonly name: string; readonly deadlineMs: number | undefined }
  | { readonly kind: "timer"; readonly name: string; readonly ms: number };

/** The answers that are awaited. */
export const WAITS: readonly WaitDefinition<{ v: number }>[] = ["x", "y", "z"].map((name) =>
  defineWait(name, z.object({ v: z.number() }))
);

/** A random program. */
export function programOf(...seed: readonly (string | number)[]): Program {
  const chance = new Chance("program", ...seed);
  const use = (): Use =>
    chance.percent(60)
      ? {
        kind: "answer",
        name: chance.pick(["x", "y", "z"]),
        deadlineMs: chance.pick([undefined, undefined, 2_000, 40_000]),
      }
      : { kind: "timer", name: chance.pick(["s", "t"]), ms: chance.pick([0, 300, 5_000, 45_000]) };
  const distinct = (count: number): Use[] => {
    const uses = new Map<string, Use>();
    while (uses.size < count) {
      const one = use();
      uses.set(one.name, one);
    }
    return [...uses.values()];
  };
  let onces = 0;
  let early = chance.percent(30);
  const statement = (): Statement => {
    const kind = chance.below(10);
    if (kind < 3) return { kind: "all", of: distinct(1) };
    if (kind < 6) return { kind: "race", of: distinct(2 + chance.below(2)) };
    if (kind === 6) return { kind: "all", of: distinct(2) };
    if (kind === 7) return { kind: "work" };
    if (kind === 8 && early) {
      early = false;
      return { kind: "early", use: { kind: "answer", name: "w", deadlineMs: undefined } };
    }
    return { kind: "once", name: `o${onces++}` };
  };
  const statements = Array.from({ length: 1 + chance.below(5) }, statement);
  // A loop uses its names again and again.
  if (chance.percent(30)) {
    const body = Array.from({ length: 1 + chance.below(2) }, statement).filter((s) => s.kind !== "early");
    for (let i = 2 + chance.below(2); i > 0; i--) {
      statements.push(
        ...body.map((s): Statement => s.kind === "once" ? { ...s, name: `${s.name}.${i}` } : s),
      );
    }
  }
  if (chance.percent(25)) {
    statements.splice(chance.below(statements.length + 1), 0, { kind: "trip", until: 2 });
  }
  return statements;
}

/** What a program's surroundings do for it. */
export interface Stage {
  work(): Promise<void>;
  /** Called when the function of a `once` runs. */
  ran(name: string): Promise<void>;
}

/** Runs a program. Its result tells every result that it saw, in order. */
export async function perform(program: Program, ctx: TaskContext, stage: Stage): Promise<readonly string[]> {
  const seen: string[] = [];
  let early: Promise<string> | undefined;
  const open = (use: Use): Promise<string> => {
    const wait = use.kind === "answer" ? [...WAITS, EARLY].find((w) => w.name === use.name)! : undefined;
    const result = wait === undefined
      ? ctx.sleep(use.name, (use as { readonly ms: number }).ms).then(() => `${use.name} fired`)
      : ctx.waitFor(wait, deadlineOf(use)).then(({ v }) => `${use.name}=${v}`);
    const promise = through(result, hash(use.name) % 4);
    promise.catch(() => {});
    return promise;
  };
  const take = async (result: Promise<string | readonly string[]>) => {
    try {
      seen.push(String(await result));
    } catch (error) {
      if (!(error instanceof WaitExpiredError)) throw error;
      seen.push("expired");
    }
  };
  for (const [i, statement] of program.entries()) {
    switch (statement.kind) {
      case "race": {
        await take(Promise.race(statement.of.map(open)));
        const winner = seen.at(-1)!;
        // A race that was decided is decided for ever.
        const first = await ctx.once(`race${i}`, () => winner);
        if (first !== winner) throw new Error(`the race ${i} had the winner ${first} and has now ${winner}`);
        break;
      }
      case "all":
        await take(statement.of.length === 1 ? open(statement.of[0]!) : Promise.all(statement.of.map(open)));
        break;
      case "early":
        early = open(statement.use);
        break;
      case "once":
        seen.push(
          await ctx.once(statement.name, async () => {
            await stage.ran(statement.name);
            return `${statement.name}!`;
          }),
        );
        break;
      case "work":
        await stage.work();
        break;
      case "trip":
        if (ctx.attempt < statement.until) throw new Error("tripped");
        break;
    }
  }
  if (early !== undefined) await take(early);
  return seen;
}

/** What is awaited late. */
export const EARLY = defineWait("w", z.object({ v: z.number() }));

/** As code does that is made of small functions. */
async function through<T>(promise: Promise<T>, layers: number): Promise<T> {
  return layers === 0 ? await promise : await through(promise, layers - 1);
}

function deadlineOf(use: Use): { readonly deadline?: number } {
  return use.kind === "answer" && use.deadlineMs !== undefined ? { deadline: use.deadlineMs } : {};
}

/** What the program must have seen, given the results recorded in the end: of a race the first one recorded. */
export function foresee(program: Program, execution: Execution): readonly string[] {
  const uses = new Map<string, number>();
  const resultOf = (use: Use): { readonly seq: number; readonly told: string } | undefined => {
    const n = (uses.get(`${use.kind} ${use.name}`) ?? 0) + 1;
    uses.set(`${use.kind} ${use.name}`, n);
    const wait = [...execution.waits.values()].find((w) =>
      w.kind === use.kind && w.name === use.name && w.n === n
    );
    if (wait?.result === undefined) return undefined;
    const { result, seq } = wait;
    const told = result.kind === "answered"
      ? `${use.name}=${(result.value as { v: number }).v}`
      : result.kind === "fired"
      ? `${use.name} fired`
      : "expired";
    return { seq: seq!, told };
  };
  const seen: string[] = [];
  let early: string | undefined;
  for (const statement of program) {
    if (statement.kind === "once") seen.push(`${statement.name}!`);
    if (statement.kind === "early") early = resultOf(statement.use)?.told ?? "no result";
    if (statement.kind !== "race" && statement.kind !== "all") continue;
    const results = statement.of.map(resultOf);
    if (statement.kind === "race") {
      const known = results.filter((r) => r !== undefined).sort((a, b) => a.seq - b.seq);
      seen.push(known[0]?.told ?? "no result");
    } else if (results.some((r) => r?.told === "expired")) seen.push("expired");
    else seen.push(results.map((r) => r?.told ?? "no result").join());
  }
  if (early !== undefined) seen.push(early);
  return seen;
}
