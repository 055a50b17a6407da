import assert from "node:assert/strict";
import { compile, defineWait, isSuperstepError, StoreError } from "../../mod.ts";
import type { CompiledGraph, Runner, Store, TaskContext } from "../../mod.ts";
import { z } from "zod";
import { GraphBuilder } from "../../src/graph/mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { Chance } from "./chance.ts";
import { SILENT } from "./world.ts";

/** A run in the middle of a step, of which every kind of thing is stored. */
export interface Victim {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly graph: CompiledGraph<Stored>;
  /** How many bodies have begun. */
  begun(): number;
}

interface Stored {
  big: string[];
  items: number[];
  table: Map<string, Date>;
  out: Record<string, unknown>;
}

export const RUN = "run";
const Verdict = defineWait("verdict", z.object({ ok: z.boolean() }), { deadline: "7d" });

/** Makes the run that is going to be damaged. */
export async function victim(): Promise<Victim> {
  const clock = new VirtualClock();
  const store = memoryStore();
  let begun = 0;
  const task = (body: (ctx: TaskContext, input: unknown) => unknown) => ({
    execute: (input: unknown, ctx: TaskContext) => (begun += 1, body(ctx, input)),
  });
  const kept = (id: string) => (state: Stored, output: unknown) => void (state.out[id] = output);
  const graph = new GraphBuilder<Stored>({ id: "damaged" })
    .addVertex<unknown, unknown>({
      id: "start",
      task: task(() => 1n),
      select: () => null,
      reduce: kept("start"),
    })
    .addVertex<unknown, unknown>({
      id: "ask",
      waits: [Verdict],
      task: task(async (ctx) => {
        await ctx.once("mail", () => ({ sent: new Date(5) }));
        await ctx.sleep("first", 10);
        return await ctx.waitFor(Verdict, { info: { why: ["because"] } });
      }),
      select: () => null,
      reduce: kept("ask"),
    })
    .addVertex<unknown, unknown>({
      id: "map",
      task: task((_, item) => {
        if (item === 2) throw Object.assign(new Error("two"), { data: { two: 2 } });
        return item;
      }),
      retry: { maxAttempts: 2 },
      each: (s) => s.items,
      reduce: kept("map"),
    })
    .addVertex<unknown, unknown>({
      id: "pause",
      task: task((ctx) => ctx.interrupt("info", { continuation: { at: 3 } })),
      select: () => null,
      reduce: kept("pause"),
    })
    .addVertex<unknown, unknown>({
      id: "join",
      join: "all",
      task: task(() => 1),
      select: () => null,
      reduce: kept("join"),
    })
    .addEdge("start", "ask").addEdge("start", "map").addEdge("start", "pause")
    .addEdge("ask", "join").addEdge("map", "join").addEdge("pause", "join")
    .build({ entry: "start", finish: "join" });
  const runner = compile(graph, { store, runtime: clock, logger: SILENT });
  const big = Array.from({ length: 300 }, (_, i) => `line ${i} of what makes the state large`);
  await clock.drive(
    runner.run({ big, items: [1, 2, 3], table: new Map([["a", new Date(1)]]), out: {} }, {
      runId: RUN,
      tags: ["t"],
    }),
  );
  const { rows } = await runner.waits();
  await runner.answer(RUN, rows.find((r) => r.vertexId === "ask")!.waitId, { ok: true });
  return { store, clock, graph, begun: () => begun };
}

/** Which of a store's answers are damaged. */
export type Target = "records" | "mailbox" | "parts";

/**
 * Reads a run through a store that damages what it hands out. Whatever is refused is refused with a typed error; no body
 * begins, and nothing is written.
 */
export async function harm(victim: Victim, target: Target, seed: number): Promise<void> {
  const damage = new Damage(target, seed);
  const { store, clock, graph } = victim;
  let calling = "";
  const damaged = aroundStore(store, async (call) => {
    if (call.writes) {
      // What passes for sound may be claimed; but it goes no further. A state that cannot be read is halted for it.
      const halts = target === "parts" && calling === "recover" && call.op === "append";
      assert.ok(
        !damage.isCertain || halts || call.op.startsWith("owners."),
        `seed ${seed}: ${call.op} of ${damage.name} ${target}`,
      );
      if (call.op === "append" || call.op === "post") throw new StoreError(call.op, "the store is full");
    }
    return spoil(await call.apply(), damage);
  });
  const runner = compile(graph, { store: damaged, runtime: clock.fork(), logger: SILENT });
  const begun = victim.begun();
  for (const [name, call] of Object.entries(calls(runner))) {
    calling = name;
    const outcome = await clock.drive(call().then(() => undefined, (error: unknown) => error ?? "nothing"));
    const what = `seed ${seed}: ${name} of ${damage.name} ${target}`;
    if (outcome !== undefined) assert.ok(isSuperstepError(outcome), `${what}: ${(outcome as Error).stack}`);
    else assert.ok(!(damage.isCertain && NEEDS[target].includes(name)), `${what} was not refused`);
  }
  assert.equal(victim.begun(), begun);
}

/** The calls that cannot succeed without what is damaged; recovery passes over it, for the sake of the other runs. */
const NEEDS: Readonly<Record<Target, readonly string[]>> = {
  records: ["get", "status", "history", "resume", "answer"],
  mailbox: ["get", "resume", "answer"],
  parts: ["get", "resume"],
};

function calls(runner: Runner<Stored>): Record<string, () => Promise<unknown>> {
  return {
    get: () => runner.get(RUN),
    status: () => runner.status(RUN),
    history: () => runner.history(RUN),
    waits: () => runner.waits(),
    resume: () => runner.resume(RUN),
    recover: () => runner.recover(),
    answer: () => runner.answer(RUN, `w${"0".repeat(32)}`, { ok: true }),
  };
}

interface Bytes {
  readonly revision: number;
  readonly bytes: Uint8Array;
}

/** An answer of the store with something of the target damaged in it, if it holds any. */
function spoil<T>(answer: T, how: Damage): T {
  if (typeof answer !== "object" || answer === null) return answer;
  const { target } = how;
  if (Array.isArray(answer)) {
    if (target === "parts" && answer.every((x) => x instanceof Uint8Array)) return how.one(answer) as T;
    const isRecords = answer.length > 0 &&
      answer.every((x) => (x as Partial<Bytes>).bytes instanceof Uint8Array);
    return target === "records" && isRecords ? how.records(answer as Bytes[]) as T : answer;
  }
  const found = answer as {
    readonly records?: readonly Bytes[];
    readonly mailbox?: { value: Uint8Array; entries?: readonly { value: Uint8Array }[] } | null;
  };
  if (target === "records" && found.records !== undefined) {
    return { ...found, records: how.records(found.records) } as T;
  }
  if (target === "mailbox" && found.mailbox?.value !== undefined) {
    const spoilt = <B extends { value: Uint8Array }>(of: B): B => ({ ...of, value: how.bytes(of.value) });
    const { entries } = found.mailbox;
    const mailbox = { ...spoilt(found.mailbox), ...(entries && { entries: entries.map(spoilt) }) };
    return { ...found, mailbox } as T;
  }
  return answer;
}

/** One way of damaging things, the same for every read. */
class Damage {
  readonly target: Target;
  /** Whether what comes out cannot pass for what was stored. A flipped bit may make another text of a text. */
  readonly isCertain: boolean;
  readonly #kind: "cut" | "flip" | "noise" | "swap" | "drop" | "twice";
  readonly #at: number;
  readonly #more: number;

  constructor(target: Target, seed: number) {
    const chance = new Chance("damage", target, seed);
    this.target = target;
    const kinds = ["flip", "flip", "flip", "flip", "cut", "noise"] as const;
    this.#kind = chance.pick(target === "records" ? [...kinds, "swap", "drop", "twice"] : kinds);
    this.isCertain = this.#kind !== "flip" && this.#kind !== "noise";
    this.#at = chance.below(2 ** 30);
    this.#more = chance.below(2 ** 30);
  }

  get name(): string {
    return this.#kind;
  }

  bytes(bytes: Uint8Array): Uint8Array {
    const at = this.#at % bytes.byteLength;
    if (this.#kind === "cut") return bytes.slice(0, at);
    const spoilt = bytes.slice();
    if (this.#kind === "flip") spoilt[at]! ^= 1 << (this.#more % 8);
    else for (let i = at; i < Math.min(at + 8, spoilt.length); i++) spoilt[i] = (this.#more * (i + 1)) >>> 3;
    return spoilt;
  }

  one(all: readonly Uint8Array[]): readonly Uint8Array[] {
    return all.map((bytes, i) => i === this.#more % all.length ? this.bytes(bytes) : bytes);
  }

  records(all: readonly Bytes[]): readonly Bytes[] {
    if (all.length < 3) return all.map((r) => ({ ...r, bytes: r.bytes.slice(0, 3) }));
    const at = 1 + this.#at % (all.length - 2);
    const [record, next] = [all[at]!, all[at + 1]!];
    switch (this.#kind) {
      case "drop":
        return all.filter((r) => r !== record);
      case "twice":
        return all.flatMap((r) => r === record ? [r, r] : [r]);
      case "swap":
        return all.map((r) => r === record ? next : r === next ? record : r);
      default: {
        const chosen = all[this.#more % all.length];
        return all.map((r) => r === chosen ? { ...r, bytes: this.bytes(r.bytes) } : r);
      }
    }
  }
}
