import { matchesCatalog, placeOf } from "../query.ts";
import type { CatalogQuery, CatalogRow, IndexChanges, Page } from "../store.ts";
import type { Key, KvEntry } from "./driver.ts";
import { createdAtOf, isEarlier } from "./epoch.ts";
import { corrupt, frame, unframe } from "./frame.ts";
import {
  catalogIndex,
  catalogKey,
  earlierCatalogKeys,
  graphIndex,
  rowKey,
  stateIndex,
  stateKey,
} from "./keys.ts";
import { branches, MergedRanges } from "./merged_ranges.ts";
import { drop, type Write } from "./op.ts";
import { pageOf } from "./page.ts";
import { storedRow } from "./rows.ts";
import type { Call, Session } from "./session.ts";

/**
 * Where `list` finds runs.
 *
 * 1. The row of a run stands once, where its graph lists it. Under its status and reason, and under each tag, stands a mark
 *    that names the graph. So a change of status rewrites one row and moves one mark.
 * 2. What no key is in order for is read from several ranges at once: all runs from those of the graphs, those of a status
 *    from those of its reasons.
 * 3. A run of the first layout, told by its epoch, keeps its rows as they are: one under its id, and a mark that names nothing
 *    under everything by which it is found.
 */
export function catalogWrites(epoch: string, { from, to }: NonNullable<IndexChanges["catalog"]>): Write[] {
  const isOld = isEarlier(epoch);
  const [rowOf, marksOf] = isOld
    ? [(row: CatalogRow) => catalogKey(row.runId), earlierCatalogKeys]
    : [rowKey, markKeys];
  const marks = new Map(marksOf(to).map((key) => [nameOf(key), key]));
  const gone: Key[] = [];
  if (from !== undefined) {
    // A mark that names another graph is another one.
    const isSame = isOld || from.graphId === to.graphId;
    for (const key of marksOf(from)) if (!marks.has(nameOf(key))) gone.push(key);
    if (!isSame) gone.push(rowOf(from));
    else for (const key of marksOf(from)) marks.delete(nameOf(key));
  }
  const value = frame(isOld ? [] : [to.graphId]);
  return [
    { key: rowOf(to), value: frame([to]) },
    ...[...marks.values()].map((key) => ({ key, value })),
    ...gone.map(drop),
  ];
}

/** Every key by which a run is found, its row included. */
export async function catalogKeysOf(
  session: Session,
  call: Call,
  runId: string,
  epoch: string,
): Promise<readonly Key[]> {
  const isOld = isEarlier(epoch);
  const place = [createdAtOf(epoch), runId];
  const keys = isOld
    ? [catalogKey(runId)]
    : (await branches(session, call, graphIndex, [undefined])).map((prefix) => [...prefix, ...place]);
  const entry = (await session.getMany(call, keys)).find(({ versionstamp }) => versionstamp !== null);
  if (entry === undefined) return [];
  const row = rowOf(entry);
  return isOld ? [catalogKey(runId), ...earlierCatalogKeys(row)] : [rowKey(row), ...markKeys(row)];
}

/** Runs, newest created first, by the most telling index that the query allows. */
export async function list(
  session: Session,
  call: Call,
  query: CatalogQuery,
  hasEarlier: boolean,
): Promise<Page<CatalogRow>> {
  const after = placeOf("list", query, 1);
  const prefixes = await prefixesOf(session, call, query, hasEarlier);
  const all = prefixes.map((start) => ({ start, end: [...start, ...after ?? [true]] }));
  const ranges = new MergedRanges(session, call, all, { parts: 2, reverse: true });
  return await pageOf(call.op, query.limit, 2, {
    fetch: (count) => ranges.take(count),
    load: (entries) => rowsOf(session, call, query, entries),
  });
}

async function prefixesOf(
  session: Session,
  call: Call,
  query: CatalogQuery,
  hasEarlier: boolean,
): Promise<readonly Key[]> {
  const { graphId, status, reason, tag } = query;
  if (tag !== undefined) return [catalogIndex("tag", tag)];
  if (status !== undefined || reason !== undefined) {
    const found = await branches(session, call, stateIndex, [status, reason]);
    if (!hasEarlier) return found;
    return [...found, reason === undefined ? catalogIndex("status", status) : catalogIndex("reason", reason)];
  }
  return await branches(session, call, graphIndex, [graphId]);
}

/** The row that each entry is or leads to; `undefined` for one that is not asked for. */
async function rowsOf(
  session: Session,
  call: Call,
  query: CatalogQuery,
  entries: readonly KvEntry[],
): Promise<readonly (CatalogRow | undefined)[]> {
  const found = entries.map((entry): CatalogRow | Key | undefined => {
    const [createdAt, runId] = [Number(entry.key.at(-2)), String(entry.key.at(-1))];
    const [content] = unframe(entry.value, "a catalog row").meta;
    if (content === undefined) return catalogKey(runId);
    if (typeof content !== "string") return rowOf(entry);
    if ((query.graphId ?? content) !== content) return undefined;
    return rowKey({ graphId: content, createdAt, runId });
  });
  const read = await session.getMany(call, found.filter(isKey));
  let next = 0;
  const rows = found.map((row) => {
    if (!isKey(row)) return row;
    const entry = read[next++]!;
    return entry.versionstamp === null ? null : rowOf(entry);
  });
  // A purge takes a row and its marks at once.
  const lost = entries.filter((_, i) => rows[i] === null);
  for (const { versionstamp } of await session.getMany(call, lost.map(({ key }) => key as Key))) {
    if (versionstamp !== null) throw corrupt("a mark of the catalog, whose row is missing,");
  }
  return rows.map((row) => row && matchesCatalog(row, query) ? row : undefined);
}

function isKey(found: CatalogRow | Key | undefined): found is Key {
  return Array.isArray(found);
}

function rowOf({ value }: KvEntry): CatalogRow {
  return storedRow<CatalogRow>(unframe(value, "a catalog row").meta, "a catalog row");
}

function markKeys(row: CatalogRow): Key[] {
  const tags = [...new Set(row.tags)].map((tag) => catalogIndex("tag", tag));
  return [stateKey(row), ...tags.map((prefix) => [...prefix, row.createdAt, row.runId])];
}

function nameOf(key: Key): string {
  return JSON.stringify(key);
}
