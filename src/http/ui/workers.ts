import { bodyOf } from "../client.ts";
import type { RunPage, WorkerList } from "../wire.ts";
import { shortVersion } from "./graph.ts";
import { type Html, markup, NOTHING } from "./html.ts";
import { live, page, table } from "./page.ts";
import type { PageContext } from "./site.ts";
import { time } from "./format.ts";

/** Who works on the runs of the store. */
export async function workersPage(visit: PageContext): Promise<Html> {
  const [{ workers }, { runs, done }] = await Promise.all([
    bodyOf(visit.api.v1.workers.$get()),
    bodyOf(visit.api.v1.runs.$get({ query: { activity: "stranded", limit: String(MOST) } })),
  ]);
  return page(visit, {
    title: "Workers",
    section: "workers",
    poll: true,
    main: markup`<h1>Workers</h1>
${
      live(
        "workers",
        workers.length === 0
          ? markup`<p class="empty">No worker serves these graphs: runs wait until one does.</p>`
          : table("Workers", HEADS, workers.map((worker) => row(visit, worker))),
        runs.length === 0 ? NOTHING : stranded(visit, runs, done),
      )
    }`,
  });
}

/** So many stranded runs are looked at. */
const MOST = 200;

/** The versions with open runs that nobody serves. */
function stranded({ link }: PageContext, runs: RunPage["runs"], done: boolean): Html {
  const versions = new Map<string, RunPage["runs"][number][]>();
  for (const run of runs) {
    const key = `${run.graphId} ${run.graphVersion}`;
    versions.set(key, [...versions.get(key) ?? [], run]);
  }
  const rows = [...versions.values()].map((of) => [
    of[0]!.graphId,
    shortVersion(of[0]!.graphVersion),
    `${of.length}${done ? "" : " or more"}`,
    of.slice(0, 3).map(({ runId }) => markup`<a href="${link(`runs/${runId}`)}">${runId}</a> `),
  ]);
  return markup`<h2>Not served</h2>
<p class="quiet">No living worker serves these versions: serve them again, bring their runs to another one, or cancel them.</p>
${table("Versions that nobody serves", ["Graph", "Version", "Open runs", "Such as"], rows)}`;
}

const HEADS = ["Name", "Places taken", "Serves", "Started", "Last seen"];

function row({ link }: PageContext, worker: WorkerList["workers"][number]): readonly unknown[] {
  const { name, host, pid, places, active, serves, startedAt, seenAt, isAlive } = worker;
  return [
    markup`${name}<br><span class="quiet">${host}, process ${pid}</span>`,
    `${active} of ${places}`,
    serves.map(({ graphId, graphVersion }) =>
      markup`<a href="${
        link(`graphs/${graphId}?version=${encodeURIComponent(graphVersion)}`)
      }">${graphId}</a> ${shortVersion(graphVersion)}<br>`
    ),
    time(startedAt),
    isAlive ? time(seenAt) : markup`${time(seenAt)} <span class="badge stranded">silent</span>`,
  ];
}
