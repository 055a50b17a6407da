import { Alarm } from "../../runtime/alarm.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Store } from "../../store/store.ts";
import { type Ownership, POLL_MS } from "../ownership.ts";
import type { Flow } from "./flow.ts";

/** Where waiting runs are, and what gives permits on. */
interface Where {
  readonly store: Store;
  readonly runtime: Runtime;
  readonly ownership: Ownership;
  readonly flow: Flow;
}

/**
 * The runs that this process waits for, as they wait for their turn.
 *
 * 1. One look at the wakes of the store serves them all, about once a second; what this process does itself rings at once.
 * 2. Now and then it also gives on what is free, should whoever returned it have ended.
 */
class Waiting {
  readonly #where: Where;
  readonly #alarm: Alarm;
  readonly #runs = new Map<object, { readonly runId: string; readonly permit: string; ring(): void }>();
  #isLooking = false;

  constructor(where: Where) {
    this.#where = where;
    this.#alarm = new Alarm(where.runtime);
  }

  /** Resolves when the turn of a run may have come, and after `ms` milliseconds at the latest. */
  async turn(runId: string, permit: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { runtime, ownership } = this.#where;
    const alarm = new Alarm(runtime);
    const { rings } = alarm;
    const ring = () => alarm.ring();
    const unlisten = ownership.listen((poked) => poked === runId && ring());
    const key = {};
    this.#runs.set(key, { runId, permit, ring });
    try {
      void this.#look();
      await alarm.sleep(Math.max(1, ms), rings, signal);
    } finally {
      this.#runs.delete(key);
      unlisten();
      if (this.#runs.size === 0) this.#alarm.ring();
    }
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { store, runtime, flow } = this.#where;
    try {
      for (let looks = 1; this.#runs.size > 0; looks++) {
        await this.#alarm.sleep(POLL_MS * (0.75 + runtime.random() / 2), this.#alarm.rings);
        if (this.#runs.size === 0) return;
        try {
          const due = new Set((await store.wakes(runtime.now(), MAX_WAKES)).map(({ runId }) => runId));
          for (const { runId, ring } of this.#runs.values()) if (due.has(runId)) ring();
          if (looks % LOOKS_PER_SWEEP !== 0) continue;
          await flow.passOn([...new Set([...this.#runs.values()].map(({ permit }) => permit))]);
        } catch {
          // A store that fails now is asked again; each run is looked at by itself in the end.
        }
      }
    } finally {
      this.#isLooking = false;
    }
  }
}

const MAX_WAKES = 1_000;
const LOOKS_PER_SWEEP = 5;

const waiting = new WeakMap<Store, Waiting>();

/** The runs that this process waits for in a store. */
export function waitingIn(where: Where): Pick<Waiting, "turn"> {
  const known = waiting.get(where.store);
  if (known !== undefined) return known;
  const made = new Waiting(where);
  waiting.set(where.store, made);
  return made;
}
