import type { Grant } from "../../model/flow.ts";
import { SEPARATOR } from "../../model/flow.ts";
import type { Cell, CellChange, CellName } from "../../store/store.ts";

/**
 * What limits keep in the cells of a store.
 *
 * 1. `permit`: the count of a permit. Every grant and every return sets it, with a number that is one higher.
 * 2. `holder`: one for each run that holds a permit; nobody decides by it.
 * 3. `queue`: the places of those that wait, in the order of class and time; its name tells all.
 * 4. `throttle`: when runs began, and when others are to begin.
 */
export interface PermitCount {
  /** The most holders, as whoever set it last saw it. */
  readonly limit: number;
  /** The number of the newest grant or return. */
  readonly n: number;
  readonly held: number;
  /** When it was set, in milliseconds since the epoch. */
  readonly at: number;
  /** The run that holds it, where only one can. */
  readonly holder?: string;
}

/** When runs began, and when others are to begin: times in milliseconds since the epoch, the newest of each last. */
export interface ThrottleTimes {
  readonly begun: readonly number[];
  readonly planned: readonly number[];
}

/** A count as it was read. */
export interface SeenCount extends PermitCount {
  readonly permit: string;
  readonly version: string | null;
}

export const countName = (permit: string): CellName => ({ space: "permit", name: permit });
export const holderName = (permit: string, runId: string): CellName => ({
  space: "holder",
  name: `${permit}${SEPARATOR}${runId}`,
});
export const placeName = (place: string): CellName => ({ space: "queue", name: place });
export const throttleName = (permit: string): CellName => ({ space: "throttle", name: permit });

/** The count in a cell; of one that is not there the numbers begin at the time, since they never go back. */
export function countIn(permit: string, cell: Cell | null, now: number): SeenCount {
  if (cell === null) return { permit, version: null, limit: 0, n: Math.floor(now), held: 0, at: now };
  return { ...parsed<PermitCount>(cell), permit, version: cell.version };
}

export function timesIn(cell: Cell | null): ThrottleTimes {
  return cell === null ? { begun: [], planned: [] } : parsed<ThrottleTimes>(cell);
}

/** What grants a permit to a run. */
export function granting(
  { permit, version, n, held }: SeenCount,
  runId: string,
  limit: number,
  now: number,
): { readonly grant: Grant; readonly cells: readonly CellChange[] } {
  const next: PermitCount = {
    limit,
    n: n + 1,
    held: held + 1,
    at: now,
    ...(limit === 1 ? { holder: runId } : {}),
  };
  const grant = { permit, n: n + 1 };
  return {
    grant,
    cells: [
      { ...countName(permit), version, value: bytesOf(next) },
      { ...holderName(permit, runId), value: bytesOf({ n: n + 1 }) },
    ],
  };
}

/** What takes a permit back from a run. */
export function freeing(
  { permit, version, n, held, limit }: SeenCount,
  runId: string,
  now: number,
): { readonly freed: Grant; readonly cells: readonly CellChange[] } {
  const next: PermitCount = { limit, n: n + 1, held: Math.max(0, held - 1), at: now };
  return {
    freed: { permit, n: n + 1 },
    cells: [
      { ...countName(permit), version, value: bytesOf(next) },
      { ...holderName(permit, runId), value: null },
    ],
  };
}

/** The bytes of what a cell holds. */
export function bytesOf(value: unknown): Uint8Array {
  return utf8.encode(JSON.stringify(value));
}

/** What a cell holds. */
export function parsed<T>({ value }: Cell): T {
  return JSON.parse(text.decode(value)) as T;
}

const utf8 = new TextEncoder();
const text = new TextDecoder();
