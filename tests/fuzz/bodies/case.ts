import assert from "node:assert/strict";
import { defineWait, isSuperstepError, type RunResult, type Store, type TaskContext } from "../../../mod.ts";
import { z } from "zod";
import { GraphBuilder } from "../../../src/graph/mod.ts";
import { executionKey } from "../../../src/model/checkpoint.ts";
import { Chance } from "../chance.ts";
import type { Body } from "./generate.ts";
import { NAMES } from "./generate.ts";
import { type BodyWorld, type Effect, interpret } from "./interpret.ts";
import { judge } from "./judge.ts";
import { type Life, type Process, World } from "./world.ts";

export interface State {
  readonly seen: Record<string, unknown>;
}

/** The run of every case. */
export const RUN = "run";

const WAITS = new Map(NAMES.map((name) => [name as string, defineWait(name, z.string())]));

/** One run of a body, from its beginning on. */
export interface BodyRun {
  readonly key: string;
  readonly life: Life;
  readonly trace: string[];
}

/** One call of the function of a `once`. */
export interface EffectRun {
  readonly key: string;
  readonly name: string;
  /** The revision of the run when it was called. */
  readonly revision: number;
}

/** What was seen of a case while it ran. */
export interface Observed {
  readonly world: World;
  readonly bodies: readonly BodyRun[];
  readonly effects: readonly EffectRun[];
  readonly accepted: ReadonlyMap<string, string>;
  readonly result: RunResult<State>;
}

/**
 * Random bodies side by side in one run, whose processes die and change while somebody else answers; in the end the run
 * is judged by what the same bodies come to as plain JavaScript.
 */
export class Case {
  readonly #bodies: ReadonlyMap<string, Body>;
  readonly #isMap: boolean;
  readonly #world: World;
  readonly #chance: Chance;
  readonly #seed: number;
  readonly #settings: { readonly inlineTimers: number };
  readonly #begun: BodyRun[] = [];
  readonly #effects: EffectRun[] = [];
  readonly #inFlight = new Set<string>();
  readonly #accepted = new Map<string, string>();
  readonly #person: Process<State>;
  readonly #faults: string[] = [];
  #process: Process<State>;
  /** Aborted when the process of the run is to stop working on it. */
  #shutdown = new AbortController();
  #deaths: number;
  #answers = 0;
  #over = false;

  constructor(bodies: readonly Body[], seed: number, store?: Store) {
    this.#bodies = new Map(bodies.map((body, i) => [`b${i}`, body]));
    this.#seed = seed;
    this.#world = new World(seed, store);
    this.#chance = new Chance("case", seed);
    this.#isMap = this.#chance.percent(12);
    this.#deaths = this.#chance.pick([0, 0, 1, 1, 2, 4]);
    this.#settings = { inlineTimers: this.#chance.pick([0, 1_000, 30_000]) };
    this.#person = this.#world.process((life) => this.#graph(life), undefined, this.#settings);
    this.#process = this.#start();
  }

  /** Runs the case and judges it. */
  async live(): Promise<void> {
    const person = this.#answersMeanwhile();
    const result = await this.#end();
    this.#over = true;
    await this.#world.clock.drive(person);
    assert.deepEqual(this.#faults, []);
    this.#world.calm();
    await judge(this.#bodies, this.#isMap ? 2 : undefined, this.#person.runner, {
      world: this.#world,
      bodies: this.#begun,
      effects: this.#effects,
      accepted: this.#accepted,
      result,
    });
  }

  #graph(life: Life) {
    const builder = new GraphBuilder<State>({ id: "bodies" });
    const plain = { select: () => null, task: { execute: () => null }, reduce: () => {} };
    builder.addVertex<unknown, unknown>({ id: "start", ...plain });
    builder.addVertex<unknown, unknown>({ id: "stop", ...plain });
    for (const [id, body] of this.#bodies) {
      const common = {
        id,
        task: { execute: (_: unknown, ctx: TaskContext) => this.#perform(id, body, ctx, life) },
        waits: [...WAITS.values()],
        retry: {
          maxAttempts: 2,
          backoff: { initial: 700 },
          retryIf: (e: unknown) => e instanceof Error && e.message === "tripped",
        },
        reduce: (state: State, out: unknown) => void (state.seen[id] = out),
      };
      if (this.#isMap) builder.addVertex<unknown, unknown>({ ...common, each: () => [1, 2] });
      else builder.addVertex<unknown, unknown>({ ...common, select: () => null });
      builder.addEdge("start", id);
      builder.addEdge(id, "stop");
    }
    return builder.build({ entry: "start", finish: "stop" });
  }

  #perform(id: string, { flavour, block }: Body, ctx: TaskContext, life: Life): Promise<string> {
    if (life.isOver()) return new Promise(() => {});
    const run: BodyRun = { key: executionKey(id, ctx.item), life, trace: [] };
    this.#begun.push(run);
    const world: BodyWorld = {
      attempt: ctx.attempt,
      waitFor: ({ name, ...options }) => ctx.waitFor(WAITS.get(name)!, options),
      sleep: (name, ms) => ctx.sleep(name, ms),
      once: (name, effect) => ctx.once(name, () => this.#effect(run, name, effect)),
      io: (turns) => life.turns(turns).then(() => "io"),
      long: (ms, held) => {
        const work = life.clock.sleep(ms).then(() => "long");
        return held ? ctx.hold(work) : work;
      },
      trace: (line) => {
        run.trace.push(line);
        if (flavour !== "pure" || life.isOver() || this.#newest(run) === run) return;
        this.#faults.push(`a body of ${run.key} went on (${line}) after another one of it had begun`);
      },
    };
    return interpret(block, world);
  }

  #newest({ key, life }: BodyRun): BodyRun | undefined {
    return this.#begun.findLast((b) => b.key === key && b.life === life);
  }

  async #effect(run: BodyRun, name: string, { work, fails, value }: Effect): Promise<string> {
    const { key, life } = run;
    if (life.isOver()) return await new Promise<never>(() => {});
    this.#effects.push({ key, name, revision: this.#world.revision });
    const flight = `${key} ${name} ${this.#begun.indexOf(this.#begun.find((b) => b.life === life)!)}`;
    if (this.#inFlight.has(flight)) this.#faults.push(`once ${name} of ${key} was started twice at once`);
    this.#inFlight.add(flight);
    if ("ms" in work) await life.clock.sleep(work.ms);
    else await life.turns(work.turns);
    this.#inFlight.delete(flight);
    if (fails) throw new Error(`${name} failed`);
    return value();
  }

  #start(): Process<State> {
    const dies = this.#deaths-- > 0;
    const plan = { write: 1 + this.#chance.below(12), when: this.#chance.pick(["before", "after"] as const) };
    return this.#world.process((life) => this.#graph(life), dies ? plan : undefined, this.#settings);
  }

  /** Carries the run to its end, from process to process. */
  async #end(): Promise<RunResult<State>> {
    for (let tries = 0; tries < 600; tries++) {
      const result = await this.#next(tries === 0);
      if (result === "stopped") this.#process = this.#start();
      if (result === "died") {
        this.#process = this.#start();
        await this.#world.clock.advance(16_000);
      }
      if (result === "died" || result === "stopped") continue;
      if (result !== undefined) {
        // Beside a body that has failed for good, another one may be between two attempts.
        if (isOver(result) && (await this.#world.store.wakes(Infinity, 1)).length === 0) return result;
        await this.#checkAlive();
      }
      await this.#intervene(tries);
    }
    throw new Error(`no end: ${await this.#picture()}`);
  }

  async #next(isFirst: boolean): Promise<RunResult<State> | "died" | "stopped" | undefined> {
    const { runner, drive } = this.#process;
    const { signal } = this.#shutdown;
    try {
      if (isFirst) return await drive(runner.run({ seen: {} }, { runId: RUN, signal }));
      const handles = await drive(runner.recover({ signal }));
      if (handles === "died") return "died";
      if (handles[0] !== undefined) return await drive(handles[0].result());
      const view = await drive(runner.get(RUN));
      if (view === "died") return "died";
      return view.status === "running" ? undefined : view as RunResult<State>;
    } catch (error) {
      const isLost = isSuperstepError(error, "CHECKPOINT_NOT_FOUND");
      if (isLost && !signal.aborted) return await this.#next(true);
      if (!isLost && !isSuperstepError(error, "RUN_ABORTED")) throw error;
      this.#shutdown = new AbortController();
      return "stopped";
    }
  }

  /** Answers, or lets time pass, and changes the process now and then. */
  async #intervene(tries: number): Promise<void> {
    const { clock, store } = this.#world;
    if (this.#chance.percent(30)) this.#process = this.#start();
    if (this.#chance.percent(60)) {
      if (await clock.drive(this.#answerSome(tries > 40))) return;
    }
    const [wake] = await store.wakes(Infinity, 1);
    const until = wake === undefined ? 0 : Math.max(0, wake.due - clock.now());
    // A body that has come back before is quiet only after longer and longer (T9).
    const longest = tries > 60 ? 200_000 : 4_000;
    await clock.advance(this.#chance.percent(50) ? until : 1 + this.#chance.below(longest));
  }

  /** Whether anything was answered. */
  async #answerSome(all: boolean): Promise<boolean> {
    const { rows } = await this.#person.runner.waits({ runId: RUN });
    if (rows.length === 0) return false;
    const chosen = this.#chance.shuffle(rows).slice(
      0,
      all ? rows.length : 1 + this.#chance.below(rows.length),
    );
    if (this.#chance.percent(40)) await Promise.all(chosen.map(({ waitId }) => this.#answer(waitId)));
    else for (const { waitId } of chosen) await this.#answer(waitId);
    return true;
  }

  /** A person in another process who answers while bodies are at work, and stops the process at times. */
  async #answersMeanwhile(): Promise<void> {
    const { clock } = this.#person;
    while (!this.#over) {
      await clock.sleep(this.#chance.pick([1, 30, 400, 3_000, 9_000]));
      if (this.#over) return;
      if (this.#chance.percent(60)) await this.#answerSome(false);
      if (this.#chance.percent(4)) this.#shutdown.abort(new Error("shutdown"));
    }
  }

  async #answer(waitId: string): Promise<void> {
    const value = `a${++this.#answers}`;
    try {
      await this.#person.runner.answer(RUN, waitId, value);
      if (this.#accepted.has(waitId)) this.#faults.push(`two answers to ${waitId} were accepted`);
      this.#accepted.set(waitId, value);
    } catch (error) {
      if (!isSuperstepError(error, "ANSWER")) throw error;
    }
  }

  /** A run that nobody owns has a wake, or an open wait that can end it (I2). */
  async #checkAlive(): Promise<void> {
    const { store } = this.#world;
    for (let tries = 0; tries < 3; tries++) {
      const tail = await store.tail(RUN);
      if (tail === undefined || tail.owner !== null) return;
      // A body that came back may have ended the run meanwhile.
      const view = await this.#world.clock.drive(this.#person.runner.get(RUN));
      if (isOver(view as RunResult<State>)) return;
      if ((await store.wakes(Infinity, 1)).length > 0) return;
      if ((await store.waits({ runId: RUN })).rows.length > 0) return;
    }
    throw new Error(`nothing can bring the run on: ${await this.#picture()}`);
  }

  async #picture(): Promise<string> {
    const { store } = this.#world;
    const tail = await store.tail(RUN);
    const view = await this.#person.runner.get(RUN);
    return JSON.stringify({
      status: view.status,
      reason: view.run.reason,
      revision: view.run.revision,
      owner: tail?.owner,
      wakes: await store.wakes(Infinity, 10),
      waits: "waits" in view ? view.waits.map((w) => `${w.vertexId} ${w.name}`) : [],
    });
  }
}

/** Whether nothing is left to come: everything is done, or failed for good. */
function isOver(result: RunResult<State>): boolean {
  if (result.status !== "interrupted") return true;
  return result.reason === "errored" && result.waits.length === 0;
}
