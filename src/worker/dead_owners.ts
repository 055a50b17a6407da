import type { Logger } from "../engine/events.ts";
import { BEAT_MS } from "../engine/owner_watch.ts";
import { type Ownership, POLL_MS } from "../engine/ownership.ts";
import { isSuperstepError, reasonOf } from "../errors.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import { Alarm } from "../runtime/alarm.ts";
import { Backoff } from "./backoff.ts";
import { type Delivery, type Dispatch, type GraphKey, keyText } from "./control_plane.ts";

/**
 * The runs that dead processes left, each delivered to be claimed.
 *
 * 1. Who is dead is for `OwnerWatch` to tell; this looks about once a second, so that it tells within little more than a lease.
 * 2. An owner is buried before any of its runs is delivered; one that has none left is forgotten.
 * 3. Runs of versions that are not served are moved to one that is, or left to the workers that have them.
 */
export class DeadOwners {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #ownership: Ownership;
  readonly #logger: Logger;
  readonly #graphOf: (runId: string) => Promise<GraphKey>;
  readonly #move: (run: Dispatch, ownerId: string) => Promise<boolean>;
  readonly #alarm: Alarm;
  readonly #backoff: Backoff;
  readonly #watched = new Map<string, Watched>();

  constructor(
    store: Store,
    runtime: Runtime,
    ownership: Ownership,
    logger: Logger,
    graphOf: (runId: string) => Promise<GraphKey>,
    move: (run: Dispatch, ownerId: string) => Promise<boolean>,
  ) {
    this.#store = store;
    this.#runtime = runtime;
    this.#ownership = ownership;
    this.#logger = logger;
    this.#graphOf = graphOf;
    this.#move = move;
    this.#alarm = new Alarm(runtime);
    this.#backoff = new Backoff(runtime, { firstMs: BEAT_MS, longestMs: 5 * 60_000 });
  }

  async *consume(keys: readonly GraphKey[], signal: AbortSignal): AsyncGenerator<Delivery, void, undefined> {
    const wanted = new Set(keys.map(keyText));
    while (!signal.aborted) {
      let next = POLL_MS;
      try {
        const { dead, left } = await this.#ownership.watch.look();
        next = Math.min(next, left);
        for (const id of this.#watched.keys()) if (!dead.has(id)) this.#watched.delete(id);
        for (const ownerId of dead) yield* this.#left(ownerId, wanted, signal);
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

  /** Delivers the runs that a dead owner left. */
  async *#left(
    ownerId: string,
    wanted: ReadonlySet<string>,
    signal: AbortSignal,
  ): AsyncGenerator<Delivery, void, undefined> {
    const watched = this.#watched.get(ownerId) ?? { graphs: new Map(), limit: BATCH };
    this.#watched.set(ownerId, watched);
    const runs = await this.#store.owners.ownedBy(ownerId, watched.limit, { signal });
    if (runs.length === 0) return await this.#store.owners.forget(ownerId, { signal });
    let served = 0;
    for (const runId of runs) {
      if (signal.aborted) return;
      if (this.#ownership.atWork(ownerId, runId).length > 0) continue;
      let key = watched.graphs.get(runId);
      if (key === undefined && (key = await this.#find(runId)) !== undefined) watched.graphs.set(runId, key);
      if (key === undefined || key === null) continue;
      if (!wanted.has(keyText(key))) {
        // What has moved is nobody's, and due.
        if (await this.#moved({ ...key, runId }, ownerId)) watched.graphs.delete(runId);
        continue;
      }
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

  async #moved({ runId, graphId, graphVersion }: Dispatch, ownerId: string): Promise<boolean> {
    try {
      return await this.#move({ runId, graphId, graphVersion }, ownerId);
    } catch (error) {
      this.#logger.warn(`superstep: run ${runId} cannot be taken over: ${reasonOf(error)}`, { runId });
      return false;
    }
  }

  /** The graph of a run; a run that is gone, or damaged beyond that, has none. Undefined when the store cannot tell. */
  async #find(runId: string): Promise<GraphKey | null | undefined> {
    try {
      return await this.#graphOf(runId);
    } catch (error) {
      if (isSuperstepError(error, "CHECKPOINT_NOT_FOUND")) return null;
      this.#logger.warn(`superstep: run ${runId} cannot be taken over: ${reasonOf(error)}`, { runId });
      return isSuperstepError(error, "STORE") ? undefined : null;
    }
  }
}

/** What this process has seen of a dead owner. */
interface Watched {
  /** The graphs of its runs, as far as they were looked up. */
  readonly graphs: Map<string, GraphKey | null>;
  /** How many of its runs are looked at. */
  limit: number;
}

const SHORTEST_MS = 250;
const BATCH = 1_000;
