import type { Store } from "../store/store.ts";
import { aroundStore, type StoreOp } from "./around_store.ts";

/** Where the time of late acknowledgements passes, and what draws it. */
interface LateClock {
  random(): number;
  sleep(ms: number): Promise<void>;
}

/** What may be delivered twice by its contract, and is by networks. */
const REPEATED: ReadonlySet<StoreOp> = new Set([
  "append",
  "post",
  "trim",
  "owners.beat",
  "owners.bury",
  "owners.forget",
  "cells.write",
]);
const OFTEN = 0.2;

/**
 * A store as it is on the far side of a network: each answer and refusal comes up to `mostMs` later than what it tells of,
 * and of some writes the first answer is lost, so that they are made again under the same id.
 */
export function lateStore(store: Store, clock: LateClock, mostMs: number): Store {
  return aroundStore(store, async (call) => {
    try {
      const answer = await call.apply();
      return REPEATED.has(call.op) && clock.random() < OFTEN ? await call.apply() : answer;
    } finally {
      await clock.sleep(clock.random() * mostMs);
    }
  });
}
