import { limitOf, matchesWait, placeOf } from "../query.ts";
import type { Page, WaitQuery, WaitRow, WakeOptions, WakeRow } from "../store.ts";
import type { Key, KvEntry } from "./driver.ts";
import { unframe } from "./frame.ts";
import { inboxIndex, runInboxIndex, waitKey, wakeIndex } from "./keys.ts";
import { MergedRanges } from "./merged_ranges.ts";
import { pageOf } from "./page.ts";
import { openWait } from "./read.ts";
import { applyAllRests } from "./rest.ts";
import { storedRow } from "./rows.ts";
import { type Call, type Session, TornRead } from "./session.ts";

/** Where an index is, and where runs of the first layout have it, if the file has any. */
export function places(hasEarlier: boolean, index: (isEarlier: boolean) => Key): readonly Key[] {
  return hasEarlier ? [index(false), index(true)] : [index(false)];
}

/** Open waits, oldest opened first. */
export async function waits(
  session: Session,
  call: Call,
  query: WaitQuery,
  hasEarlier: boolean,
): Promise<Page<WaitRow>> {
  await applyAllRests(session, call);
  const after = placeOf("waits", query, 2);
  const indices = query.runId === undefined ? places(hasEarlier, inboxIndex) : [runInboxIndex(query.runId)];
  const all = indices.map((index) => ({
    start: after === undefined ? index : [...index, ...after, true],
    end: [...index, true],
  }));
  const ranges = new MergedRanges(session, call, all, { parts: 3 });
  return await pageOf(call.op, query.limit, 3, {
    fetch: (count) => ranges.take(count),
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
  after: WakeOptions["after"],
  hasEarlier: boolean,
): Promise<readonly WakeRow[]> {
  const due = places(hasEarlier, wakeIndex).map((index) => ({
    start: after === undefined ? index : [...index, after.due, after.runId, true],
    end: [...index, until, true],
  }));
  const entries = await new MergedRanges(session, call, due, { parts: 2 }).take(limitOf("wakes", limit));
  return entries.map(({ value }) => storedRow<WakeRow>(unframe(value, "a wake").meta, "a wake"));
}
