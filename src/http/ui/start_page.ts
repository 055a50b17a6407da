import { bodyOf } from "../client.ts";
import { fieldsOf, type Filled } from "./form/mod.ts";
import { graphLink, graphOf, shortVersion } from "./graph.ts";
import { type Html, markup } from "./html.ts";
import { alert, page, table } from "./page.ts";
import type { PageContext } from "./site.ts";

/** The graphs that are served. */
export async function graphsPage(visit: PageContext): Promise<Html> {
  const { graphs } = await bodyOf(visit.api.v1.graphs.$get());
  const rows = graphs.map(({ graphId, versions }) => [
    markup`<a href="${visit.link(`graphs/${graphId}`)}">${graphId}</a>`,
    versions.map((version) => markup`${graphLink(visit, graphId, version, shortVersion(version))} `),
  ]);
  return page(visit, {
    title: "Graphs",
    section: "graphs",
    main: markup`<h1>Graphs</h1>
${table("Graphs", ["Graph", "Versions"], rows)}`,
  });
}

/** What a start form was sent with, where it was refused. */
interface RefusedStart {
  readonly filled: Filled;
  readonly tags: string;
  readonly problem: string;
}

/** A graph, and the form that starts a run of it. */
export async function graphPage(
  visit: PageContext,
  graphId: string,
  version: string | undefined,
  refused?: RefusedStart,
): Promise<Html> {
  const { graphs } = await bodyOf(visit.api.v1.graphs.$get());
  const versions = graphs.find((graph) => graph.graphId === graphId)?.versions ?? [];
  const graph = await graphOf(visit, graphId, version ?? versions.at(-1));
  const others = versions.filter((v) => v !== graph.version);
  return page(visit, {
    title: graphId,
    section: "graphs",
    main: markup`<h1>${graphId}</h1>
<p class="quiet">Version <code>${shortVersion(graph.version)}</code>${
      others.map((v) => markup`, ${graphLink(visit, graphId, v, shortVersion(v))}`)
    } · <a href="${visit.link(`runs?graph_id=${graphId}`)}">its runs</a></p>
<div class="columns">
<section aria-labelledby="start"><h2 id="start">Start a run</h2>
${alert(refused?.problem)}
<form method="post" action="${visit.link(`graphs/${graphId}`)}" class="card">
<input type="hidden" name="key" value="${visit.runtime.uuid()}">
<input type="hidden" name="version" value="${graph.version}">
${fieldsOf(graph.input, "input", refused?.filled)}
<div class="field"><label for="tags">Tags of the run</label>
<input id="tags" name="tags" value="${refused?.tags ?? ""}" aria-describedby="tags-help" autocomplete="off">
<p class="help" id="tags-help">Words by which the run is found, with spaces between them; may be left empty</p></div>
<p><button type="submit">Start run</button></p>
</form></section>
<section aria-labelledby="drawing"><h2 id="drawing">Graph</h2>
${await visit.drawings.draw(graph)}</section>
</div>`,
  });
}
