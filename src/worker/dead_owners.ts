import type { Logger } from "../engine/events.ts";
import { BEAT_MS, LEASE_MS, type Ownership } from "../engine/ownership.ts";
import { isSuperstepError, reasonOf } from "../errors.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { OwnerRow, Store } from "../store/store.ts";
import { Alarm } from "../runtime/alarm.ts";
import { Backoff } from "./backoff.ts";
import { type Delivery, type GraphKey, keyText } from "./control_plane.ts";

/**
 * The runs that dead processes left, each delivered to be claimed.
 *
 * 1. An owner is dead when it has not renewed its beat for a lease: by what this process has watched itself, or by the
 *    time of the beat and two beats that this process has watched it miss. So a clock that is wrong, or was set, makes
 *    nobody dead who is alive.
 * 2. An owner is buried before any of its runs is delivered; one that has none left is forgotten.
 * 3. Runs of versions that are not served are left to the workers that have them.
 */
export class DeadOwners {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #ownership: Ownership;
  readonly #logger: Logger;
  readonly #graphOf: (runId: string) => Promise<GraphKey>;
  readonly #alarm: Alarm;
  readonly #backoff: Backoff;
  readonly #watched = new Map<string, Watched>();

  constructor(
    store: Store,
    runtime: Runtime,
    ownership: Ownership,
    logger: Logger,
    graphOf: (runId: string) => Promise<GraphKey>,
  ) {
    this.#store = store;
    this.#runtime = runtime;
    this.#ownership = ownership;
    this.#logger = logger;
    this.#graphOf = graphOf;
    this.#alarm = new Alarm(runtime);
    this.#backoff = new Backoff(runtime, { firstMs: BEAT_MS, longestMs: 5 * 60_000 });
  }

  async *consume(keys: readonly GraphKey[], signal: AbortSignal): AsyncGenerator<Delivery, void, undefined> {
    const wanted = new Set(keys.map(keyText));
    while (!signal.aborted) {
      let next = BEAT_MS;
      try {
        const { dead, wait } = await this.#look(signal);
        next = Math.min(next, wait);
        for (const [ownerId, watched] of dead) yield* this.#left(ownerId, watched, wanted, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.warn(
          `superstep: the store cannot tell which processes are dead: ${reasonOf(error)}`,
          {},
        );
      }
      const jittered = next * (1 + this.#runtime.random() / 10);
      await this.#alarm.sleep(Math.max(SHORTEST_MS, jittered), this.#alarm.rings, signal);
    }
  }

  /** The dead owners, buried, and for how long no other one can be found dead. */
  async #look(
    signal: AbortSignal,
  ): Promise<{ readonly dead: ReadonlyMap<string, Watched>; readonly wait: number }> {
    const dead = new Map<string, Watched>();
    let wait = Infinity;
    const rows = await this.#store.owners.list({ signal });
    const present = new Set(rows.map(({ ownerId }) => ownerId));
    for (const id of this.#watched.keys()) if (!present.has(id)) this.#watched.delete(id);
    for (const row of rows) {
      if (this.#ownership.isOwn(row.ownerId)) continue;
      const watched = this.#watch(row);
      const left = row.buried ? 0 : this.#leaseLeft(row, watched);
      if (left > 0) wait = Math.min(wait, left);
      else if (row.buried || await this.#store.owners.bury(row.ownerId, row.beatVersion)) {
        dead.set(row.ownerId, watched);
      }
    }
    return { dead, wait };
  }

  #watch({ ownerId, beatVersion }: OwnerRow): Watched {
    const known = this.#watched.get(ownerId);
    if (known?.beatVersion === beatVersion) return known;
    const watched = {
      beatVersion,
      since: this.#runtime.elapsed(),
      graphs: known?.graphs ?? new Map<string, GraphKey | null>(),
      limit: known?.limit ?? BATCH,
    };
    this.#watched.set(ownerId, watched);
    return watched;
  }

  /** Milliseconds until the owner is dead unless it renews its beat; 0 when it is. */
  #leaseLeft({ beatAt }: OwnerRow, { since }: Watched): number {
    const silent = this.#runtime.elapsed() - since;
    const byClock = beatAt + LEASE_MS + 1 - this.#runtime.now();
    return Math.max(0, Math.min(LEASE_MS - silent, Math.max(byClock, MISSED_MS - silent)));
  }

  /** Delivers the runs that a dead owner left. */
  async *#left(
    ownerId: string,
    watched: Watched,
    wanted: ReadonlySet<string>,
    signal: AbortSignal,
  ): AsyncGenerator<Delivery, void, undefined> {
    const runs = await this.#store.owners.ownedBy(ownerId, watched.limit, { signal });
    if (runs.length === 0) return await this.#store.owners.forget(ownerId, { signal });
    let served = 0;
    for (const runId of runs) {
      if (signal.aborted) return;
      let key = watched.graphs.get(runId);
      if (key === undefined) watched.graphs.set(runId, key = await this.#find(runId));
      if (key === null || !wanted.has(keyText(key))) continue;
      served++;
      if (this.#backoff.left(runId) > 0) continue;
      yield {
        dispatch: { runId, graphId: key.graphId, graphVersion: key.graphVersion },
        // deno-lint-ignore require-await
        ack: async () => this.#backoff.succeed(runId),
        // deno-lint-ignore require-await
        nack: async () => void this.#backoff.fail(runId),
      };
    }
    // What others have to serve must not hide what is to be served here.
    if (served === 0 && runs.length === watched.limit) watched.limit *= 2;
  }

  /** The graph of a run; a run that is gone, or damaged beyond that, has none. */
  async #find(runId: string): Promise<GraphKey | null> {
    try {
      return await this.#graphOf(runId);
    } catch (error) {
      if (isSuperstepError(error, "STORE")) throw error;
      if (isSuperstepError(error, "CHECKPOINT_NOT_FOUND")) return null;
      this.#logger.warn(`superstep: run ${runId} cannot be taken over: ${reasonOf(error)}`, { runId });
      return null;
    }
  }
}

/** What this process has seen of an owner. */
interface Watched {
  readonly beatVersion: string;
  /** When this beat was first seen, in elapsed milliseconds. */
  readonly since: number;
  /** The graphs of its runs, as far as they were looked up. */
  readonly graphs: Map<string, GraphKey | null>;
  /** How many of its runs are looked at. */
  limit: number;
}

/** An owner that was silent for so long while it was watched has missed two beats. */
const MISSED_MS = 2 * BEAT_MS;
const SHORTEST_MS = 250;
const BATCH = 1_000;
