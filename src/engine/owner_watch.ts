import { Alarm } from "../runtime/alarm.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { OwnerRow, Store } from "../store/store.ts";

/**
 * Tells which owners are dead, to all who ask in this process.
 *
 * 1. An owner of another process is dead when it has not renewed its beat for a lease while this process watched it.
 *    Times that others wrote prove nothing: no clock that is wrong, or was set, makes anybody dead who is alive.
 * 2. Silence counts only while the store answers and this process moves: a look that fails or is slow forgets what was
 *    watched, and between two looks not much more than a beat counts, however long it was.
 * 3. A dead owner is buried before it is named, so that it can append nothing any more; one that owns nothing is forgotten.
 * 4. An owner of this process that was retired is dead to the runs that nobody works on here.
 */
export class OwnerWatch {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #own: OwnOwners;
  readonly #alarm: Alarm;
  #seen = new Map<string, Seen>();
  #lookedAt = 0;
  #looking: Promise<Sighting> | undefined;

  constructor(store: Store, runtime: Runtime, own: OwnOwners) {
    this.#store = store;
    this.#runtime = runtime;
    this.#own = own;
    this.#alarm = new Alarm(runtime);
  }

  /** Reads all beats; those who ask at the same time share one reading. */
  look(): Promise<Sighting> {
    return this.#looking ??= this.#look().finally(() => this.#looking = undefined);
  }

  /** What an owner is by what was seen up to now. */
  async judge(ownerId: string): Promise<Standing> {
    const { dead, present, silent } = await this.look();
    if (dead.has(ownerId) || !present.has(ownerId)) return "gone";
    return silent.has(ownerId) ? "silent" : "alive";
  }

  /** Watches an owner until it has shown that it lives, or is gone; `ask` has it give a sign of life. */
  async settle(ownerId: string, ask: () => Promise<void>, signal?: AbortSignal): Promise<Standing> {
    for (let looks = 0;; looks++) {
      const standing = await this.judge(ownerId);
      if (standing !== "silent" || signal?.aborted) return standing;
      if (looks === 0) await ask();
      // Whoever lives answers within a poll; after that only a beat can come.
      const pause = looks < 4 ? BEAT_MS / 10 : BEAT_MS / 2;
      const left = LEASE_MS - (this.#seen.get(ownerId)?.silentMs ?? 0);
      await this.#alarm.sleep(Math.max(1, Math.min(pause, left)), this.#alarm.rings, signal);
    }
  }

  /** Nothing that was watched up to now counts. */
  forget(): void {
    for (const seen of this.#seen.values()) seen.silentMs = 0;
  }

  async #look(): Promise<Sighting> {
    const from = this.#runtime.elapsed();
    let rows: readonly OwnerRow[];
    try {
      rows = await this.#store.owners.list();
    } catch (error) {
      this.forget();
      throw error;
    }
    if (this.#runtime.elapsed() - from >= BEAT_MS) this.forget();
    const gap = Math.min(MAX_GAP_MS, from - this.#lookedAt);
    this.#lookedAt = from;
    const before = this.#seen;
    this.#seen = new Map();
    const present = new Set(rows.map((row) => row.ownerId));
    const dead = new Set<string>();
    const silent = new Map<string, number>();
    let left = LEASE_MS;
    for (const row of rows) {
      const { ownerId } = row;
      const standing = this.#own.standing(ownerId);
      if (standing === "working") continue;
      const seen = watched(row, before.get(ownerId), gap);
      this.#seen.set(ownerId, seen);
      const rest = LEASE_MS - seen.silentMs;
      if (row.buried || standing === "leaving") dead.add(ownerId);
      else if (standing === "left" || rest <= 0) {
        if (await this.#bury(row)) dead.add(ownerId);
      } else {
        left = Math.min(left, rest);
        if (!seen.lives || seen.silentMs >= BEAT_MS) silent.set(ownerId, rest);
      }
    }
    this.#own.prune(present);
    return { present, dead, silent, left };
  }

  async #bury({ ownerId, beatVersion }: OwnerRow): Promise<boolean> {
    const { owners } = this.#store;
    if (!await owners.bury(ownerId, beatVersion)) return false;
    if ((await owners.ownedBy(ownerId, 1)).length === 0) await owners.forget(ownerId);
    return true;
  }
}

function watched({ beatVersion }: OwnerRow, known: Seen | undefined, gap: number): Seen {
  if (known?.beatVersion !== beatVersion) return { beatVersion, silentMs: 0, lives: known !== undefined };
  return { ...known, silentMs: known.silentMs + gap };
}

/** What an owner is: `silent` may be either of the other two. */
type Standing = "alive" | "silent" | "gone";

/** What the owners of this process are. */
export interface OwnOwners {
  /** Undefined for one of another process; `left` when it was retired and no work of it is going on any more. */
  standing(ownerId: string): "working" | "leaving" | "left" | undefined;
  /** Those that have left and are not stored any more need not be remembered. */
  prune(present: ReadonlySet<string>): void;
}

/** The owners that one look has found. */
export interface Sighting {
  readonly present: ReadonlySet<string>;
  /** Buried ones, whose runs may be claimed. */
  readonly dead: ReadonlySet<string>;
  /** Those that have not shown lately that they live, and for how many milliseconds they must not. */
  readonly silent: ReadonlyMap<string, number>;
  /** For how many milliseconds no other one can be found dead. */
  readonly left: number;
}

interface Seen {
  readonly beatVersion: string;
  /** For how long it has been watched without another beat. */
  silentMs: number;
  /** Whether another beat has been seen before this one. */
  readonly lives: boolean;
}

/** How often a beat is renewed, in milliseconds. */
export const BEAT_MS = 5_000;
/** How long an owner counts as alive after its last beat, in milliseconds. */
export const LEASE_MS = 15_000;
/** The longest time between two looks that counts. */
const MAX_GAP_MS = 1.5 * BEAT_MS;
