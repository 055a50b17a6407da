import { StoreError } from "../errors.ts";
import { checkQuery } from "./limits.ts";
import type { CatalogQuery, CatalogRow, PageQuery, WaitQuery, WaitRow } from "./store.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

/** The place of a row in its order: a time, then ids. */
export type Place = readonly [time: number, ...ids: string[]];

/** The length of a page: what was asked for, at most 1000. */
export function limitOf(op: string, limit: number = DEFAULT_LIMIT): number {
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new StoreError(op, `the limit ${limit} is not a whole number from 1 on`);
  }
  return Math.min(limit, MAX_LIMIT);
}

/** The cursor of the page that begins after `place`. */
export function cursorAt(place: Place): string {
  return encodeURIComponent(JSON.stringify(place));
}

/** The place that the page of `query` begins after, which has `ids` ids; `undefined` for the first page. */
export function placeOf(op: string, query: PageQuery, ids: number): Place | undefined {
  checkQuery(op, query);
  if (query.cursor === undefined) return undefined;
  const place = parsePlace(query.cursor);
  if (place === undefined || place.length !== ids + 1) {
    throw new StoreError(op, `the cursor ${JSON.stringify(query.cursor)} was not given by this listing`);
  }
  return place;
}

function parsePlace(cursor: string): Place | undefined {
  try {
    const value: unknown = JSON.parse(decodeURIComponent(cursor));
    if (!Array.isArray(value) || typeof value[0] !== "number") return undefined;
    return value.slice(1).every((id) => typeof id === "string") ? value as unknown as Place : undefined;
  } catch {
    return undefined;
  }
}

/** Orders places by time, then by ids in code units. */
export function comparePlaces(a: Place, b: Place): number {
  for (let i = 0; i < a.length; i++) {
    const x = a[i]!;
    const y = b[i]!;
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
}

/** Runs are listed by creation. */
export function catalogPlace(row: CatalogRow): Place {
  return [row.createdAt, row.runId];
}

/** Waits are listed by opening. */
export function waitPlace(row: WaitRow): Place {
  return [row.openedAt, row.runId, row.waitId];
}

/** Whether a row is one that the query asks for. */
export function matchesCatalog(row: CatalogRow, query: CatalogQuery): boolean {
  return (query.graphId === undefined || row.graphId === query.graphId) &&
    (query.status === undefined || row.status === query.status) &&
    (query.reason === undefined || row.reason === query.reason) &&
    (query.tag === undefined || row.tags.includes(query.tag));
}

/** Whether a wait is one that the query asks for. */
export function matchesWait(row: WaitRow, query: WaitQuery): boolean {
  return (query.runId === undefined || row.runId === query.runId) &&
    (query.graphId === undefined || row.graphId === query.graphId) &&
    (query.name === undefined || row.name === query.name);
}
