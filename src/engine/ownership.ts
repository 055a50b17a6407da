import type { Runtime, Timer } from "../runtime/runtime.ts";
import { perObject } from "../runtime/per_object.ts";
import type { Store } from "../store/store.ts";
import { isStoreOver, isSuperstepError, OwnershipLostError } from "../errors.ts";
import { BEAT_MS, LEASE_MS, OwnerWatch, type OwnOwners } from "./owner_watch.ts";

/**
 * What makes this process the owner of runs: an owner key written once, and a beat renewed while it owns any.
 *
 * 1. Whoever wants to own a run calls `acquire` first; the id it returns has a beat younger than a third of the lease.
 * 2. An owner whose key was deleted by another process is told so once and never used again; its runs are lost.
 * 3. An owner under which a run ended without a release is retired: its beat is no longer renewed once its other runs
 *    have ended, so that the lease runs out and any process may bury it and recover what it left.
 */
export class Ownership implements OwnOwners {
  /** What is known of the owners of other processes. */
  readonly watch: OwnerWatch;
  readonly #store: Store;
  readonly #runtime: Runtime;
  #current: Owner | undefined;
  #acquiring: Promise<Owner> | undefined;

  constructor(store: Store, runtime: Runtime) {
    this.#store = store;
    this.#runtime = runtime;
    this.watch = new OwnerWatch(store, runtime, this);
  }

  /** The owner for a new claim. */
  async acquire(): Promise<Owner> {
    const current = this.#current;
    if (current !== undefined && current.usable) {
      if (current.isFresh()) return current;
      if (await current.beat()) return current;
    }
    this.#acquiring ??= this.#register().finally(() => this.#acquiring = undefined);
    return await this.#acquiring;
  }

  /** The work on a run under this owner id in this process, also work that is about to claim or create it. */
  atWork(ownerId: string, runId: string): readonly OwnedRun[] {
    return [...this.#owners.get(ownerId)?.runs.get(runId) ?? []];
  }

  /** Whether the id is one of this process, alive or retired. */
  isOwn(ownerId: string): boolean {
    return this.#owners.has(ownerId);
  }

  standing(ownerId: string): ReturnType<OwnOwners["standing"]> {
    const owner = this.#owners.get(ownerId);
    if (owner === undefined || owner.usable) return owner && "working";
    return owner.runs.size > 0 ? "leaving" : "left";
  }

  prune(present: ReadonlySet<string>): void {
    for (const id of this.#owners.keys()) {
      if (!present.has(id) && this.standing(id) === "left") this.#owners.delete(id);
    }
  }

  /** Tells the run that its mailbox has changed, if it is at work here, and those who look for runs that are due. */
  poke(runId: string): void {
    for (const owner of this.#owners.values()) owner.poke(runId);
    for (const listener of this.#listeners) listener(runId);
  }

  /** Whether anybody in this process looks for runs that are due, as a worker does. */
  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  /** Calls `listener` when something in this process may have made a run due. A hint: nothing may rely on it. */
  listen(listener: (runId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  readonly #owners = new Map<string, Owner>();
  readonly #listeners = new Set<(runId: string) => void>();

  async #register(): Promise<Owner> {
    const owner = new Owner(this.#runtime.uuid(), this.#store, this.#runtime, this.watch);
    await this.#store.owners.register(owner.id);
    this.#owners.set(owner.id, owner);
    this.#current = owner;
    return owner;
  }
}

/** The ownership of this process in a store: one for all runners on it, so that the process has one beat there. */
export const ownershipOf: (store: Store, runtime: Runtime) => Ownership = perObject(
  (store, runtime) => new Ownership(store, runtime),
);

/** A run at work, as its owner sees it. */
export interface OwnedRun {
  /** Its mailbox has changed. */
  poke(): void;
  /** The owner is no more. */
  lose(error: OwnershipLostError): void;
}

/** How often pokes are read, in milliseconds. */
export const POLL_MS = 1_000;

/** One owner id of this process. */
export class Owner {
  /** Several hold one run while a second start or claim of it is on its way to be refused. */
  readonly runs: Map<string, Set<OwnedRun>> = new Map();
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #watch: OwnerWatch;
  #beatAt: number;
  #beatElapsed: number;
  #retired = false;
  #timer: Timer | undefined;

  constructor(readonly id: string, store: Store, runtime: Runtime, watch: OwnerWatch) {
    this.#store = store;
    this.#runtime = runtime;
    this.#watch = watch;
    this.#beatAt = runtime.now();
    this.#beatElapsed = runtime.elapsed();
  }

  /** Whether new runs may be claimed under this id. */
  get usable(): boolean {
    return !this.#retired;
  }

  isFresh(): boolean {
    return this.#sinceBeat() < BEAT_MS;
  }

  /** Whether another process may have taken this one for dead: frozen, it has not renewed its beat for a lease. */
  isOverdue(): boolean {
    return this.#sinceBeat() >= LEASE_MS;
  }

  /** The longer of what two clocks say: one can be set back, the other may stand still while the machine sleeps. */
  #sinceBeat(): number {
    const byClock = this.#runtime.now() - this.#beatAt;
    return Math.max(byClock, this.#runtime.elapsed() - this.#beatElapsed);
  }

  /** Renews the beat; false when another process has buried this owner. */
  async beat(): Promise<boolean> {
    const at = this.#runtime.now();
    const elapsed = this.#runtime.elapsed();
    let alive: boolean;
    try {
      alive = await this.#store.owners.beat(this.id);
    } catch (error) {
      if (isStoreOver(error)) this.#lose(error);
      throw error;
    }
    if (!alive) {
      this.#lose();
      return false;
    }
    this.#beatAt = at;
    this.#beatElapsed = elapsed;
    return true;
  }

  hold(runId: string, run: OwnedRun): void {
    const held = this.runs.get(runId);
    if (held === undefined) this.runs.set(runId, new Set([run]));
    else held.add(run);
    this.#arm();
  }

  /** The run has ended, was released, or was never got. */
  release(runId: string, run: OwnedRun): void {
    const held = this.runs.get(runId);
    if (held?.delete(run) === true && held.size === 0) this.runs.delete(runId);
    this.#rest();
  }

  poke(runId: string): void {
    for (const run of this.runs.get(runId) ?? []) run.poke();
  }

  /** A claim or creation has failed; where its outcome is not known, the store may say that this owner has the run. */
  giveUp(runId: string, run: OwnedRun, error: unknown): void {
    if (isSuperstepError(error, "STORE", "RUN_ABORTED")) this.retire(runId, run);
    else this.release(runId, run);
  }

  /** The run ended here while the store still says that this owner has it. */
  retire(runId: string, run: OwnedRun): void {
    this.#retired = true;
    this.release(runId, run);
  }

  #rest(): void {
    if (this.runs.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    if (this.#timer !== undefined || this.runs.size === 0) return;
    this.#timer = this.#runtime.wakeIn(POLL_MS, () => {
      this.#timer = undefined;
      void this.#tick().finally(() => this.#arm());
    }, { keepAlive: false });
  }

  /** A store that fails now is asked again at the next tick; appends find out for themselves. */
  async #tick(): Promise<void> {
    try {
      const pokes = await this.#store.owners.takePokes(this.id);
      for (const runId of pokes) this.poke(runId);
      // Whoever has posted something may want to know whether anybody is there.
      if (pokes.length === 0 && this.isFresh()) return;
      const from = this.#runtime.elapsed();
      await this.beat();
      if (this.#runtime.elapsed() - from >= BEAT_MS) this.#watch.forget();
      await this.#watch.look();
    } catch {
      // Nothing is lost by a missed tick, but what was watched counts no more while the store fails.
      this.#watch.forget();
    }
  }

  #lose(cause?: unknown): void {
    this.#retired = true;
    for (const [runId, held] of [...this.runs]) {
      for (const run of held) run.lose(new OwnershipLostError(runId, this.id, cause));
    }
    this.#rest();
  }
}
