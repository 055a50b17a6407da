import { compile, type CompiledGraph, type Runner, type RunnerOptions, type Store } from "../../../mod.ts";
import type { Runtime, Timer } from "../../../src/runtime/runtime.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { aroundStore } from "../../../src/testing/around_store.ts";
import { type CrashPlan, CrashStore } from "../../../src/testing/crash_store.ts";
import { type ClockFork, VirtualClock } from "../../../src/testing/virtual_clock.ts";
import { Chance } from "../chance.ts";

/** How the bodies of a process know it. */
export interface Life {
  readonly clock: ClockFork;
  isOver(): boolean;
  /** Plain work of so many turns of the event loop. */
  turns(count: number): Promise<void>;
}

/** An engine in a process of its own. */
export interface Process<S> extends Life {
  readonly runner: Runner<S>;
  /** Moves time until the work is done or the process has died. */
  drive<T>(work: Promise<T>): Promise<T | "died">;
}

/**
 * What outlives processes: a store, and a clock on which nothing takes real time. The quiet of a body (T8), which is 25 ms
 * of real time, is here over when no plain work of its process is under way for some turns of the event loop.
 */
export class World {
  readonly clock: VirtualClock;
  readonly store: Store;
  /** The newest revision of the one run, as far as the store has it. */
  revision = -1;
  #processes = 0;
  readonly #chance: Chance;
  #slow: boolean;

  constructor(seed: number, store: Store = memoryStore()) {
    this.clock = new VirtualClock({ seed });
    this.store = store;
    this.#chance = new Chance("bodies", seed);
    this.#slow = this.#chance.percent(30);
  }

  /** From now on the store answers at once. */
  calm(): void {
    this.#slow = false;
  }

  /** A new process, which dies at a write if a plan says so. */
  process<S>(
    graph: (life: Life) => CompiledGraph<S>,
    plan: CrashPlan | undefined,
    options: RunnerOptions,
  ): Process<S> {
    const clock = this.clock.fork();
    const watched = aroundStore(this.store, async (call) => {
      const answer = await call.apply();
      if (call.op === "append") this.revision = call.args[1] as number;
      return answer;
    });
    const crash = new CrashStore(watched, this.clock, ++this.#processes, plan, () => clock.stop());
    const life = new Living(clock, () => crash.point !== undefined);
    const store = this.#slow ? this.#delayed(crash.store, clock) : crash.store;
    const runner = compile(graph(life), { logger: SILENT, ...options, store, runtime: life.runtime });
    const drive = async <T>(work: Promise<T>): Promise<T | "died"> => {
      try {
        return await this.clock.drive(Promise.race([work, crash.stopped]));
      } catch (error) {
        if (life.isOver()) return "died";
        throw error;
      }
    };
    return Object.assign(life, { runner, drive });
  }

  /** A store that answers now and then in another turn, or after a while. */
  #delayed(store: Store, clock: ClockFork): Store {
    const delay = (): Promise<void> | undefined => {
      const kind = this.#slow ? this.#chance.below(10) : 0;
      if (kind < 6) return undefined;
      return kind < 9 ? turn(clock) : clock.sleep(this.#chance.below(60));
    };
    return aroundStore(store, async (call) => {
      await delay();
      const answer = await call.apply();
      await delay();
      return answer;
    });
  }
}

class Living implements Life {
  readonly clock: ClockFork;
  readonly runtime: Runtime;
  readonly isOver: () => boolean;
  #working = 0;

  constructor(clock: ClockFork, isOver: () => boolean) {
    this.clock = clock;
    this.isOver = isOver;
    const pause = (_: number, run: () => void): Timer => this.#quiet(run);
    this.runtime = { ...clock, pause } as Runtime;
  }

  async turns(count: number): Promise<void> {
    this.#working++;
    for (let i = 0; i < count; i++) await turn(this.clock);
    this.#working--;
  }

  #quiet(run: () => void): Timer {
    let isCancelled = false;
    let left = QUIET_TURNS;
    const look = () => {
      if (isCancelled) return;
      left = this.#working > 0 ? QUIET_TURNS : left - 1;
      if (left === 0) run();
      else this.clock.macrotask(look);
    };
    this.clock.macrotask(look);
    return { cancel: () => void (isCancelled = true) };
  }
}

/** Turns of the event loop without plain work after which a body is quiet: more than a call of a store takes. */
const QUIET_TURNS = 10;

function turn(clock: ClockFork): Promise<void> {
  return new Promise((resolve) => clock.macrotask(resolve));
}

const SILENT = { info: () => {}, warn: () => {} };
