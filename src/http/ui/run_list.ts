import type { Activity } from "../../engine/activity.ts";
import type { InterruptReason, RunStatus } from "../../model/run.ts";
import { bodyOf } from "../client.ts";
import type { RunRow } from "../wire.ts";
import { type Html, markup, NOTHING } from "./html.ts";
import { given, live, page, select, table } from "./page.ts";
import type { PageContext } from "./site.ts";
import { badge, time } from "./format.ts";

/** What a list of runs is narrowed to, as its form sends it: fields that were left alone are empty. */
interface RunFilter {
  readonly graph_id?: string;
  /** What a run is at, as its badge says it. */
  readonly status?: string;
  readonly tag?: string;
  readonly cursor?: string;
}

/** What a run may be at, and what the API is asked for. */
const STANDS: Readonly<
  Record<string, {
    readonly status?: RunStatus;
    readonly reason?: InterruptReason;
    readonly activity?: Activity;
  }>
> = {
  queued: { activity: "queued" },
  working: { activity: "working" },
  stranded: { activity: "stranded" },
  running: { status: "running" },
  awaiting: { status: "interrupted", reason: "awaiting" },
  sleeping: { status: "interrupted", reason: "sleeping" },
  errored: { status: "interrupted", reason: "errored" },
  halted: { status: "interrupted", reason: "halted" },
  completed: { status: "completed" },
  cancelled: { status: "cancelled" },
};

const HEADS = ["Run", "Graph", "Status", "Waits", "Step", "Tags", "Started", "Changed"];

/** The list of runs. */
export async function runsPage(visit: PageContext, filter: RunFilter): Promise<Html> {
  const { api, link } = visit;
  const { graph_id = "", status = "", tag = "", cursor = "" } = filter;
  const { graphs } = await bodyOf(api.v1.graphs.$get());
  // What is no stand of a run is for the API to refuse.
  const stand = Object.hasOwn(STANDS, status) ? STANDS[status]! : given({ status });
  const query = { ...given({ graph_id, tag, cursor }), ...stand, limit: "50" };
  const { runs, next_cursor } = await bodyOf(api.v1.runs.$get({ query }));
  const older = new URLSearchParams(given({ graph_id, status, tag, cursor: next_cursor ?? "" })).toString();
  return page(visit, {
    title: "Runs",
    section: "runs",
    // Further pages do not move under the reader.
    ...(cursor === "" ? { poll: true } : {}),
    main: markup`<div class="heading"><h1>Runs</h1><p><a href="${link("graphs")}">Start a run</a></p></div>
<form method="get" action="${link("runs")}" class="filters" role="search">
${select("Graph", "graph_id", graph_id, graphs.map(({ graphId }) => graphId))}
${select("Status", "status", status, Object.keys(STANDS))}
<div class="field"><label for="tag">Tag</label><input id="tag" name="tag" value="${tag}" autocomplete="off"></div>
<button type="submit">Filter</button>
</form>
${
      live(
        "list",
        runs.length === 0
          ? markup`<p class="empty">No runs.</p>`
          : table("Runs", HEADS, runs.map((run) => row(visit, run))),
        next_cursor === undefined
          ? NOTHING
          : markup`<p><a href="${link(`runs?${older}`)}" rel="next">Older runs</a></p>`,
      )
    }`,
  });
}

function row({ link }: PageContext, run: RunRow): readonly unknown[] {
  return [
    markup`<a href="${link(`runs/${run.runId}`)}">${run.runId}</a>`,
    markup`<a href="${link(`graphs/${run.graphId}`)}">${run.graphId}</a>`,
    badge(run),
    run.openWaits === 0 ? "" : run.openWaits,
    run.step,
    run.tags.map((tag) =>
      markup`<a class="tag" href="${link(`runs?tag=${encodeURIComponent(tag)}`)}">${tag}</a> `
    ),
    time(run.createdAt),
    time(run.updatedAt),
  ];
}
