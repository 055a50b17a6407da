import type { Runtime } from "../../runtime/runtime.ts";

/**
 * What tells a run from every other one. It stands in every key of the run's records, so it is short: when the run was
 * created, which leads to its row in the catalog, and random digits. Those of the first layout are random digits alone.
 */
const EPOCH = /^(?:([0-9a-z]{1,11})|=([^/]+))-[0-9a-f]{12}$/;

/** The epoch of a new run; one that is in no catalog was created at no time. */
export function newEpoch(runtime: Runtime, createdAt = 0): string {
  const isShort = Number.isSafeInteger(createdAt) && createdAt >= 0;
  const random = runtime.uuid().replaceAll("-", "").slice(20);
  return `${isShort ? createdAt.toString(36) : `=${createdAt}`}-${random}`;
}

/** Whether the rows of a run stand where the first layout has them. */
export function isEarlier(epoch: string): boolean {
  return !EPOCH.test(epoch);
}

/** When the run of an epoch was created; 0 for one of the first layout. */
export function createdAtOf(epoch: string): number {
  const [, short, long] = EPOCH.exec(epoch) ?? [];
  return short === undefined ? Number(long ?? 0) : parseInt(short, 36);
}
