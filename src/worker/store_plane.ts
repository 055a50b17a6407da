import type { Logger } from "../engine/events.ts";
import { ownershipOf } from "../engine/ownership.ts";
import { LAST_AT_ONCE, postpone } from "../engine/wakes.ts";
import { ArgumentError, ControlPlaneClosedError, isStoreOver, reasonOf } from "../errors.ts";
import { type Duration, toMs } from "../model/durations.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { systemRuntime } from "../runtime/system.ts";
import type { CallOptions, Store, WakeOptions, WakeRow } from "../store/store.ts";
import { Alarm } from "../runtime/alarm.ts";
import { Backoff, type BackoffLimits, pause } from "./backoff.ts";
import { type ControlPlane, type Delivery, type Dispatch, type GraphKey, keyText } from "./control_plane.ts";

/** Options of {@link storePlane}. */
export interface StorePlaneOptions {
  /** How often the store is asked for runs that are due, on average. @default "1s" */
  readonly poll?: Duration;
  /** The first pause before a run that could not be looked at is delivered again; it doubles up to 5 minutes. @default "1s" */
  readonly backoff?: Duration;
  /** The clock, timers and randomness. @default the system's */
  readonly runtime?: Runtime;
  /** Told when the store cannot be read. @default nobody */
  readonly logger?: Logger | false | null;
}

/**
 * The default control plane: the wake index of a store. A run that is due has a wake there, whoever made it due, so
 * nothing need be submitted; `submit` only saves consumers in this process the rest of a polling period.
 *
 * 1. What is delivered is read from the store and may have been claimed since: the claim decides.
 * 2. `ack` frees the run. Its wake went when it was claimed; one that is still due after it was looked at is delivered
 *    again one polling period later.
 * 3. `nack` sets the run a later wake, so that it is put off for every worker; where it has none, or that fails, this
 *    plane alone puts it off.
 * 4. Where the store hands out leases, due runs are taken by lease, so that workers do not race for them. Leases of what was not
 *    claimed are given back with the next look.
 * 5. A consumer looks when it is asked for a delivery and nothing is at hand: at once after a hint, else after a jittered
 *    polling period, or exactly when the next wake falls due before that.
 */
export function storePlane(store: Store, options: StorePlaneOptions = {}): ControlPlane {
  return new StorePlane(store, options);
}

/** Rows that are read at once, and how many of those that are due a consumer chooses from. */
const PAGE = 100;
const WINDOW = 32;

/** Runs that are leased at once, and for how many polling periods: as long as a claim may take. */
const TAKE = 8;
const LEASES = 5;

const LONGEST_BACKOFF_MS = 5 * 60_000;
/** Pauses while the store cannot be read. */
const STORE_FAULTS: BackoffLimits = { firstMs: 500, longestMs: 30_000 };

const STORE = Symbol.for("superstep.plane.store");

/** Whether a plane is the default one of that store. */
export function isPlaneOf(plane: ControlPlane, store: Store): boolean {
  return (plane as { readonly [STORE]?: unknown })[STORE] === store;
}

class StorePlane implements ControlPlane {
  readonly [STORE]: Store;
  readonly #runtime: Runtime;
  readonly #logger: Logger | undefined;
  readonly #pollMs: number;
  readonly #alarm: Alarm;
  readonly #backoff: Backoff;
  /** The delivery that each run in hand is in the hands of. */
  readonly #inHand = new Map<string, object>();
  /** Runs that were not acknowledged and may have no wake. */
  readonly #again = new Map<string, Dispatch>();
  /** The wake under which a run was acknowledged, until a polling period has passed. */
  readonly #settled = new Map<string, { readonly due: number; readonly until: number }>();
  readonly #unlisten: (() => void)[];
  /** Leases of what was acknowledged, or not delivered. */
  #back: Pick<WakeRow, "runId" | "due">[] = [];
  #closed = false;

  constructor(store: Store, options: StorePlaneOptions) {
    const { runtime = systemRuntime } = options;
    this[STORE] = store;
    this.#runtime = runtime;
    this.#logger = options.logger || undefined;
    this.#pollMs = spanOf("poll", options.poll, 1_000);
    this.#alarm = new Alarm(runtime);
    const firstMs = spanOf("backoff", options.backoff, 1_000);
    this.#backoff = new Backoff(runtime, { firstMs, longestMs: Math.max(firstMs, LONGEST_BACKOFF_MS) });
    this.#unlisten = [
      ownershipOf(store, runtime).listen((runId) => {
        this.#unsettle(runId);
        this.#alarm.ring();
      }),
    ];
    const heard = store.hints?.(({ ownerId }) => {
      if (ownerId === undefined) this.#alarm.ring();
    });
    if (heard !== undefined) this.#unlisten.push(heard);
  }

  // deno-lint-ignore require-await
  async submit(_: Dispatch, { signal }: CallOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    this.#checkOpen("submit");
    this.#alarm.ring();
  }

  async *consume(keys: readonly GraphKey[], signal?: AbortSignal): AsyncGenerator<Delivery, void, undefined> {
    signal?.throwIfAborted();
    this.#checkOpen("consume");
    const wanted = new Set(keys.map(keyText));
    const held: Held = new Map();
    let faults = 0;
    try {
      while (!this.#closed && signal?.aborted !== true) {
        const { rings } = this.#alarm;
        let delivered = false;
        let next = this.#pollMs * (0.75 + this.#runtime.random() / 2);
        try {
          const look = await this.#look(keys, wanted, signal);
          faults = 0;
          next = Math.min(next, look.next);
          const stale = this.#runtime.elapsed() + this.#pollMs;
          let left = look.due.length;
          try {
            for (const { dispatch, due } of look.due) {
              if (this.#closed || signal?.aborted || this.#runtime.elapsed() > stale) break;
              left--;
              if (this.#inHand.has(dispatch.runId)) continue;
              delivered = true;
              yield this.#deliver(dispatch, due, held);
            }
          } finally {
            if (left > 0) {
              for (const { dispatch, due } of look.due.slice(-left)) this.#giveBack(dispatch.runId, due);
            }
          }
        } catch (error) {
          if (signal?.aborted) return;
          if (isStoreOver(error)) throw error;
          next = pause(STORE_FAULTS, ++faults, this.#runtime.random());
          this.#logger?.warn(`superstep: the store cannot tell which runs are due: ${reasonOf(error)}`, {});
        }
        if (!delivered) await this.#alarm.sleep(next, rings, signal);
      }
    } finally {
      for (const [runId, { token, due }] of held) {
        this.#free(runId, token);
        this.#giveBack(runId, due);
      }
      this.#returnLeases();
    }
  }

  // deno-lint-ignore require-await
  async close(): Promise<void> {
    this.#closed = true;
    for (const end of this.#unlisten) end();
    this.#alarm.ring();
  }

  #checkOpen(op: string): void {
    if (this.#closed) throw new ControlPlaneClosedError(op);
  }

  /** What is due and nobody's yet, in no order, and for how long nothing else will be. */
  async #look(
    keys: readonly GraphKey[],
    wanted: ReadonlySet<string>,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly due: readonly Due[]; readonly next: number }> {
    const now = this.#runtime.now();
    const elapsed = this.#runtime.elapsed();
    for (const [runId, { until }] of this.#settled) if (until <= elapsed) this.#unsettle(runId);
    const due = new Map<string, Due>();
    let next = Infinity;
    const consider = (dispatch: Dispatch, at: number | undefined, wait: number) => {
      const { runId } = dispatch;
      if (this.#inHand.has(runId)) return;
      const left = Math.max(wait, this.#backoff.left(runId), this.#rest(runId, at));
      if (left > 0) next = Math.min(next, left);
      else if (!due.has(runId)) due.set(runId, { dispatch, due: at });
    };
    for (const dispatch of this.#again.values()) {
      if (wanted.has(keyText(dispatch))) consider(dispatch, undefined, 0);
    }
    const { leases } = this[STORE];
    if (leases !== undefined) {
      const back = this.#back.splice(0);
      const query = { keys, until: now, limit: TAKE, forMs: LEASES * this.#pollMs, back };
      const { rows, next: upcoming = Infinity } = await leases.take(
        query,
        signal === undefined ? {} : { signal },
      );
      for (const { runId, graphId, graphVersion, due: at } of rows) {
        consider({ runId, graphId, graphVersion }, at, 0);
      }
      // Those that were handed out with these wait for their turn.
      return { due: [...due.values()], next: Math.min(next, upcoming - now) };
    }
    let after: WakeOptions["after"];
    for (let room = WINDOW; due.size < room;) {
      const rows = await this[STORE].wakes(now + this.#pollMs, PAGE, {
        ...(signal === undefined ? {} : { signal }),
        ...(after === undefined ? {} : { after }),
      });
      for (const { runId, graphId, graphVersion, due: at } of rows) {
        const dispatch = { runId, graphId, graphVersion };
        if (due.size < room && wanted.has(keyText(dispatch))) consider(dispatch, at, at - now);
      }
      if (rows.length < PAGE) break;
      after = rows.at(-1)!;
      // Times that have come are looked for also behind a backlog of what is due at once.
      if (due.size >= room && room === WINDOW && after.due < LAST_AT_ONCE) {
        after = { due: LAST_AT_ONCE, runId: "" };
        room += WINDOW;
      }
    }
    return { due: shuffled([...due.values()], this.#runtime), next };
  }

  #unsettle(runId: string): void {
    const settled = this.#settled.get(runId);
    if (settled === undefined) return;
    this.#settled.delete(runId);
    this.#giveBack(runId, settled.due);
  }

  #giveBack(runId: string, due: number | undefined): void {
    if (due !== undefined && this[STORE].leases !== undefined) this.#back.push({ runId, due });
  }

  /** Others need not wait for leases that nobody uses here. */
  #returnLeases(): void {
    const back = this.#back.splice(0);
    if (back.length === 0) return;
    const query = { keys: [], until: 0, limit: 1, forMs: 0, back };
    // They run out by themselves.
    this[STORE].leases?.take(query).catch(() => {});
  }

  /** For how long a run that was acknowledged under this wake is left alone. */
  #rest(runId: string, due: number | undefined): number {
    const settled = this.#settled.get(runId);
    return settled === undefined || settled.due !== due ? 0 : settled.until - this.#runtime.elapsed();
  }

  #deliver(dispatch: Dispatch, due: number | undefined, held: Held): Delivery {
    const { runId } = dispatch;
    const token = {};
    this.#inHand.set(runId, token);
    this.#again.delete(runId);
    held.set(runId, { token, due });
    let settled = false;
    const settle = () => {
      if (settled) return false;
      settled = true;
      held.delete(runId);
      this.#free(runId, token);
      return true;
    };
    return {
      dispatch,
      // deno-lint-ignore require-await
      ack: async () => {
        if (!settle()) return;
        this.#backoff.succeed(runId);
        if (due !== undefined) {
          this.#settled.set(runId, { due, until: this.#runtime.elapsed() + this.#pollMs });
        }
        this.#alarm.ring();
      },
      nack: async () => {
        if (!settle()) return;
        const delay = this.#backoff.fail(runId);
        if (!this.#closed) this.#again.set(runId, dispatch);
        try {
          await postpone(this[STORE], this.#runtime, dispatch, this.#runtime.now() + delay);
        } catch {
          // This plane remembers it.
        }
        this.#alarm.ring();
      },
    };
  }

  #free(runId: string, token: object): void {
    if (this.#inHand.get(runId) === token) this.#inHand.delete(runId);
  }
}

/** What a consumer holds, by run. */
type Held = Map<string, { readonly token: object; readonly due: number | undefined }>;

interface Due {
  readonly dispatch: Dispatch;
  /** Absent for a run that is tried again without a wake. */
  readonly due: number | undefined;
}

/** Workers that look at the same time begin with different runs. */
function shuffled<T>(items: T[], runtime: Runtime): readonly T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(runtime.random() * (i + 1));
    [items[i], items[j]] = [items[j]!, items[i]!];
  }
  return items;
}

function spanOf(name: string, value: Duration | undefined, fallback: number): number {
  const ms = value === undefined ? fallback : toMs(value);
  if (ms !== undefined && ms > 0) return ms;
  throw new ArgumentError(
    "storePlane",
    `${name} is ${String(value)}; give milliseconds or a text such as "1s"`,
  );
}
