import { compile } from "../compile.ts";
import type { StartOptions } from "../engine/options.ts";
import type { RunResult } from "../engine/result.ts";
import type { CompiledGraph } from "../model/definition.ts";
import type { Store } from "../store/store.ts";
import { type Duration, toMs } from "../model/durations.ts";
import type { AnswerBook } from "./answer_book.ts";
import { aroundStore } from "./around_store.ts";
import { type Carrier, carryOn, isUnknownRun, wakeOf } from "./carry_on.ts";
import type { CrashLedger } from "./crash_ledger.ts";
import type { CrashScenario } from "./crash_scenario.ts";
import { type CrashPlan, type CrashPoint, CrashStore } from "./crash_store.ts";
import { instrument } from "./instrument.ts";
import { lateStore } from "./late_store.ts";
import { workOptions } from "./test_runner.ts";
import type { ClockFork, VirtualClock } from "./virtual_clock.ts";

/** What the engines of one round share: everything that outlives a process. */
export interface CrashWorld<S> {
  readonly graph: CompiledGraph<S>;
  readonly scenario: CrashScenario<S>;
  readonly runId: string;
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly answers: AnswerBook;
  readonly ledger: CrashLedger;
}

/** One process of a round: it begins the run or takes it over, and is stopped where its plan says. */
export class CrashEngine<S> {
  readonly #world: CrashWorld<S>;
  readonly #crash: CrashStore;
  readonly #carrier: Carrier<S>;
  readonly #options: StartOptions;

  constructor(world: CrashWorld<S>, engine: number, plan: CrashPlan | undefined) {
    const { clock, graph, scenario, answers, ledger } = world;
    const runtime = clock.fork();
    this.#world = world;
    this.#options = { ...scenario.options, runId: world.runId };
    this.#crash = new CrashStore(world.store, clock, engine, plan, () => runtime.stop());
    const { stopped } = this.#crash;
    const lateMs = toMs(scenario.acknowledgeWithin ?? 0) ?? 0;
    const far = lateMs > 0 ? lateStore(this.#crash.store, runtime, lateMs) : this.#crash.store;
    const store = scenario.clockSteps === undefined
      ? far
      : whileClockSteps(far, runtime, scenario.clockSteps, clock);
    const effects = ledger.effectsOf(engine, runtime, () => this.#crash.point !== undefined);
    const { provide } = scenario;
    const host = { store, runtime };
    const instrumented = instrument(graph, {
      clock: runtime,
      tasks: scenario.tasks?.(effects, host) ?? {},
      provide: provide === undefined ? undefined : (cls) => provide(cls, effects, host),
      began: (ctx) => {
        if (this.#crash.point === undefined) ledger.begun.push({ engine, key: ctx.idempotencyKey });
      },
    });
    this.#carrier = {
      runner: compile(instrumented, { logger: false, ...scenario.runner, store, runtime }),
      clock,
      now: runtime.now,
      store,
      answers,
      guard: (work) => Promise.race([work, stopped]),
    };
  }

  get writes(): number {
    return this.#crash.writes;
  }

  get point(): CrashPoint | undefined {
    return this.#crash.point;
  }

  /** Starts the run and carries it to its end. Rejects when the engine is stopped. */
  async begin(): Promise<RunResult<S>> {
    const { runner } = this.#carrier;
    const { scenario } = this.#world;
    const handle = await this.#drive(runner.start(scenario.input, this.#options));
    return await this.#carryOn(handle.result());
  }

  /** Recovers what a stopped engine has left, or starts it when nothing is left. */
  async takeOver(): Promise<RunResult<S>> {
    const { runner, clock, now } = this.#carrier;
    const { runId } = this.#world;
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const handles = await this.#drive(runner.recover(workOptions(this.#options)));
      const handle = handles.find((h) => h.runId === runId);
      if (handle !== undefined) return await this.#carryOn(handle.result());
      try {
        const view = await this.#drive(runner.get(runId));
        if (view.status !== "running") return await this.#carryOn(Promise.resolve(view));
      } catch (error) {
        if (isUnknownRun(error)) return await this.begin();
        throw error;
      }
      const wake = await wakeOf(this.#carrier, runId) ?? now() + 1_000;
      await clock.advance(Math.max(0, wake - now()));
    }
    throw new Error(`superstep: run ${runId} was left running and ${MOST_TURNS} recoveries did not claim it`);
  }

  async #carryOn(work: Promise<RunResult<S>>): Promise<RunResult<S>> {
    const { runId, scenario } = this.#world;
    const { runner, clock } = this.#carrier;
    const options = workOptions(this.#options);
    let result = await carryOn(this.#carrier, runId, work, options);
    for (let rest = 0; rest < MOST_TURNS && result.status === "interrupted"; rest++) {
      const next = await clock.drive(this.#guard(Promise.resolve(scenario.finish?.(result, runner))));
      if (next === undefined) break;
      result = await carryOn(this.#carrier, runId, Promise.resolve(next), options);
    }
    return result;
  }

  #drive<T>(work: Promise<T>): Promise<T> {
    return this.#carrier.clock.drive(this.#guard(work));
  }

  #guard<T>(work: Promise<T>): Promise<T> {
    return this.#carrier.guard(work);
  }
}

/** Sets the clock of an engine now and then, first back and then right again, while it uses its store. */
function whileClockSteps(store: Store, runtime: ClockFork, by: Duration, chance: VirtualClock): Store {
  const ms = toMs(by)!;
  let behind = false;
  return aroundStore(store, async ({ apply }) => {
    if (chance.random() < STEPS) {
      runtime.step(behind ? ms : -ms);
      behind = !behind;
    }
    return await apply();
  });
}

/** How many calls of a store set a clock before. */
const STEPS = 0.2;

const MOST_TURNS = 100;
