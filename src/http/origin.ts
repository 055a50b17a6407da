import { HttpFault } from "./faults.ts";

/**
 * Who may reach an app without authentication, and from which pages.
 *
 * 1. Without authentication only this machine is served, under a name of this machine: neither a public bind, nor a page
 *    that had its own name resolved to this machine, nor whoever a proxy on this machine speaks for, gets anything.
 * 2. A page of another origin changes nothing, whatever the browser sends along for it.
 */

/** Refuses requests to an address that is none: servers make it of whatever was sent as the host. */
export function checkAddress({ url, headers }: Request): void {
  if (URL.canParse(url) && !/[\s/?#@\\]/.test(headers.get("host") ?? "")) return;
  throw new HttpFault("BAD_REQUEST", { issues: [{ path: "host", message: "it is no host" }] });
}

/** Refuses callers of an app without authentication that may not be on this machine. */
export function checkLocal(request: Request, env: unknown): void {
  const peer = peerOf(request, env);
  const local = (peer === undefined || isLoopback(peer)) && isLoopback(new URL(request.url).hostname);
  if (!local || FORWARDED.some((name) => request.headers.has(name))) throw new HttpFault("LOCAL_ONLY");
}

/** What proxies say of those that they speak for. */
const FORWARDED = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

/** Refuses requests that pages of other origins make, unless those are allowed. */
export function checkOrigin(request: Request, allowed: readonly string[]): void {
  const { method, headers, url } = request;
  if (method === "GET" || method === "HEAD") return;
  const origin = headers.get("origin");
  if (origin === null) {
    if (headers.get("sec-fetch-site") === "cross-site") throw new HttpFault("FOREIGN_ORIGIN");
    return;
  }
  const host = hostOf(origin);
  if (allowed.includes(origin) || host === (headers.get("host") ?? new URL(url).host)) return;
  // A proxy may have put another host in its place; a browser that says where a request comes from saw the first one.
  if (host !== undefined && headers.get("sec-fetch-site") === "same-origin") return;
  throw new HttpFault("FOREIGN_ORIGIN");
}

/** Refuses requests that change something and do not come from a page of the app itself, as the browser tells. */
export function checkSamePage(request: Request): void {
  const { method, headers } = request;
  if (method === "GET" || method === "HEAD") return;
  const site = headers.get("sec-fetch-site") ?? "same-origin";
  if (headers.get("origin") === null || site !== "same-origin") throw new HttpFault("FOREIGN_ORIGIN");
  checkOrigin(request, []);
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host;
  } catch {
    return undefined;
  }
}

/** Whether a name or address is of this machine alone. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  return name === "localhost" || name.endsWith(".localhost") || name === "::1" ||
    /^(::ffff:)?127(\.\d{1,3}){3}$/.test(name);
}

/** The address at the other end of the connection, where the server of this runtime tells. */
function peerOf(request: Request, env: unknown): string | undefined {
  const { remoteAddr, incoming, requestIP } = (env ?? {}) as ServerInfo;
  const address = typeof requestIP === "function"
    // A request that is not the server's own, as one that was made anew on its way here, may come from anywhere.
    ? (env as Required<ServerInfo>).requestIP(request)?.address ?? "unknown"
    : remoteAddr?.hostname ?? incoming?.socket?.remoteAddress;
  return typeof address === "string" ? address : undefined;
}

/** What tells of a request that was made anew what its server told of the one that came. */
export function infoFor(request: Request, env: unknown): ServerInfo {
  const hostname = peerOf(request, env);
  return hostname === undefined ? {} : { remoteAddr: { hostname } };
}

/** What a server hands over with a request: Deno's information on it, Bun's server, or what Hono's server for Node has. */
export interface ServerInfo {
  readonly remoteAddr?: { readonly hostname?: unknown };
  requestIP?(request: Request): { readonly address: unknown } | null;
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: unknown } };
}
