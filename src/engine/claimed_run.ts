import type { Cursor } from "../checkpoint/log.ts";
import type { EventOf } from "../checkpoint/records.ts";
import { isSuperstepError, RunAbortedError } from "../errors.ts";
import { announce } from "./failure_log.ts";
import { ChildRuns, isAwaited, NOT_AWAITED } from "./child_runs.ts";
import type { Claim, Ending } from "./claim.ts";
import { Coordinator } from "./coordinator.ts";
import type { RunnerDeps, RunSettings } from "./runner_deps.ts";
import type { Hooks } from "./events.ts";
import type { Admission } from "./flow/flow.ts";
import { EventStream, reportUnheard, type RunHandle } from "./handle.ts";
import { cancelCalled, cancelRun } from "./operations/cancel.ts";
import type { OwnedRun, Owner } from "./ownership.ts";
import { returnToCaller } from "./released_bodies.ts";
import { type RunResult, viewOf } from "./result.ts";

/** One claim of a run with those who listen to it. */
export class ClaimedRun<S> {
  readonly #stream = new EventStream();
  readonly #coordinator: Coordinator<S>;
  readonly #deps: RunnerDeps<S>;
  readonly #observers: () => readonly Hooks[];
  readonly #cursor: Cursor<S>;
  readonly #isCalled: boolean;

  constructor(deps: RunnerDeps<S>, settings: RunSettings, owner: Owner, cursor: Cursor<S>) {
    const lasting = [...deps.hooks, ...settings.hooks];
    const all = [...lasting, this.#stream.hooks];
    this.#observers = () => this.#stream.isRead ? all : lasting;
    const children = new ChildRuns((runId) => cancelRun(deps, runId, NOT_AWAITED));
    this.#coordinator = new Coordinator(deps, settings, owner, cursor, this.#observers, children);
    this.#deps = deps;
    this.#cursor = cursor;
    this.#isCalled = settings.isCalled === true;
  }

  /**
   * Writes the first record of a run and begins to work on it. The run is held before, so that whoever finds the record
   * while its acknowledgement is on the way finds it at work.
   */
  static async create<S>(
    deps: RunnerDeps<S>,
    settings: RunSettings,
    owner: Owner,
    created: EventOf<"created">,
    state: S,
    admission?: Admission,
  ): Promise<RunHandle<S>> {
    const heard: ((run: OwnedRun) => void)[] = [];
    const early: OwnedRun = {
      poke: () => void heard.push((run) => run.poke()),
      lose: (error) => void heard.push((run) => run.lose(error)),
    };
    owner.hold(created.runId, early);
    try {
      const { cells, events } = admission ?? {};
      const write = { writer: owner.id, callers: settings.callers?.(), signal: settings.signal, cells };
      const work = new ClaimedRun(
        deps,
        settings,
        owner,
        await deps.log.create(created, state, write, events),
      );
      const { caller } = created;
      if (caller !== undefined && !await isAwaited(deps.log, caller)) work.#coordinator.cancel(NOT_AWAITED);
      work.#coordinator.hold();
      for (const pass of heard) pass(work.#coordinator);
      owner.release(created.runId, early);
      return work.begin(created);
    } catch (error) {
      owner.giveUp(created.runId, early, error);
      throw error;
    }
  }

  /** Takes the run over by an append; nothing of it is worked on before. False when it has to wait for its turn. */
  async claim(claim: Claim): Promise<boolean> {
    return await this.#coordinator.claim(claim);
  }

  /** Begins to work, and hands out the handle. */
  begin(created?: EventOf<"created">): RunHandle<S> {
    const ending = new Promise<Ending<S>>((resolve, reject) => {
      const begin = () => {
        if (created !== undefined) this.#announce(created);
        this.#coordinator.run().then(resolve, reject).finally(() => this.#stream.end());
      };
      // A start begins one macrotask later, so that whoever gets the handle can listen from the first event on.
      if (created === undefined) begin();
      else this.#deps.runtime.macrotask(begin);
    });
    const result = ending.then(
      ({ cursor, errors }) => resultOf(this.#deps, cursor, errors),
      (error) => this.#cancelled(error),
    ).then((result) => this.#ended(result, created === undefined));
    const { runId } = this.#cursor.checkpoint.run;
    let asked = false;
    reportUnheard(this.#deps.logger, runId, result, () => asked);
    return {
      runId,
      created: created !== undefined,
      result: () => {
        asked = true;
        return result;
      },
      cancel: (reason) => cancelRun(this.#deps, runId, reason),
      events: (options) => this.#stream.read(options),
    };
  }

  /** Whoever lost a run because it was cancelled meanwhile ends without an error. */
  async #cancelled(error: unknown): Promise<RunResult<S>> {
    if (!isSuperstepError(error, "OWNERSHIP_LOST")) throw error;
    const cursor = await this.#deps.log.load(this.#cursor.checkpoint.run.runId).catch(() => undefined);
    if (cursor?.checkpoint.run.status !== "cancelled") throw error;
    return resultOf(this.#deps, cursor);
  }

  /**
   * A run that got on without the one that it works for has that one look at it, and those that work for a cancelled one
   * end, before anybody hears of its end.
   */
  async #ended(result: RunResult<S>, resumed: boolean): Promise<RunResult<S>> {
    const { runId, caller } = result.run;
    const moved = !this.#isCalled && (resumed || result.status !== "interrupted");
    try {
      if (moved) await returnToCaller(this.#deps, caller);
      if (result.status === "cancelled") await cancelCalled(this.#deps, runId);
    } catch (error) {
      this.#deps.logger.warn(
        `superstep: not every run that works for ${runId}, or that it works for, knows of its end`,
        {
          runId,
          error,
        },
      );
    }
    return result;
  }

  #announce(created: EventOf<"created">): void {
    const { checkpoint } = this.#cursor;
    announce(this.#observers(), this.#deps.logger, checkpoint, checkpoint, [created]);
  }
}

/** The result of a run that nobody is at work on. */
export function resultOf<S>(
  deps: RunnerDeps<S>,
  cursor: Cursor<S>,
  errors?: ReadonlyMap<string, unknown>,
): RunResult<S> {
  const view = viewOf(deps.graph, deps.rules, cursor, errors);
  if (view.status !== "running") return view;
  throw new RunAbortedError(view.run.runId, view.run.revision);
}
