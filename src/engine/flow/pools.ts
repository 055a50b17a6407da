import { BuildError, isStoreOver, isSuperstepError } from "../../errors.ts";
import { isSamePool, type Pool } from "../../model/pool.ts";
import { perObject } from "../../runtime/per_object.ts";
import type { Runtime, Timer } from "../../runtime/runtime.ts";
import type { Cell, Store } from "../../store/store.ts";
import { bytesOf, parsed } from "./permits.ts";

/** What the cell of a pool holds. */
interface PoolState {
  /** The number of the newest grant or return. */
  readonly n: number;
  /** The limits, and when the process was started that gave them. */
  readonly limits: Pick<Pool, "concurrency" | "rate">;
  readonly since: number;
  /** How many permits each owner holds. */
  readonly held: Readonly<Record<string, number>>;
  /** Since when owners wait, where more do than permits are free. */
  readonly waiting: Readonly<Record<string, number>>;
  /** When bodies began, as far as the rate looks back. */
  readonly begun: readonly number[];
}

/** A pool, as it is shown to people. */
export interface PoolRow extends Pool {
  /** How many bodies are at work, by owner. */
  readonly held: Readonly<Record<string, number>>;
  /** The owners whose bodies wait, with the time since when. */
  readonly waiting: Readonly<Record<string, number>>;
}

/** A body that waits for a permit. */
interface Ticket {
  readonly owner: string;
  readonly since: number;
  readonly granted: (n: number) => void;
}

/** A permit that is given back. */
interface Return {
  readonly owner: string;
  readonly freed: (n: number) => void;
}

/** How often the cell of a pool is looked at while bodies wait, in milliseconds. */
const LOOK_MS = 200;
/** The pause after a fault of the store. */
const FAULT_MS = 1_000;
/** For how long owners are taken to be as they were seen. */
const OWNERS_MS = 2_000;
const SPACE = "pool";

/**
 * The permits of one pool, as one process asks for them and gives them back.
 *
 * 1. A permit is counted under the owner of the run; one whose owner key is gone counts no more.
 * 2. Every change of the cell is a compare-and-set, and takes in all that this process asks for and gives back by then.
 * 3. Where bodies of several processes wait, those that have waited longest are first.
 */
export class PoolClient {
  readonly #pool: Pool;
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #since: number;
  readonly #tickets: Ticket[] = [];
  readonly #returns: Return[] = [];
  #alive: { readonly ids: ReadonlySet<string>; readonly at: number } | undefined;
  #isAtWork = false;
  #timer: Timer | undefined;
  #rung = false;
  #wake: (() => void) | undefined;

  constructor(pool: Pool, store: Store, runtime: Runtime, since: number) {
    this.#pool = pool;
    this.#store = store;
    this.#runtime = runtime;
    this.#since = since;
  }

  get pool(): Pool {
    return this.#pool;
  }

  /** Asks for a permit; what it answers takes the request back. */
  ask(owner: string, granted: (n: number) => void): () => void {
    const ticket = { owner, since: Math.floor(this.#runtime.now()), granted };
    this.#tickets.push(ticket);
    this.#ring();
    return () => {
      const at = this.#tickets.indexOf(ticket);
      if (at >= 0) this.#tickets.splice(at, 1);
      this.#ring();
    };
  }

  /** Gives a permit back; resolves with its number, or with none where the store does not take it now. */
  giveBack(owner: string): Promise<number> {
    return new Promise((resolve) => {
      this.#returns.push({ owner, freed: resolve });
      this.#ring();
    });
  }

  #ring(): void {
    this.#rung = true;
    this.#wake?.();
    if (!this.#isAtWork) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isAtWork = true;
    while (this.#tickets.length > 0 || this.#returns.length > 0) {
      this.#rung = false;
      let pause: number | undefined;
      try {
        pause = await this.#turn();
      } catch (error) {
        if (isSuperstepError(error, "CELL_CONFLICT")) pause = 1 + 20 * this.#runtime.random();
        else if (isStoreOver(error)) break;
        else pause = FAULT_MS;
      }
      const isDone = this.#tickets.length === 0 && this.#returns.length === 0;
      if (pause !== undefined && !isDone) await this.#sleep(pause);
    }
    this.#isAtWork = false;
  }

  /** Grants and takes back what can be; answers after how long to look again, `undefined`: at once. */
  async #turn(): Promise<number | undefined> {
    const [cell] = await this.#store.cells.read([{ space: SPACE, name: this.#pool.name }]);
    const now = this.#runtime.now();
    const returns = [...this.#returns];
    const owners = new Set(this.#tickets.map(({ owner }) => owner));
    let state = stateIn(cell!, this.#pool, this.#since, now);
    const before = JSON.stringify(state);
    const held = { ...state.held };
    let { n } = state;
    const freed = returns.map(({ owner }) => {
      if ((held[owner] ?? 0) > 1) held[owner]!--;
      else delete held[owner];
      return ++n;
    });
    const { concurrency = Infinity, rate } = state.limits;
    const sum = () => Object.values(held).reduce((all, count) => all + count, 0);
    const waiting = { ...state.waiting };
    if (this.#tickets.length > 0 && (sum() >= concurrency || Object.keys(waiting).length > 0)) {
      const alive = await this.#owners(owners);
      for (const id of Object.keys(held)) if (!alive.has(id)) delete held[id];
      for (const id of Object.keys(waiting)) if (!alive.has(id)) delete waiting[id];
    }
    const begun = rate === undefined ? [] : state.begun.filter((at) => at > now - rate.perMs && at <= now);
    const oldest = this.#tickets[0]?.since ?? Infinity;
    const earlier = Object.entries(waiting).filter(([id, since]) => !owners.has(id) && since < oldest).length;
    const free = Math.min(concurrency - sum(), (rate?.limit ?? Infinity) - begun.length) - earlier;
    const granted = this.#tickets.slice(0, Math.max(0, free)).map((ticket) => {
      held[ticket.owner] = (held[ticket.owner] ?? 0) + 1;
      if (rate !== undefined) begun.push(Math.floor(now));
      return { ticket, n: ++n };
    });
    for (const id of owners) delete waiting[id];
    const rest = this.#tickets.slice(granted.length);
    for (const { owner, since } of rest) waiting[owner] = Math.min(waiting[owner] ?? Infinity, since);
    state = { ...state, n, held, waiting, begun };
    const value = JSON.stringify(state);
    if (value !== before || cell === null) {
      await this.#store.cells.write({
        writeId: this.#runtime.uuid(),
        cells: [{
          space: SPACE,
          name: this.#pool.name,
          version: cell?.version ?? null,
          value: bytesOf(state),
        }],
      });
    }
    this.#returns.splice(0, returns.length);
    returns.forEach((one, i) => one.freed(freed[i]!));
    for (const { ticket, n } of granted) {
      const at = this.#tickets.indexOf(ticket);
      // It was taken back meanwhile.
      if (at < 0) this.#returns.push({ owner: ticket.owner, freed: () => {} });
      else {
        this.#tickets.splice(at, 1);
        ticket.granted(n);
      }
    }
    if (this.#returns.length > 0 || this.#rung) return undefined;
    const next = rate !== undefined && begun.length >= rate.limit ? begun[0]! + rate.perMs - now : Infinity;
    return Math.max(1, Math.min(next, LOOK_MS * (0.75 + this.#runtime.random() / 2)));
  }

  /** The owners that live; those of this process do as long as it asks. */
  async #owners(own: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const now = this.#runtime.elapsed();
    if (this.#alive === undefined || now - this.#alive.at > OWNERS_MS) {
      const rows = await this.#store.owners.list();
      const ids = new Set(rows.filter(({ buried }) => !buried).map(({ ownerId }) => ownerId));
      this.#alive = { ids, at: now };
    }
    return new Set([...this.#alive.ids, ...own]);
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#rung) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#timer = this.#runtime.wakeIn(ms, resolve, { keepAlive: this.#tickets.length > 0 });
    });
    this.#timer?.cancel();
    this.#wake = undefined;
  }
}

/** The pools that a process uses in a store. */
export class Pools {
  readonly #store: Store;
  readonly #clients = new Map<string, PoolClient>();
  #since: number | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * The permits of a pool.
   *
   * @throws {BuildError} another definition of that name, which limits something else, is used on the store by this process
   */
  of(pool: Pool, runtime: Runtime): PoolClient {
    this.#since ??= runtime.now();
    const known = this.#clients.get(pool.name);
    if (known !== undefined) {
      if (isSamePool(known.pool, pool)) return known;
      throw new BuildError("compile", `there are two pools ${pool.name} with other limits; define it once`, {
        pool: pool.name,
      });
    }
    const client = new PoolClient(pool, this.#store, runtime, this.#since);
    this.#clients.set(pool.name, client);
    return client;
  }
}

/** The pools of a store: one object for all runners on it. */
export const poolsOf: (store: Store) => Pools = perObject((store) => new Pools(store));

/** The pools of a store that have been used, by name. */
export async function listPools(store: Store): Promise<readonly PoolRow[]> {
  const cells = await store.cells.list(SPACE, { limit: 1_000 });
  return cells.map((cell) => {
    const { limits, held, waiting } = parsed<PoolState>(cell);
    return { name: cell.name, ...limits, held, waiting };
  });
}

/** What is stored of a pool, under the limits of the process that was started last. */
function stateIn(cell: Cell | null, pool: Pool, since: number, now: number): PoolState {
  const { name: _, ...limits } = pool;
  if (cell === null) return { n: Math.floor(now), limits, since, held: {}, waiting: {}, begun: [] };
  const state = parsed<PoolState>(cell);
  return state.since >= since ? state : { ...state, limits, since };
}
