import type { Context } from "hono";
import { type Client, createClient, ResponseError } from "../client.ts";
import type { Env } from "../api.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Drawings } from "./drawings.ts";

/** Where the pages are, below the place where the app is mounted. */
export const PAGES = "/ui";

/** Whether a path below that place is one of a page. */
export function isPagePath(path: string): boolean {
  return path === PAGES || path.startsWith(`${PAGES}/`);
}

/** What answers a request of the API. */
export type Answer = (request: Request, env: unknown) => Response | Promise<Response>;

/**
 * What a page is made from. Pages know nothing but the API, and ask it as whoever asks for the page: who that is, what they
 * may do and what they are shown is decided there, for each request.
 */
export interface PageContext {
  readonly api: Client;
  /** A link to a page. Links are relative, as the app may be mounted anywhere, behind any proxy. */
  link(path: string): string;
  readonly runtime: Runtime;
  readonly drawings: Drawings;
}

/** What is there for every visit. */
export type PageHost = Pick<PageContext, "runtime" | "drawings">;

/** What the sender of a request comes with. */
export function pageContextOf(c: Context<Env>, answer: Answer, desk: PageHost): PageContext {
  return { api: clientOf(c, answer), link: linkOf(c), ...desk };
}

/** Makes links that are right on the page that is asked for. */
export function linkOf(c: Context<Env>): PageContext["link"] {
  const path = c.req.path.slice(c.get("mount").length + PAGES.length);
  const depth = path.split("/").length - 1;
  const root = depth === 0 ? `.${PAGES}/` : depth === 1 ? "./" : "../".repeat(depth - 1);
  return (to) => root + to;
}

/** Whether the API says that there is no such run or revision, or no longer. */
export function isMissing(error: unknown): boolean {
  return error instanceof ResponseError && error.code === "CHECKPOINT_NOT_FOUND";
}

/** Of a request for a page these say how it is sent, not who sends it. */
const OF_THE_MESSAGE = [
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "idempotency-key",
  "if-modified-since",
  "if-none-match",
  "last-event-id",
  "range",
  "transfer-encoding",
];

function clientOf(c: Context<Env>, answer: Answer): Client {
  const { raw: page } = c.req;
  const ask = async (url: string | URL | Request, init?: RequestInit) => {
    const headers = new Headers(page.headers);
    for (const name of OF_THE_MESSAGE) headers.delete(name);
    new Headers(init?.headers).forEach((value, name) => headers.set(name, value));
    return await answer(new Request(url, { ...init, headers }), c.get("server"));
  };
  return createClient(new URL(page.url).origin, { fetch: ask as typeof fetch });
}
