import { span } from "../../model/amounts.ts";
import { bodyOf } from "../client.ts";
import type { Checkpoint, HistoryPage } from "../wire.ts";
import { timelineEvents } from "./timeline_events.ts";
import { type Html, markup, NOTHING } from "./html.ts";
import { isMissing, type PageContext } from "./site.ts";
import { time } from "./format.ts";

/** So many records are shown at once. */
const MOST = 200;
/** So much of what happened in one is told. */
const MOST_HAPPENINGS = 20;

/** Some records of a run, in order. */
export interface Records {
  readonly records: readonly Checkpoint[];
  /** Whether none is kept from before them. */
  readonly fromStart: boolean;
}

/** The records of a run up to a revision, as many as are shown. */
export async function recordsUntil(visit: PageContext, runId: string, revision: number): Promise<Records> {
  try {
    return await recordsBetween(visit, runId, Math.max(0, revision + 1 - MOST), revision);
  } catch (error) {
    if (!isMissing(error)) throw error;
    // The beginning was cut off: fewer are left than are shown.
    return await recordsBetween(visit, runId, 0, revision);
  }
}

/** Ways to ask for records, each for less than the one before it. */
const WAYS = [
  { most: MOST, values: true },
  { most: MOST, values: false },
  { most: 10, values: false },
  { most: 1, values: false },
] as const;

/** Records as they are told: where they are too large for a page of the API, without the values of their events, or fewer. */
async function recordsBetween(
  visit: PageContext,
  runId: string,
  first: number,
  last: number,
): Promise<Records> {
  let oldest: number | undefined;
  for (let way = 0;; way++) {
    const { most, values } = WAYS[way]!;
    const from = oldest === undefined ? first : Math.max(oldest, last + 1 - most);
    const { checkpoints, done, next_revision } = await recordsFrom(visit, runId, from, MOST, values);
    oldest ??= checkpoints[0]?.revision ?? first;
    if (!done && next_revision <= last && most > 1) continue;
    const records = checkpoints.filter((record) => record.revision <= last);
    return { records, fromStart: first === 0 && (records[0]?.revision ?? oldest) === oldest };
  }
}

/** The newest record of a run, which says how far it is. */
export async function newestRecord(visit: PageContext, runId: string): Promise<Checkpoint | undefined> {
  const { next_revision } = await recordsFrom(visit, runId, FAR, 1, false);
  return (await recordsFrom(visit, runId, next_revision - 1, 1, false)).checkpoints[0];
}

/** No run gets so far. */
const FAR = 999_999_999_999_999;

async function recordsFrom(
  { api }: PageContext,
  runId: string,
  from: number,
  limit: number,
  values: boolean,
): Promise<HistoryPage> {
  const query = {
    from_revision: String(from),
    limit: String(limit),
    include_values: values ? "true" : "false",
  } as const;
  return await bodyOf(api.v1.runs[":run_id"].history.$get({ param: { run_id: runId }, query }));
}

/** What happened, newest first. */
export function timeline(visit: PageContext, runId: string, { records, fromStart }: Records): Html {
  const entries = records.map((record, i) => {
    const { revision, at } = record;
    const before = records[i - 1];
    const since = before === undefined
      ? NOTHING
      : markup` <span class="quiet">+${span(at - before.at)}</span>`;
    const page = visit.link(`runs/${runId}/revisions/${revision}`);
    return markup`<li><a class="revision" href="${page}">Revision ${revision}</a> <span class="when">${
      time(at)
    }${since}</span>
<ul>${timelineEvents(record, visit, MOST_HAPPENINGS)}</ul></li>
`;
  });
  const first = records[0]?.revision;
  if (first === undefined) return markup`<p class="quiet">No records are kept from then.</p>`;
  const older = visit.link(`runs/${runId}?until=${first - 1}`);
  return markup`<ol class="timeline" reversed>${entries.reverse()}</ol>
${fromStart ? NOTHING : markup`<p><a href="${older}" rel="next">Before revision ${first}</a></p>`}
`;
}
