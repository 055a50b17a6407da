import type { Context } from "hono";
import { routePath } from "hono/route";

/** Where the app is mounted in the path of a request; asked by middleware, whose own pattern is that place and `/*`. */
export function mountOf(c: Context): string {
  const depth = routePath(c).split("/").length - 1;
  return c.req.path.split("/").slice(0, depth).join("/");
}

/** The path of a run, as the sender of this request sees it. */
export function locationOf(c: Context, runId: string): string {
  return `${c.req.path.slice(0, c.req.path.lastIndexOf("/v1/"))}/v1/runs/${runId}`;
}
