import { compile, type CompiledGraph, type RunnerOptions } from "../../mod.ts";
import type { Runner, Store } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { type CrashPlan, CrashStore } from "../../src/testing/crash_store.ts";
import { type ClockFork, VirtualClock } from "../../src/testing/virtual_clock.ts";

import { Chance } from "./chance.ts";

/** What outlives a process: the store and time. */
export class World {
  readonly clock: VirtualClock;
  readonly store: Store = memoryStore();
  /** The newest revision of the one run, as far as the store has it. */
  revision = -1;
  /** Called after every append. */
  appended: () => void = () => {};
  #processes = 0;
  readonly #chance: Chance;
  #slow: boolean;

  constructor(seed: number) {
    this.clock = new VirtualClock({ seed });
    this.#chance = new Chance("world", seed);
    this.#slow = this.#chance.percent(60);
  }

  /** From now on the store answers at once. */
  calm(): void {
    this.#slow = false;
  }

  /** A store answers at once, in another turn, or after a while. */
  #delay(runtime: ClockFork): Promise<void> | undefined {
    if (!this.#slow) return undefined;
    const kind = this.#chance.below(10);
    if (kind < 5) return undefined;
    return kind < 8
      ? new Promise((resolve) => runtime.macrotask(resolve))
      : runtime.sleep(this.#chance.below(60));
  }

  /** A new process, which dies at a write if a plan says so. */
  process<S>(
    graph: (life: Life) => CompiledGraph<S>,
    plan?: CrashPlan,
    options: RunnerOptions = {},
  ): Process<S> {
    const runtime = this.clock.fork();
    const watched = aroundStore(this.store, async (call) => {
      const answer = await call.apply();
      if (call.op === "append") {
        this.revision = call.args[1] as number;
        this.appended();
      }
      return answer;
    });
    const crash = new CrashStore(watched, this.clock, ++this.#processes, plan, () => runtime.stop());
    const life: Life = { runtime, isOver: () => crash.point !== undefined };
    const delayed = aroundStore(crash.store, async (call) => {
      await this.#delay(runtime);
      const answer = await call.apply();
      await this.#delay(runtime);
      return answer;
    });
    const runner = compile(graph(life), { logger: SILENT, ...options, store: delayed, runtime });
    const drive = async <T>(work: Promise<T>): Promise<T | "died"> => {
      try {
        return await this.clock.drive(Promise.race([work, crash.stopped]));
      } catch (error) {
        if (life.isOver()) return "died";
        throw error;
      }
    };
    return { ...life, runner, drive };
  }
}

/** How the bodies of a process know it. */
export interface Life {
  readonly runtime: ClockFork;
  isOver(): boolean;
}

/** An engine in a process of its own. */
export interface Process<S> extends Life {
  readonly runner: Runner<S>;
  /** Moves time until the work is done or the process has died. */
  drive<T>(work: Promise<T>): Promise<T | "died">;
}

/** A logger that says nothing. */
export const SILENT = { info: () => {}, warn: () => {} };
