import { svg, type SvgOptions } from "../../graph/mod.ts";
import { bodyOf } from "../client.ts";
import type { GraphBody } from "../wire.ts";
import { type Html, markup, raw } from "./html.ts";
import type { Visit } from "./site.ts";

/** A graph, of a version or of its only one. */
export async function graphOf(
  { api }: Visit,
  graphId: string,
  version: string | undefined,
): Promise<GraphBody> {
  const query = version === undefined ? {} : { version };
  return await bodyOf(api.v1.graphs[":graph_id"].topology.$get({ param: { graph_id: graphId }, query }));
}

/** A graph as a drawing; its style is that of the page. */
export async function picture(graph: GraphBody, status: SvgOptions["status"] = {}): Promise<Html> {
  // The drawing escapes what it writes.
  const drawing = raw(await svg(graph, { status, styled: false }));
  return markup`<div class="picture" tabindex="0" role="region" aria-label="Drawing of the graph">${drawing}</div>
`;
}

/** A link to a version of a graph. */
export function graphLink(
  { link }: Pick<Visit, "link">,
  graphId: string,
  version: string,
  text: unknown,
): Html {
  return markup`<a href="${link(`graphs/${graphId}?version=${encodeURIComponent(version)}`)}">${text}</a>`;
}

/** A version without most of its digest. */
export function shortVersion(version: string): string {
  return version.replace(/^([0-9a-f]{8})[0-9a-f]{56}/, "$1…");
}
