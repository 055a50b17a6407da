import { bodyOf } from "../client.ts";
import type { WorkerList } from "../wire.ts";
import { shortVersion } from "./graph.ts";
import { type Html, markup } from "./html.ts";
import { live, page, table } from "./page.ts";
import type { PageContext } from "./site.ts";
import { time } from "./format.ts";

/** Who works on the runs of the store. */
export async function workersPage(visit: PageContext): Promise<Html> {
  const { workers } = await bodyOf(visit.api.v1.workers.$get());
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
      )
    }`,
  });
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
