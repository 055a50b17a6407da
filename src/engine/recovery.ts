import type { OwnerRow } from "../store/store.ts";
import { LEASE_MS } from "./ownership.ts";

/** Whether a process still counts as the owner of its runs. */
export function isAlive(owner: OwnerRow, now: number): boolean {
  return !owner.buried && now - owner.beatAt <= LEASE_MS;
}

/** How long a run waits before it is recovered for the n-th time without progress: 1 s doubling to 5 min, jittered. */
export function recoveryDelay(recoveries: number, random: number): number {
  const full = Math.min(5 * 60_000, 1_000 * 2 ** Math.max(0, recoveries - 2));
  return Math.round(full / 2 + random * full / 2);
}
