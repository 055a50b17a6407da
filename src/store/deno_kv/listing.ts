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
export function places(session: Session, index: (isEarlier: boolean) => Key): readonly Key[] {
  return session.hasEarlier ? [index(false), index(true)] : [index(false)];
}

/** Open waits, oldest opened first. */
export async function waits(
  session: Session,
  call: Call,
  query: WaitQuery,
): Promise<Page<WaitRow>> {
  await applyAllRests(session, call);
  const after = placeOf("waits", query, 2);
  const { runId } = query;
  const index = runId === undefined ? inboxIndex : (isOld: boolean) => runInboxIndex(runId, isOld);
  const all = places(session, index).map((index) => ({
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
        return wanted ? waitKey(String(key.at(-2)), String(key.at(-1)), isOfEarlier(key)) : undefined;
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

/** Whether a key of an index of waits is one of the first layout. */
function isOfEarlier([, kind]: KvEntry["key"]): boolean {
  return kind === inboxIndex(true)[1] || kind === runInboxIndex("", true)[1];
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
): Promise<readonly WakeRow[]> {
  const due = places(session, wakeIndex).map((index) => ({
    start: after === undefined ? index : [...index, after.due, after.runId, true],
    end: [...index, until, true],
  }));
  const entries = await new MergedRanges(session, call, due, { parts: 2 }).take(limitOf("wakes", limit));
  return entries.map(({ value }) => storedRow<WakeRow>(unframe(value, "a wake").meta, "a wake"));
}
