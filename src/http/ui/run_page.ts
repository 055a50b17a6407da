import { span } from "../../model/amounts.ts";
import { isOver } from "../../model/run.ts";
import { bodyOf, ResponseError } from "../client.ts";
import type { RunBody } from "../wire.ts";
import { graphLink, graphOfRun, shortVersion } from "./graph.ts";
import { problemOf } from "./timeline_events.ts";
import { type Html, markup, NOTHING } from "./html.ts";
import { facts, live, notice, page } from "./page.ts";
import { newestRecord, recordsUntil, timeline } from "./records.ts";
import type { PageContext } from "./site.ts";
import { vertexTable } from "./vertices.ts";
import { waitsOfForeign, waitsOfRun } from "./waits.ts";
import { badge, nameOf, time, valueBlock } from "./format.ts";

/** What the page of a run is asked for with. */
interface RunPageOptions {
  /** What was done to it, in words. */
  readonly done: string | undefined;
  /** The last revision of its timeline. */
  readonly until: number | undefined;
}

/** So many faults are told. */
const MOST_FAULTS = 20;

/** One run: how it stands, what it waits for, what happened. */
export async function runPage(
  visit: PageContext,
  runId: string,
  { done, until }: RunPageOptions,
): Promise<Html> {
  const run = await readRun(visit, runId);
  if (run instanceof ResponseError) return await foreignPage(visit, runId, run, { done, until });
  const { revision } = run.run;
  const [graph, history, waits] = await Promise.all([
    graphOfRun(visit, run.run),
    recordsUntil(visit, runId, Math.min(until ?? revision, revision)),
    waitsOfRun(visit, run),
  ]);
  const events = visit.link(`../v1/runs/${runId}/events?from_revision=${revision + 1}`);
  return page(visit, {
    title: `Run ${runId}`,
    section: "runs",
    ...(isOver(run.status) ? {} : { events }),
    main: markup`<div class="heading"><h1>${runId}</h1><p role="status" id="status" data-live>${
      badge(run)
    }</p></div>
${notice(done)}${live("facts", runFacts(visit, run))}
<div class="columns">
<section aria-labelledby="graph-head"><h2 id="graph-head">Graph</h2>
${live("graph", await visit.drawings.draw(graph, run.vertices))}
${live("vertices", vertexTable(graph, run, history.records))}
</section>
<section aria-label="Waits, state and actions">
${live("faults", ...faults(run))}
${live("waits", waits.length === 0 ? NOTHING : markup`<h2>Waits</h2>${waits}`)}
${live("state", "state" in run ? markup`<h2>State</h2>${valueBlock(run.state, "State")}` : NOTHING)}
${live("actions", isOver(run.status) ? NOTHING : actions(visit, run))}
</section>
</div>
<section aria-labelledby="timeline-head"><h2 id="timeline-head">Timeline</h2>
${live("timeline", timeline(visit, runId, history))}
</section>`,
  });
}

/** A run, or why no version of its graph that is served can go on with it. */
async function readRun({ api }: PageContext, runId: string): Promise<RunBody | ResponseError> {
  try {
    return await bodyOf(api.v1.runs[":run_id"].$get({ param: { run_id: runId }, query: {} }));
  } catch (error) {
    if (error instanceof ResponseError && error.code === "GRAPH_VERSION_MISMATCH") return error;
    throw error;
  }
}

/** A run of a version of its graph that is not served: its records tell what happened, and it can be ended. */
async function foreignPage(
  visit: PageContext,
  runId: string,
  { issues: [issue] }: ResponseError,
  { done, until }: RunPageOptions,
): Promise<Html> {
  const last = await newestRecord(visit, runId);
  const newest = last?.revision ?? 0;
  const history = await recordsUntil(visit, runId, Math.min(until ?? newest, newest));
  const waits = last === undefined || isOver(last.status) ? [] : await waitsOfForeign(visit, runId);
  return page(visit, {
    title: `Run ${runId}`,
    section: "runs",
    main: markup`<div class="heading"><h1>${runId}</h1><p>${last === undefined ? "" : badge(last)}</p></div>
${notice(done)}
<p>It is of a version of its graph that is not served here, and cannot go on with one that is${
      issue === undefined ? "" : markup`: ${issue.message}`
    }. Its state is shown where its version is served.</p>
${waits.length === 0 ? NOTHING : markup`<h2>Waits</h2>${waits}`}
${last === undefined || isOver(last.status) ? NOTHING : cancelForm(visit, runId)}
<h2>Timeline</h2>
${timeline(visit, runId, history)}`,
  });
}

function runFacts(visit: PageContext, { run, due }: RunBody): Html {
  const { graphId, graphVersion, parent, caller } = run;
  const runLink = (runId: string) => markup`<a href="${visit.link(`runs/${runId}`)}">${runId}</a>`;
  const at = (ms: number | undefined) => ms === undefined ? undefined : time(ms);
  return facts(
    [
      "Graph",
      markup`${graphLink(visit, graphId, graphVersion, graphId)} <code>${shortVersion(graphVersion)}</code>`,
    ],
    ["Started", time(run.createdAt)],
    ["Took", run.completedAt === undefined ? undefined : span(run.completedAt - run.createdAt)],
    ["Changed", time(run.updatedAt)],
    ["Goes on", at(due)],
    ["To be over by", at(run.deadline)],
    ["Step", run.step],
    [
      "Revision",
      markup`<a href="${visit.link(`runs/${run.runId}/revisions/${run.revision}`)}">${run.revision}</a>`,
    ],
    ["Owner", run.owner],
    [
      "Tags",
      run.tags.length === 0 ? undefined : run.tags.map((tag) => markup`<span class="tag">${tag}</span> `),
    ],
    [
      "Fork of",
      parent === undefined ? undefined : markup`${runLink(parent.runId)}, revision ${parent.revision}`,
    ],
    ["Called by", caller === undefined ? undefined : markup`${runLink(caller.runId)}, ${nameOf(caller)}`],
    ["Cancelled", run.cancelReason],
  );
}

function faults({ failures = [], halt }: RunBody): readonly Html[] {
  if (failures.length === 0 && halt === undefined) return [];
  return [
    markup`<h2>Failures</h2>`,
    ...failures.slice(0, MOST_FAULTS).map(({ failure, ...place }) =>
      markup`<div class="card fault"><h3>${nameOf(place)}</h3>
<p>${problemOf(failure)}</p>
<p class="quiet">In ${failure.phase}, attempt ${failure.attempt}</p>${stackOf(failure.stack)}</div>
`
    ),
    failures.length <= MOST_FAULTS
      ? NOTHING
      : markup`<p class="quiet">… and ${failures.length - MOST_FAULTS} more</p>`,
    halt === undefined ? NOTHING : markup`<div class="card fault"><h3>Halted: ${halt.kind}</h3>
<p>${halt.message ?? ""}</p>
<p class="quiet">${halt.vertexId === undefined ? "" : `At ${halt.vertexId}`}</p></div>
`,
  ];
}

function actions(visit: PageContext, { run, reason }: RunBody): Html {
  const stuck = reason === "errored" || reason === "halted";
  return markup`<h2>Actions</h2>
${stuck ? resumeForm(visit, run.runId) : ""}${cancelForm(visit, run.runId)}`;
}

function resumeForm({ link }: PageContext, runId: string): Html {
  return markup`<form method="post" action="${link(`runs/${runId}/resume`)}" class="card">
<p>Failed vertices get fresh attempts; a halt is decided anew.</p>
<p><button type="submit">Resume</button></p></form>
`;
}

function cancelForm({ link }: PageContext, runId: string): Html {
  return markup`<details class="card" id="cancel" data-keep><summary>Cancel this run …</summary>
<form method="post" action="${link(`runs/${runId}/cancel`)}">
<div class="field"><label for="reason">Reason</label>
<input id="reason" name="reason" maxlength="1000" autocomplete="off" aria-describedby="reason-help">
<p class="help" id="reason-help">May be left empty. A cancelled run never goes on.</p></div>
<p><button type="submit" class="danger">Cancel run</button></p></form></details>
`;
}

function stackOf(stack: string | undefined): Html {
  if (stack === undefined) return NOTHING;
  return markup`<details><summary>Stack</summary><pre>${stack}</pre></details>`;
}
