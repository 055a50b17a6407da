import type { Hooks, Logger } from "../engine/events.ts";
import { span, type SubmitOptions, type WorkOptions } from "../engine/options.ts";
import { isStoreOver, isSuperstepError, reasonOf } from "../errors.ts";
import type { CompiledSchedule } from "../model/definition.ts";
import type { CompiledFlow } from "../model/flow.ts";
import type { Duration } from "../model/durations.ts";
import type { RunRecord } from "../model/run.ts";
import { allowManyListeners } from "../runtime/many_listeners.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import { Alarm } from "../runtime/alarm.ts";
import { pause } from "./backoff.ts";
import { type ControlPlane, type Delivery, type Dispatch, type GraphKey, keyText } from "./control_plane.ts";
import { Slots } from "./slots.ts";

/** What a worker needs of a runner; every {@link Runner} is one. */
export interface ServedRunner {
  /** The graph whose runs it works on. */
  readonly graph: {
    readonly id: string;
    readonly version: string;
    readonly schedules?: readonly CompiledSchedule[];
    readonly flow?: CompiledFlow;
  };
  /** Where they are kept. */
  readonly store: Store;
  /** As {@link Runner.claim}. */
  claim(runId: string, options?: WorkOptions): Promise<{ result(): Promise<unknown> } | undefined>;
  /** As {@link Runner.status}. */
  status(runId: string): Promise<RunRecord>;
  /** As {@link Runner.sweep}. */
  sweep?(): Promise<void>;
  /** As {@link Runner.adopt}; without it runs of other versions are left alone. */
  adopt?(runId: string): Promise<boolean>;
  /** As {@link Runner.cancel}; schedules with `overlap: "cancel"` need it. */
  cancel?(runId: string, reason?: string): Promise<unknown>;
  /** As {@link Runner.submit}. */
  submit(input: unknown, options?: SubmitOptions): Promise<{ readonly runId: string }>;
}

/** A process, or a part of one, that works on the runs of a store: what {@link serve} returns. */
export interface Worker extends AsyncDisposable {
  /** The versions of graphs whose runs it works on. */
  readonly keys: readonly GraphKey[];
  /** How many runs it is at work on. */
  readonly active: number;
  /** Resolves when it has stopped, whatever made it stop. */
  readonly stopped: Promise<void>;
  /**
   * Stops: it takes no more runs, gives those at work the time of grace to come to an end or a pause, then aborts their
   * bodies and lets the runs go, to be taken up at once by whoever else serves them. Calling it again cuts the grace to
   * what is given then.
   *
   * @param grace @default what `serve` was given
   */
  stop(grace?: Duration): Promise<void>;
  /** Stops. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** What a worker is made of. */
export interface WorkerParts {
  readonly runners: ReadonlyMap<string, ServedRunner>;
  /** Where dispatches come from; the first one is read from the store. */
  readonly sources: readonly Source[];
  /** Further loops, which end when the signal is aborted. */
  readonly loops: readonly ((signal: AbortSignal, worker: Pick<Worker, "active">) => Promise<void>)[];
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly concurrency: number;
  readonly graceMs: number;
  readonly hooks: Hooks | undefined;
  /** Called once when the worker has stopped. */
  readonly ended: () => void | Promise<void>;
}

/** A part of a control plane. */
export interface Source extends Pick<ControlPlane, "consume"> {
  /** Whether the worker has nothing to do once this source has ended. */
  readonly essential: boolean;
}

/**
 * The loops of a worker.
 *
 * 1. A run is worked on only after it was claimed, and at most `concurrency` of them are at a time.
 * 2. Of each delivery exactly one of `ack` and `nack` is called, after the run has ended, paused or was let go.
 * 3. A run is in hand once, however many sources deliver it.
 * 4. When `stopped` resolves, no loop runs, no run is at work, and no timer or listener is left.
 * 5. A run that only waits for timers or backoff is let go as soon as another one waits for its place.
 */
export class WorkerLoops implements Worker {
  readonly keys: readonly GraphKey[];
  readonly stopped: Promise<void>;
  readonly #parts: WorkerParts;
  readonly #slots: Slots;
  readonly #intake = new AbortController();
  readonly #release = new AbortController();
  readonly #inHand = new Set<string>();
  /** Each has a run let go as soon as that only waits. */
  readonly #drains = new Set<AbortController>();
  readonly #atWork = new Set<Promise<void>>();
  readonly #alarm: Alarm;
  readonly #loops: Promise<unknown>;
  #graceEnds = Infinity;
  #active = 0;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#slots = new Slots(parts.concurrency, () => this.#drain());
    // Every run at work and every loop listens.
    allowManyListeners(this.#release.signal);
    allowManyListeners(this.#intake.signal);
    this.#alarm = new Alarm(parts.runtime);
    this.keys = [...parts.runners.values()].map(({ graph }) => ({
      graphId: graph.id,
      graphVersion: graph.version,
    }));
    const { signal } = this.#intake;
    this.#loops = Promise.all([
      ...parts.sources.map((source) => this.#pump(source)),
      ...parts.loops.map((loop) => loop(signal, this)),
    ]);
    this.stopped = this.#run();
  }

  get active(): number {
    return this.#active;
  }

  stop(grace?: Duration): Promise<void> {
    const { runtime, graceMs } = this.#parts;
    this.#graceEnds = Math.min(this.#graceEnds, runtime.elapsed() + span(grace, graceMs, "stop", "grace"));
    this.#intake.abort(new Error("the worker stops"));
    this.#drain();
    this.#alarm.ring();
    return this.stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(): Promise<void> {
    await this.#loops;
    const { runtime, logger, ended } = this.#parts;
    if (!this.#intake.signal.aborted) void this.stop();
    await this.#idleUntil(() => this.#graceEnds);
    this.#release.abort(new Error("the worker stops"));
    const patience = runtime.elapsed() + RELEASE_MS;
    await this.#idleUntil(() => patience);
    if (this.#atWork.size > 0) {
      logger.warn("superstep: a worker stops without having let go of every run; others recover them", {
        runs: [...this.#inHand],
      });
    }
    await ended();
  }

  /** Waits until no run is at work, or until that time of the elapsed ones. */
  async #idleUntil(deadline: () => number): Promise<void> {
    const { runtime } = this.#parts;
    while (this.#atWork.size > 0) {
      const { rings } = this.#alarm;
      const left = deadline() - runtime.elapsed();
      if (left <= 0) return;
      await this.#alarm.sleep(left, rings);
    }
  }

  /** Takes what a source delivers; one that breaks is asked again after a pause. */
  async #pump(source: Source): Promise<void> {
    const { signal } = this.#intake;
    const { runtime, logger } = this.#parts;
    for (let faults = 0; !signal.aborted;) {
      try {
        for await (const delivery of source.consume(this.keys, signal)) {
          faults = 0;
          await this.#take(delivery);
        }
        if (source.essential && !signal.aborted) void this.stop();
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (isSuperstepError(error, "CONTROL_PLANE_CLOSED") || this.#isOver(error)) return;
        logger.warn(`superstep: a control plane fails, the store is asked meanwhile: ${reasonOf(error)}`, {});
        const wait = pause({ firstMs: 500, longestMs: 30_000 }, ++faults, runtime.random());
        await this.#alarm.sleep(wait, this.#alarm.rings, signal);
      }
    }
  }

  async #take(delivery: Delivery): Promise<void> {
    const { runId } = delivery.dispatch;
    // The other delivery of it is as good as this one.
    if (this.#inHand.has(runId)) return await this.#settle(delivery, true);
    this.#inHand.add(runId);
    if (!await this.#slots.take(this.#intake.signal)) {
      this.#inHand.delete(runId);
      return await this.#settle(delivery, false);
    }
    const work = this.#work(delivery).finally(() => {
      this.#slots.release();
      this.#inHand.delete(runId);
      this.#atWork.delete(work);
      this.#alarm.ring();
    });
    this.#atWork.add(work);
  }

  async #work(delivery: Delivery): Promise<void> {
    this.#active++;
    let done = false;
    try {
      done = await this.#lookAt(delivery.dispatch);
    } catch (error) {
      const { runId } = delivery.dispatch;
      if (!this.#isOver(error)) {
        this.#parts.logger.warn(`superstep: run ${runId} is put off: ${reasonOf(error)}`, { runId });
      }
    } finally {
      this.#active--;
    }
    await this.#settle(delivery, done);
  }

  /** Stops, and says why, when nothing more can be done with the store. */
  #isOver(error: unknown): boolean {
    const cause = isSuperstepError(error, "OWNERSHIP_LOST") ? error.cause : error;
    if (!isStoreOver(cause)) return false;
    if (!this.#intake.signal.aborted) {
      this.#parts.logger.warn(`superstep: the worker stops: ${reasonOf(cause)}`, {});
      void this.stop(0);
    }
    return true;
  }

  /** Works on a run until it is over, paused or let go; false when this worker cannot. */
  async #lookAt(dispatch: Dispatch): Promise<boolean> {
    const runner = this.#parts.runners.get(keyText(dispatch));
    if (runner === undefined) return false;
    const { hooks } = this.#parts;
    const drain = new AbortController();
    this.#drains.add(drain);
    if (this.#slots.areWanted || this.#intake.signal.aborted) this.#drain();
    try {
      const handle = await runner.claim(dispatch.runId, {
        signal: this.#release.signal,
        drain: drain.signal,
        ...(hooks === undefined ? {} : { hooks }),
      });
      await handle?.result().catch((error) => {
        if (!this.#isOver(error) && !LET_GO.some((code) => isSuperstepError(error, code))) throw error;
      });
    } finally {
      this.#drains.delete(drain);
    }
    return true;
  }

  /** Has the runs at work let go as soon as they only wait. */
  #drain(): void {
    for (const drain of this.#drains) drain.abort(new Error("the place is wanted"));
    this.#drains.clear();
  }

  async #settle(delivery: Delivery, done: boolean): Promise<void> {
    try {
      await (done ? delivery.ack() : delivery.nack());
    } catch (error) {
      const { runId } = delivery.dispatch;
      this.#parts.logger.warn(`superstep: the delivery of run ${runId} was not settled: ${reasonOf(error)}`, {
        runId,
      });
    }
  }
}

/** Faults of a result that say that the run is in other hands, or nobody's. */
const LET_GO = ["RUN_ABORTED", "OWNERSHIP_LOST"];

/** How long a worker that stops waits for its runs to be let go. */
const RELEASE_MS = 10_000;
