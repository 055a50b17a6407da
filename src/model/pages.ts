/** Where a page of a listing begins: with the first row where it names no cursor. */
interface PageStart {
  readonly cursor?: string;
}

/** The rows of a paged listing, at most `limit` of those that `keep` accepts. */
export async function* rowsOf<T>(
  page: (start: PageStart) => Promise<{ readonly rows: readonly T[]; readonly cursor?: string }>,
  keep: (row: T) => boolean = () => true,
  limit = Infinity,
): AsyncGenerator<T> {
  let left = limit;
  for (let start: PageStart | undefined = {}; start !== undefined && left > 0;) {
    const { rows, cursor } = await page(start);
    for (const row of rows) {
      if (!keep(row)) continue;
      yield row;
      if (--left === 0) return;
    }
    start = cursor === undefined ? undefined : { cursor };
  }
}
