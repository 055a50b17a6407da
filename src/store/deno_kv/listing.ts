import { limitOf, matchesWait, placeOf } from "../query.ts";
import type { Page, WaitQuery, WaitRow, WakeOptions, WakeRow } from "../store.ts";
import type { Key, KvEntry } from "./driver.ts";
import { unframe } from "./frame.ts";
import { inboxIndex, waitKey, wakeIndex } from "./keys.ts";
import { pageOf } from "./page.ts";
import { openWait } from "./read.ts";
import { applyAllRests } from "./rest.ts";
import { storedRow } from "./rows.ts";
import { type Call, type Session, TornRead } from "./session.ts";

/** Open waits, oldest opened first. */
export async function waits(session: Session, call: Call, query: WaitQuery): Promise<Page<WaitRow>> {
  await applyAllRests(session, call);
  const index = inboxIndex(query.runId);
  const after = placeOf("waits", query, 2);
  const end = [...index, true];
  let start: Key = after === undefined ? index : [...index, ...after, true];
  return await pageOf(call.op, query.limit, 3, {
    fetch: async (count) => {
      const entries = await session.list(call, { start, end }, count);
      start = [...(entries.at(-1)?.key ?? start) as Key, true];
      return entries;
    },
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
