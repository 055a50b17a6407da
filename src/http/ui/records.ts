import { span } from "../../model/amounts.ts";
import { bodyOf } from "../client.ts";
import type { Checkpoint, HistoryPage } from "../wire.ts";
import { happenings } from "./happenings.ts";
import { type Html, markup, NOTHING } from "./html.ts";
import { isMissing, type Visit } from "./site.ts";
import { time } from "./words.ts";

/** So many records are shown of a run. */
const MOST = 1_000;

/** The newest records of a run. */
export async function newestRecords(
  visit: Visit,
  runId: string,
  revision: number,
): Promise<readonly Checkpoint[]> {
  try {
    return (await recordsFrom(visit, runId, Math.max(0, revision + 1 - MOST))).checkpoints;
  } catch (error) {
    if (!isMissing(error)) throw error;
    // The beginning was cut off: fewer are left than may be shown.
    return (await recordsFrom(visit, runId, 0)).checkpoints;
  }
}

/** The newest records of a run whose newest revision is not known. */
export async function lastRecords(visit: Visit, runId: string): Promise<readonly Checkpoint[]> {
  for (let from = 0;;) {
    const { checkpoints, done, next_revision } = await recordsFrom(visit, runId, from);
    if (done) return checkpoints;
    from = next_revision;
  }
}

async function recordsFrom({ api }: Visit, runId: string, from: number): Promise<HistoryPage> {
  const query = { from_revision: String(from), limit: String(MOST) };
  return await bodyOf(api.v1.runs[":run_id"].history.$get({ param: { run_id: runId }, query }));
}

/** What happened, newest first. */
export function timeline(visit: Visit, runId: string, records: readonly Checkpoint[]): Html {
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
  return markup`<ol class="timeline" reversed>${entries.reverse()}</ol>
`;
}
