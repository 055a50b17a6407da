import { isOver } from "../../model/run.ts";
import { bodyOf } from "../client.ts";
import type { Checkpoint, RunBody } from "../wire.ts";
import { difference } from "./difference.ts";
import { graphOfRun } from "./graph.ts";
import { timelineEvents } from "./timeline_events.ts";
import { type Html, markup, NOTHING, raw } from "./html.ts";
import { alert, facts, page } from "./page.ts";
import { isMissing, type PageContext } from "./site.ts";
import { badge, bytes, time, valueBlock } from "./format.ts";

/** So much of what happened is told. */
const MOST_HAPPENINGS = 500;

/** What a fork was asked for with, where it was refused. */
interface RefusedFork {
  readonly state: string;
  readonly problem: string;
}

/** A run as it was at a revision, what had changed with it, and where another run may begin. */
export async function revisionPage(
  visit: PageContext,
  runId: string,
  revision: number,
  refused?: RefusedFork,
): Promise<Html> {
  const run = await runAt(visit, runId, revision);
  const before = await runBefore(visit, runId, revision);
  const [record, next] = await recordsFrom(visit, runId, revision);
  const graph = await graphOfRun(visit, run.run);
  const to = (r: number) => visit.link(`runs/${runId}/revisions/${r}`);
  return page(visit, {
    title: `Revision ${revision} of ${runId}`,
    section: "runs",
    main: markup`<p class="quiet"><a href="${visit.link(`runs/${runId}`)}">${runId}</a></p>
<div class="heading"><h1>Revision ${revision}</h1><p>${badge(run)}</p></div>
<nav aria-label="Revisions" class="pager">${
      before === undefined
        ? NOTHING
        : markup`<a href="${to(revision - 1)}" rel="prev">Revision ${revision - 1}</a>`
    }${
      next === undefined
        ? NOTHING
        : markup`<a href="${to(revision + 1)}" rel="next">Revision ${revision + 1}</a>`
    }</nav>
<div class="columns">
<section aria-labelledby="what"><h2 id="what">What happened</h2>
${record === undefined ? NOTHING : whatHappened(visit, record)}
${"state" in run ? states(before, run) : NOTHING}</section>
<section aria-labelledby="stood"><h2 id="stood">How the vertices stood</h2>
${await visit.drawings.draw(graph, run.vertices)}
<h2 id="fork">Fork</h2>
${alert(refused?.problem)}${
      isOver(run.status)
        ? markup`<p class="quiet">The run is over at this revision: fork it from an earlier one.</p>`
        : forkForm(visit, run, revision, refused)
    }</section>
</div>`,
  });
}

function whatHappened(visit: PageContext, record: Checkpoint): Html {
  return markup`${
    facts(
      ["Written", time(record.at)],
      ["Size", bytes(record.bytes)],
      ["Step", record.step],
      ["Owner", record.owner],
    )
  }<ul class="happenings">${timelineEvents(record, visit, MOST_HAPPENINGS)}</ul>`;
}

function states(before: RunBody | undefined, run: RunBody): Html {
  return markup`<h2>Changes of the state</h2>
${
    before === undefined
      ? markup`<p class="quiet">There is no state before it to compare with.</p>`
      : difference(before.state, run.state)
  }
<h2>State</h2>
${valueBlock(run.state, "State")}`;
}

function forkForm(
  { link, runtime }: PageContext,
  { run }: RunBody,
  revision: number,
  refused: RefusedFork | undefined,
): Html {
  return markup`<form method="post" action="${link(`runs/${run.runId}/fork`)}" class="card">
<p>A new run begins with the step of this revision. What was done before that is not done again.</p>
<input type="hidden" name="revision" value="${revision}">
<input type="hidden" name="key" value="${runtime.uuid()}">
<details${refused === undefined ? "" : raw(" open")}><summary>With another state …</summary>
<div class="field"><label for="state">State, as JSON</label>
<textarea id="state" name="state" class="json" rows="10" spellcheck="false" aria-describedby="state-help">
${refused?.state ?? ""}</textarea>
<p class="help" id="state-help">Left empty, it is the one that the step began with.</p></div></details>
<p><button type="submit">Fork from here</button></p></form>
`;
}

async function runAt({ api }: PageContext, runId: string, revision: number): Promise<RunBody> {
  const query = { revision: String(revision) };
  return await bodyOf(api.v1.runs[":run_id"].$get({ param: { run_id: runId }, query }));
}

/** The run one revision earlier, if that is kept. */
async function runBefore(visit: PageContext, runId: string, revision: number): Promise<RunBody | undefined> {
  if (revision === 0) return undefined;
  try {
    return await runAt(visit, runId, revision - 1);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The record of a revision, and the one after it, if there is one. */
async function recordsFrom(
  { api }: PageContext,
  runId: string,
  revision: number,
): Promise<readonly Checkpoint[]> {
  const query = { from_revision: String(revision), limit: "2", include_values: "true" } as const;
  return (await bodyOf(api.v1.runs[":run_id"].history.$get({ param: { run_id: runId }, query }))).checkpoints;
}
