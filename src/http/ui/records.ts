import { span } from "../../model/amounts.ts";
import { bodyOf } from "../client.ts";
import type { Checkpoint, HistoryPage } from "../wire.ts";
import { happenings } from "./happenings.ts";
import { type Html, markup, NOTHING } from "./html.ts";
import { isMissing, type Visit } from "./site.ts";
import { time } from "./words.ts";

/** So many records are shown at once. */
const MOST = 200;

/** Some records of a run, in order. */
export interface Records {
  readonly records: readonly Checkpoint[];
  /** Whether none is kept from before them. */
  readonly fromStart: boolean;
}

/** The records of a run up to a revision, as many as are shown. */
export async function recordsUntil(visit: Visit, runId: string, revision: number): Promise<Records> {
  const from = Math.max(0, revision + 1 - MOST);
  try {
    const { checkpoints } = await recordsFrom(visit, runId, from, revision + 1 - from);
    return { records: checkpoints.filter((record) => record.revision <= revision), fromStart: from === 0 };
  } catch (error) {
    if (!isMissing(error)) throw error;
    // The beginning was cut off: fewer are left than are shown.
    const { checkpoints } = await recordsFrom(visit, runId, 0, MOST);
    return { records: checkpoints.filter((record) => record.revision <= revision), fromStart: true };
  }
}

/** The newest records of a run whose newest revision is not known. */
export async function lastRecords(visit: Visit, runId: string): Promise<Records> {
  for (let from = 0;;) {
    const { checkpoints, done, next_revision } = await recordsFrom(visit, runId, from, 1_000);
    if (done) return { records: checkpoints, fromStart: from === 0 };
    from = next_revision;
  }
}

async function recordsFrom({ api }: Visit, runId: string, from: number, limit: number): Promise<HistoryPage> {
  const query = { from_revision: String(from), limit: String(limit), include_values: "true" } as const;
  return await bodyOf(api.v1.runs[":run_id"].history.$get({ param: { run_id: runId }, query }));
}

/** What happened, newest first. */
export function timeline(visit: Visit, runId: string, { records, fromStart }: Records): Html {
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
<ul>${happenings(record, visit)}</ul></li>
`;
  });
  const first = records[0]?.revision ?? 0;
  const older = visit.link(`runs/${runId}?until=${first - 1}`);
  return markup`<ol class="timeline" reversed>${entries.reverse()}</ol>
${fromStart ? NOTHING : markup`<p><a href="${older}" rel="next">Before revision ${first}</a></p>`}
`;
}
