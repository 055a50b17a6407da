import { cursorAt, limitOf, matchesCatalog, matchesWait, type Place, placeOf } from "../query.ts";
import type { CatalogQuery, CatalogRow, Page, WaitQuery, WaitRow, WakeOptions, WakeRow } from "../store.ts";
import type { Key, KvEntry } from "./driver.ts";
import { unframe } from "./frame.ts";
import { catalogIndex, catalogKey, inboxIndex, waitKey, wakeIndex } from "./keys.ts";
import { openWait } from "./read.ts";
import { applyAllRests } from "./rest.ts";
import { storedRow } from "./rows.ts";
import { type Call, type Session, TornRead } from "./session.ts";

/** Rows of an index are read in batches, so that a filter that few of them pass does not read one by one. */
const BATCH = 100;

/** Runs, newest created first, by the most telling index that the query allows. */
export async function list(session: Session, call: Call, query: CatalogQuery): Promise<Page<CatalogRow>> {
  const index = catalogOf(query);
  return await page(call.op, query.limit, placeOf("list", query, 1), 2, {
    fetch: (after, count) =>
      session.list(call, { start: index, end: [...index, ...(after ?? [true])] }, count, true),
    load: async (entries) => {
      const rows = await session.getMany(call, entries.map(({ key }) => catalogKey(String(key.at(-1)))));
      return rows.map((entry) => {
        if (entry.versionstamp === null) return undefined;
        const row = storedRow<CatalogRow>(unframe(entry.value, "a catalog row").meta, "a catalog row");
        return matchesCatalog(row, query) ? row : undefined;
      });
    },
  });
}

function catalogOf(query: CatalogQuery): Key {
  if (query.tag !== undefined) return catalogIndex("tag", query.tag);
  if (query.reason !== undefined) return catalogIndex("reason", query.reason);
  if (query.status !== undefined) return catalogIndex("status", query.status);
  return query.graphId === undefined ? catalogIndex("all") : catalogIndex("graph", query.graphId);
}

/** Open waits, oldest opened first. */
export async function waits(session: Session, call: Call, query: WaitQuery): Promise<Page<WaitRow>> {
  await applyAllRests(session, call);
  const index = inboxIndex(query.runId);
  return await page(call.op, query.limit, placeOf("waits", query, 2), 3, {
    fetch: (after, count) =>
      session.list(
        call,
        { start: after === undefined ? index : [...index, ...after, true], end: [...index, true] },
        count,
      ),
    load: async (entries) => {
      const keys = entries.map(({ key, value }) => {
        const [graphId, name] = unframe(value, "a row of the inbox").meta;
        const wanted = (query.graphId ?? graphId) === graphId && (query.name ?? name) === name;
        return wanted ? waitKey(String(key.at(-2)), String(key.at(-1))) : undefined;
      });
      const read = await session.getMany(call, keys.filter((key) => key !== undefined));
      let next = 0;
      return await Promise.all(keys.map(async (key) => {
        if (key === undefined) return undefined;
        const row = await openOrGone(session, call, read[next++]!);
        return row !== undefined && matchesWait(row, query) ? row : undefined;
      }));
    },
  });
}

/** A wait whose body was purged while it was read is open no more. */
async function openOrGone(session: Session, call: Call, entry: KvEntry): Promise<WaitRow | undefined> {
  try {
    return await openWait(session, call, entry);
  } catch (error) {
    if (error instanceof TornRead) return undefined;
    throw error;
  }
}

/** Wakes that are due, earliest first. */
export async function wakes(
  session: Session,
  call: Call,
  until: number,
  limit: number,
  after?: WakeOptions["after"],
): Promise<readonly WakeRow[]> {
  const start = after === undefined ? wakeIndex : [...wakeIndex, after.due, after.runId, true];
  const due = { start, end: [...wakeIndex, until, true] };
  const entries = await session.list(call, due, limitOf("wakes", limit));
  return entries.map(({ value }) => storedRow<WakeRow>(unframe(value, "a wake").meta, "a wake"));
}

interface Source<T> {
  fetch(after: Place | undefined, count: number): Promise<readonly KvEntry[]>;
  /** The row that each index entry leads to; `undefined` for one that is not asked for. */
  load(entries: readonly KvEntry[]): Promise<readonly (T | undefined)[]>;
}

/** Follows an index until a page is full. The last `placeParts` parts of an index key are the place of its row. */
async function page<T>(
  op: string,
  wanted: number | undefined,
  start: Place | undefined,
  placeParts: number,
  source: Source<T>,
): Promise<Page<T>> {
  const limit = limitOf(op, wanted);
  const found: { readonly row: T; readonly place: Place }[] = [];
  let after = start;
  for (;;) {
    const count = Math.max(BATCH, limit + 1 - found.length);
    const entries = await source.fetch(after, count);
    const rows = await source.load(entries);
    rows.forEach((row, i) => {
      if (row !== undefined) {
        found.push({ row, place: entries[i]!.key.slice(-placeParts) as unknown as Place });
      }
    });
    const more = entries.length === count;
    if (more && found.length <= limit) {
      after = entries.at(-1)!.key.slice(-placeParts) as unknown as Place;
      continue;
    }
    const rowsOfPage = found.slice(0, limit).map(({ row }) => row);
    return found.length > limit
      ? { rows: rowsOfPage, cursor: cursorAt(found[limit - 1]!.place) }
      : { rows: rowsOfPage };
  }
}
