import { matchesCatalog, placeOf } from "../query.ts";
import type { CatalogQuery, CatalogRow, IndexChanges, Page } from "../store.ts";
import type { Key, KvEntry } from "./driver.ts";
import { isEarlier } from "./epoch.ts";
import { corrupt, frame, unframe } from "./frame.ts";
import { catalogIndex, catalogKey, catalogKeys, graphIndex, stateIndex } from "./keys.ts";
import { branches, MergedRanges } from "./merged_ranges.ts";
import { drop, type Write } from "./op.ts";
import { pageOf } from "./page.ts";
import { storedRow } from "./rows.ts";
import type { Call, Session } from "./session.ts";

/**
 * Where `list` finds runs.
 *
 * 1. The row of a run stands once, behind its head. Under its graph, under its status and reason, and under each tag stands a
 *    mark that names the graph. So a change of status rewrites one row and moves one mark.
 * 2. What no key is in order for is read from several ranges at once: all runs from those of the graphs, those of a status
 *    from those of its reasons.
 * 3. A mark of a run of the first layout names nothing; such runs have marks under their status and reason apart.
 */
export function catalogWrites(epoch: string, { from, to }: NonNullable<IndexChanges["catalog"]>): Write[] {
  const isOld = isEarlier(epoch);
  const value = frame(isOld ? [] : [to.graphId]);
  const marks = new Map(catalogKeys(to, isOld).map((key) => [nameOf(key), key]));
  const writes: Write[] = [{ key: catalogKey(to.runId, isOld), value: frame([to]) }];
  // Marks name the graph: under another one all of them are new.
  const isSame = from?.graphId === to.graphId;
  for (const key of from === undefined ? [] : catalogKeys(from, isOld)) {
    const isKept = marks.has(nameOf(key));
    if (isSame && isKept) marks.delete(nameOf(key));
    else if (!isKept) writes.push(drop(key));
  }
  for (const key of marks.values()) writes.push({ key, value });
  return writes;
}

/** Every key by which a run is found, its row included. */
export async function catalogKeysOf(
  session: Session,
  call: Call,
  runId: string,
  epoch: string,
): Promise<readonly Key[]> {
  const isOld = isEarlier(epoch);
  const key = catalogKey(runId, isOld);
  const entry = await session.get(call, key);
  return entry.versionstamp === null ? [] : [key, ...catalogKeys(rowOf(entry), isOld)];
}

/** Runs, newest created first, by the most telling index that the query allows. */
export async function list(
  session: Session,
  call: Call,
  query: CatalogQuery,
): Promise<Page<CatalogRow>> {
  const after = placeOf("list", query, 1);
  const prefixes = await prefixesOf(session, call, query);
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
): Promise<readonly Key[]> {
  const { graphId, status, reason, tag } = query;
  if (tag !== undefined) return [catalogIndex("tag", tag)];
  if (status !== undefined || reason !== undefined) {
    const found = await branches(session, call, stateIndex, [status, reason]);
    if (!session.hasEarlier) return found;
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
  const found = entries.map(({ key, value }) => {
    const [graphId] = unframe(value, "a mark of the catalog").meta;
    if (graphId !== undefined && typeof graphId !== "string") throw corrupt("a mark of the catalog");
    if (graphId !== undefined && graphId !== (query.graphId ?? graphId)) return undefined;
    return catalogKey(String(key.at(-1)), graphId === undefined);
  });
  const read = await session.getMany(call, found.filter((key) => key !== undefined));
  let next = 0;
  const rows = found.map((key) => {
    if (key === undefined) return undefined;
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

function rowOf({ value }: KvEntry): CatalogRow {
  return storedRow<CatalogRow>(unframe(value, "a catalog row").meta, "a catalog row");
}

function nameOf(key: Key): string {
  return JSON.stringify(key);
}
