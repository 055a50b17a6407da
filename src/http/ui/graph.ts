import { bodyOf, ResponseError } from "../client.ts";
import type { GraphBody, RunInfo } from "../wire.ts";
import { type Html, markup } from "./html.ts";
import type { PageContext } from "./site.ts";

/** A graph, of a version or of its newest one. */
export async function graphOf(
  { api }: PageContext,
  graphId: string,
  version: string | undefined,
): Promise<GraphBody> {
  const query = version === undefined ? {} : { version };
  return await bodyOf(api.v1.graphs[":graph_id"].topology.$get({ param: { graph_id: graphId }, query }));
}

/** The graph of a run: in its version, or in the one that shows the run where that is not served. */
export async function graphOfRun(
  visit: PageContext,
  { graphId, graphVersion }: Pick<RunInfo, "graphId" | "graphVersion">,
): Promise<GraphBody> {
  try {
    return await graphOf(visit, graphId, graphVersion);
  } catch (error) {
    if (!(error instanceof ResponseError) || error.code !== "GRAPH_NOT_SERVED") throw error;
    return await graphOf(visit, graphId, undefined);
  }
}

/** A link to a version of a graph. */
export function graphLink(
  { link }: Pick<PageContext, "link">,
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
