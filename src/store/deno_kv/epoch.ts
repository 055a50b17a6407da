import type { Runtime } from "../../runtime/runtime.ts";

/**
 * What tells a run from every other one. It stands in every key of the run's records, so it is short: when the run began, so
 * that the records of runs that begin together stand together, and random digits. Those of the first layout are random digits
 * alone.
 */
const EPOCH = /^[0-9a-z]+-[0-9a-f]{12}$/;

/** The epoch of a new run. */
export function newEpoch(runtime: Runtime): string {
  const id = runtime.uuid().replaceAll("-", "");
  return `${parseInt(id.slice(0, 12), 16).toString(36)}-${id.slice(20)}`;
}

/** Whether the keys of a run are those of the first layout. */
export function isEarlier(epoch: string): boolean {
  return !EPOCH.test(epoch);
}
