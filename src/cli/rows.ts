import type { Page } from "../store/store.ts";

/** At most `limit` rows of a paged list that `keep` accepts. */
export async function* rowsOf<T>(
  page: (cursor: string | undefined) => Promise<Page<T>>,
  keep: (row: T) => boolean,
  limit: number,
): AsyncGenerator<T> {
  let left = limit;
  for (let cursor: string | undefined, more = true; more && left > 0;) {
    const { rows, cursor: next } = await page(cursor);
    for (const row of rows) {
      if (!keep(row)) continue;
      yield row;
      if (--left === 0) return;
    }
    cursor = next;
    more = next !== undefined;
  }
}
