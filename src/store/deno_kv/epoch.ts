import type { Runtime } from "../../runtime/runtime.ts";

/**
 * What tells a run from every other one. It stands in every key of the run's records, so it is short: when the run was
 * created, which leads to its row in the catalog, and random digits. Those of the first layout are random digits alone.
 */
const EPOCH = /^([0-9a-z]{1,11})-[0-9a-f]{12}$/;

export function newEpoch(runtime: Runtime, createdAt: number | undefined): string {
  const random = runtime.uuid().replaceAll("-", "");
  if (createdAt === undefined || !Number.isSafeInteger(createdAt) || createdAt < 0) return random.slice(12);
  return `${createdAt.toString(36)}-${random.slice(20)}`;
}

/** When the run of an epoch was created; `undefined` for a run whose row stands where the first layout has it. */
export function createdAtOf(epoch: string): number | undefined {
  const [, createdAt] = EPOCH.exec(epoch) ?? [];
  return createdAt === undefined ? undefined : parseInt(createdAt, 36);
}
