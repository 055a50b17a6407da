import { bodyOf } from "../client.ts";
import type { GraphBody } from "../wire.ts";
import { type Html, markup } from "./html.ts";
import type { PageContext } from "./site.ts";

/** A graph, of a version or of its only one. */
export async function graphOf(
  { api }: PageContext,
  graphId: string,
  version: string | undefined,
): Promise<GraphBody> {
  const query = version === undefined ? {} : { version };
  return await bodyOf(api.v1.graphs[":graph_id"].topology.$get({ param: { graph_id: graphId }, query }));
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
