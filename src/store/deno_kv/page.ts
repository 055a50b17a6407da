import { cursorAt, limitOf, type Place } from "../query.ts";
import type { Page } from "../store.ts";
import type { KvEntry } from "./driver.ts";

/** Rows of an index are read in batches, so that a filter that few of them pass does not read one by one. */
const BATCH = 100;

/** Where the rows of a page come from. */
export interface PageSource<T> {
  /** The next entries of an index, fewer than `count` at its end. */
  fetch(count: number): Promise<readonly KvEntry[]>;
  /** The row that each of them leads to; `undefined` for one that is not asked for. */
  load(entries: readonly KvEntry[]): Promise<readonly (T | undefined)[]>;
}

/** Follows an index until a page is full. The last `placeParts` parts of an index key are the place of its row. */
export async function pageOf<T>(
  op: string,
  wanted: number | undefined,
  placeParts: number,
  source: PageSource<T>,
): Promise<Page<T>> {
  const limit = limitOf(op, wanted);
  const found: { readonly row: T; readonly place: Place }[] = [];
  // Mostly the first rows are those asked for.
  for (let count = limit + 1;; count = Math.max(BATCH, limit + 1 - found.length)) {
    const entries = await source.fetch(count);
    const rows = await source.load(entries);
    rows.forEach((row, i) => {
      if (row !== undefined) {
        found.push({ row, place: entries[i]!.key.slice(-placeParts) as unknown as Place });
      }
    });
    if (entries.length === count && found.length <= limit) continue;
    const rowsOfPage = found.slice(0, limit).map(({ row }) => row);
    return found.length > limit
      ? { rows: rowsOfPage, cursor: cursorAt(found[limit - 1]!.place) }
      : { rows: rowsOfPage };
  }
}
