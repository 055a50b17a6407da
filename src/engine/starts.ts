import type { EventOf } from "../checkpoint/records.ts";
import { isSuperstepError, RevisionConflictError } from "../errors.ts";
import { defined } from "../model/defined.ts";
import type { CellChange } from "../store/store.ts";
import type { Claims } from "./claims.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { hooksOf } from "./events.ts";
import { displace } from "./flow/displace.ts";
import type { Admission } from "./flow/flow.ts";
import { passOn } from "./flow/gate.ts";
import { EventStream, reportUnheard, type RunHandle } from "./handle.ts";
import { checkOptions } from "./known.ts";
import { cancelRun } from "./operations/cancel.ts";
import { removeStaleFork } from "./operations/remove_stale_fork.ts";
import { moment, settingsOf, type StartOptions, type SubmitOptions } from "./options.ts";
import { prepareRun, sameRun } from "./prepare_run.ts";
import type { RunResult } from "./result.ts";
import { ClaimedRun } from "./claimed_run.ts";

/** Under this the options of `submit` have cells that are demanded and changed with the first record of the run. */
export const WITH_CELLS: unique symbol = Symbol.for("superstep.with_cells") as never;

/** What `submit` answers. */
export interface Submitted {
  /** The id of the run. */
  readonly runId: string;
  /** Whether this call made the run: false where it was there before, or a singleton was live. */
  readonly created: boolean;
  /** Whether it is another run, which was live under the key of a singleton. */
  readonly skipped?: true;
}

/**
 * The beginnings of runs.
 *
 * 1. A bad argument is refused before anything is written.
 * 2. Where the graph has limits, the permits that a run gets, or its place in a queue, are written with its first record.
 */
export class Starts<S> {
  readonly #deps: RunnerDeps<S>;
  readonly #claims: Claims<S>;

  constructor(deps: RunnerDeps<S>, claims: Claims<S>) {
    this.#deps = deps;
    this.#claims = claims;
  }

  async start(input: unknown, options: StartOptions): Promise<RunHandle<S>> {
    checkOptions("start", options);
    const { created, state } = prepareRun(this.#deps, "start", input, options);
    const { runId } = created;
    const settings = await this.#claims.located(settingsOf("start", options), created.caller);
    const make = async (admission?: Admission) => {
      if (admission?.queued === undefined) {
        return await this.#claims.asOwner((owner) =>
          ClaimedRun.create(this.#deps, settings, owner, { ...created, owner: owner.id }, state, admission)
        );
      }
      await this.#store(created, state, options, admission);
      return this.followed(runId, options, true);
    };
    return await this.#begin(created, "begun", make, (id) => this.followed(id, options));
  }

  async submit(input: unknown, options: SubmitOptions): Promise<Submitted> {
    checkOptions("submit", options);
    const { runtime } = this.#deps;
    const at = options.at === undefined ? 0 : moment(options.at, runtime.now(), "submit", "at");
    const { created, state } = prepareRun(this.#deps, "submit", input, options);
    const { runId } = created;
    const isLater = at > runtime.now();
    const demanded = (options as { readonly [WITH_CELLS]?: readonly CellChange[] })[WITH_CELLS];
    const make = async (admission?: Admission): Promise<Submitted> => {
      const all = demanded === undefined ? admission?.cells : [...admission?.cells ?? [], ...demanded];
      await this.#store(
        created,
        state,
        options,
        { ...admission, ...defined({ cells: all }) },
        isLater ? at : 0,
      );
      return { runId, created: true };
    };
    const submitted = await this.#begin<Submitted>(
      created,
      isLater ? "later" : "stored",
      make,
      (id) => ({ runId: id, created: false, ...(id === runId ? {} : { skipped: true }) }),
    );
    this.#deps.ownership.poke(submitted.runId);
    return submitted;
  }

  /** The handle of a run that somebody else works on, or that waits for its turn. */
  followed(runId: string, options: StartOptions, created = false): RunHandle<S> {
    const stream = new EventStream();
    const hooks = [...hooksOf(options.hooks), stream.hooks];
    let result: Promise<RunResult<S>> | undefined;
    let asked = false;
    const follow = () => {
      if (result !== undefined) return result;
      result = this.#claims.follow(runId, { ...options, hooks }).finally(() => stream.end());
      reportUnheard(this.#deps.logger, runId, result, () => asked);
      return result;
    };
    return {
      runId,
      created,
      result: () => {
        asked = true;
        return follow();
      },
      cancel: (reason) => cancelRun(this.#deps, runId, reason),
      events: (reading) => {
        void follow();
        return stream.read(reading);
      },
    };
  }

  /** Stores a run that nobody is at work on. */
  async #store(
    created: EventOf<"created">,
    state: S,
    { signal }: SubmitOptions,
    admission: Partial<Pick<Admission, "queued" | "events" | "cells">> = {},
    at = 0,
  ): Promise<void> {
    const { queued, events, cells } = admission;
    const later = Math.min(queued?.until ?? Infinity, created.deadline ?? Infinity);
    const wake = queued === undefined ? at : Number.isFinite(later) ? later : undefined;
    await this.#deps.log.create(created, state, { wake, signal, cells }, events);
  }

  /** Makes a run, with what it gets or waits for where it has limits; or finds the one that it is. */
  async #begin<T>(
    created: EventOf<"created">,
    how: "begun" | "stored" | "later",
    make: (admission?: Admission) => Promise<T>,
    known: (runId: string) => T,
  ): Promise<T> {
    const { flow } = this.#deps;
    for (;;) {
      if (created.flow === undefined) {
        try {
          return await make();
        } catch (error) {
          if (await removeStaleFork(this.#deps, created, error)) continue;
          if (!await sameRun(this.#deps, created, error)) continue;
          return known(created.runId);
        }
      }
      const end = await flow.turn(created);
      let admission: Admission;
      let made: T;
      try {
        admission = await flow.admit(created, {}, this.#deps.runtime.now(), how);
        if (admission.live !== undefined) {
          const live = await this.#live(created, admission.live);
          if (live === undefined) continue;
          return known(live);
        }
        made = await make(admission);
      } catch (error) {
        // What the caller demanded is for the caller to read again.
        if (isSuperstepError(error, "CELL_CONFLICT") && error.fields["space"] !== "schedules") continue;
        if (!await sameRun(this.#deps, created, error)) continue;
        return known(created.runId);
      } finally {
        end();
      }
      await passOn(this.#deps, admission.passOn);
      if (admission.displaces !== undefined) {
        await displace(this.#deps, admission.displaces, {
          runId: created.runId,
          since: admission.queued!.since,
        });
      }
      return made;
    }
  }

  /** The run that a skipped start is answered with; `undefined` when it is gone and the permit is free after all. */
  async #live(created: EventOf<"created">, live: string): Promise<string | undefined> {
    const { log, flow } = this.#deps;
    const { runId } = created;
    if (await log.load(runId, { state: false }) !== undefined) {
      await sameRun(this.#deps, created, new RevisionConflictError(runId, 1, 0));
      return runId;
    }
    if (await log.load(live, { state: false }) !== undefined) return live;
    await flow.forget(created.flow!.singleton!, live);
    return undefined;
  }
}
