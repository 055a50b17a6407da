import type { Context } from "hono";
import { routePath } from "hono/route";

/** Where the app is mounted in the path of a request; asked by middleware, whose own pattern is that place and `/*`. */
export function mountOf(c: Context): string {
  const depth = routePath(c).split("/").length - 1;
  return c.req.path.split("/").slice(0, depth).join("/");
}

/** The path of a run, as the sender of this request sees it. */
export function locationOf(c: Context, runId: string): string {
  return `${urlPath(c.req.path.slice(0, c.req.path.lastIndexOf("/v1/")))}/v1/runs/${runId}`;
}

/** The path of a request, which Hono has decoded but for `%` and what separates, as it is in an address. */
export function urlPath(path: string): string {
  return encodeURI(path).replaceAll("%25", "%");
}
