import type { Store } from "../store/store.ts";
import { aroundStore, type StoreCall, type StoreOp } from "./around_store.ts";
import type { VirtualClock } from "./virtual_clock.ts";

/** Where an engine is to be stopped: just before its n-th write, or when that has been applied. */
export interface CrashPlan {
  /** From 1. */
  readonly write: number;
  /** Whether the write is lost, or only its acknowledgement. */
  readonly when: "before" | "after";
}

/** Where an engine was stopped. */
export interface CrashPoint extends CrashPlan {
  /** The call of the store. */
  readonly op: StoreOp;
  /** Which engine of the round, from 1. */
  readonly engine: number;
}

/** How an engine reaches its store. Once it has been stopped, nothing is answered any more. */
export class CrashStore {
  readonly store: Store;
  /** Rejects when the engine is stopped; never resolves. */
  readonly stopped: Promise<never>;
  readonly #clock: VirtualClock;
  readonly #plan: CrashPlan | undefined;
  readonly #engine: number;
  readonly #onStop: () => void;
  #writes = 0;
  #point: CrashPoint | undefined;
  #reject!: (reason: unknown) => void;

  constructor(
    inner: Store,
    clock: VirtualClock,
    engine: number,
    plan: CrashPlan | undefined,
    onStop: () => void,
  ) {
    this.#clock = clock;
    this.#plan = plan;
    this.#engine = engine;
    this.#onStop = onStop;
    this.store = aroundStore(inner, (call) => this.#around(call));
    this.stopped = new Promise((_, reject) => this.#reject = reject);
    this.stopped.catch(() => {});
  }

  /** How many writes the engine has begun. */
  get writes(): number {
    return this.#writes;
  }

  /** Where the engine was stopped, once it has been. */
  get point(): CrashPoint | undefined {
    return this.#point;
  }

  async #around<T>(call: StoreCall<T>): Promise<T> {
    if (this.#point !== undefined) return await NEVER;
    const plan = call.writes && ++this.#writes === this.#plan?.write ? this.#plan : undefined;
    if (plan?.when === "before") {
      this.#stop(plan, call.op);
      return await NEVER;
    }
    try {
      const answer = await this.#clock.hold(call.apply());
      if (this.#point === undefined && plan === undefined) return answer;
    } catch (error) {
      if (this.#point === undefined && plan === undefined) throw error;
    }
    if (plan !== undefined) this.#stop(plan, call.op);
    return await NEVER;
  }

  #stop(plan: CrashPlan, op: StoreOp): void {
    if (this.#point !== undefined) return;
    this.#point = { ...plan, op, engine: this.#engine };
    this.#onStop();
    this.#reject(new Error(`superstep: engine ${this.#engine} was stopped at write ${plan.write}`));
  }
}

const NEVER = new Promise<never>(() => {});
