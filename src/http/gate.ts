import type { Context, ErrorHandler, MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { secureHeaders } from "hono/secure-headers";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { defined } from "../model/defined.ts";
import type { Api, Env } from "./api.ts";
import type { AuditEvent } from "./audit.ts";
import { serving } from "./app_lifetime.ts";
import { ANYONE, type Authenticate, callerOf } from "./auth.ts";
import { FORM, JSON_TYPE, readBody } from "./body.ts";
import { ResponseError } from "./client.ts";
import { answerTo, HttpFault } from "./faults.ts";
import type { Operations } from "./operation.ts";
import { checkAddress, checkLocal, checkOrigin, checkSamePage, infoFor } from "./origin.ts";
import { mountOf } from "./paths.ts";
import { errorPage } from "./ui/error_page.ts";
import { isPagePath, linkOf } from "./ui/site.ts";

/**
 * What every request passes, in this order, whether there is a route for it or not:
 *
 * 1. Is it to an address at all? Where nobody is authenticated: is it from this machine? And does no page of another
 *    origin make it? A form of the dashboard must come from one of its pages.
 * 2. Who sends it? Nothing of the store is read, and nothing of the body, before that is known.
 * 3. Its body is read and counted. What it holds is judged by the route.
 */
interface GateOptions {
  readonly auth: Authenticate | undefined;
  readonly authTimeoutMs: number;
  readonly insecure: boolean;
  readonly origins: readonly string[];
  readonly bodyLimit: number;
}

/** Lets requests in, or answers in the place of the route. */
export function gate(api: Api, options: GateOptions): MiddlewareHandler<Env> {
  const { auth, authTimeoutMs, insecure, origins, bodyLimit } = options;
  const { runtime, logger } = api;
  const failed = (error: unknown) =>
    logger.warn("superstep: auth failed, and the request was denied", { error });
  return async (c, next) => {
    const { raw: request } = c.req;
    checkAddress(request);
    c.set("server", infoFor(request, c.env));
    if (auth === undefined && !insecure) {
      const server = serving.getStore();
      if (server?.isPublic) throw new HttpFault("LOCAL_ONLY");
      // Nobody else reaches a server at an address of this machine, whatever is left of the request after a mount.
      checkLocal(request, server === undefined ? c.env : undefined);
    }
    if (c.get("page")) checkSamePage(request);
    else checkOrigin(request, origins);
    const { operation, graphId, runId } = c.get("asked");
    const call = {
      request,
      reads: request.method === "GET" || request.method === "HEAD",
      ...defined({ operation, graphId, runId }),
    };
    c.set("caller", auth === undefined ? ANYONE : await callerOf(auth, call, authTimeoutMs, runtime, failed));
    await readBody(c, { limit: bodyLimit, type: c.get("page") ? FORM : JSON_TYPE }, runtime);
    await next();
  };
}

/** Notes what a request asks for, and tells of it once it is answered. */
export function watch(
  { runtime, logger }: Api,
  operations: Operations,
  { audit, pages }: { readonly audit: ((event: AuditEvent) => void) | undefined; readonly pages: boolean },
): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { method } = c.req;
    const mount = mountOf(c);
    const path = c.req.path.slice(mount.length);
    const page = pages && isPagePath(path);
    const asked = page ? { operation: "dashboard" } : operations.find(method, path);
    c.set("mount", mount);
    c.set("page", page);
    c.set("asked", asked);
    await next();
    const { headers, status } = c.res;
    if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
    if (headers.get("Content-Type") === "application/json") {
      headers.set("Content-Type", "application/json; charset=utf-8");
    }
    const caller = c.get("caller");
    const code = c.get("fault");
    try {
      audit?.({
        at: runtime.now(),
        method,
        ...asked,
        ...defined({ caller: caller?.id, status, code }),
      });
    } catch (error) {
      logger.warn("superstep: an audit function failed", { error });
    }
  };
}

/** Answers what was thrown. */
export function faultHandler({ logger }: Api, login: string | undefined): ErrorHandler<Env> {
  return (error, c) => {
    const answer = error instanceof ResponseError
      ? { status: error.status as ContentfulStatusCode, body: { error: error.body }, headers: {} }
      : answerTo(error instanceof HTTPException ? ofHono(error) : error);
    const { status, body, headers } = answer;
    const { operation, runId } = c.get("asked") ?? {};
    // What a page asked of the API has been told of there.
    if (status >= 500 && !(error instanceof ResponseError)) {
      logger.warn(`superstep: ${operation ?? "a request"} failed over HTTP`, { error, runId });
    }
    c.set("fault", body.error.code);
    if (!c.get("page")) return c.json(body, status, headers);
    if (status === 401 && login !== undefined && c.req.method === "GET") {
      const { pathname, search } = new URL(c.req.url);
      return c.redirect(`${login}?${new URLSearchParams({ next: pathname + search })}`, 303);
    }
    // A browser asks its user for a name and a password, and nobody for a token.
    const challenge: Record<string, string> = status === 401
      ? { "WWW-Authenticate": 'Basic realm="superstep", charset="UTF-8"' }
      : {};
    return c.html(errorPage(linkOf(c), answer), status, { ...headers, ...challenge });
  };
}

/** What Hono's own validation refuses. */
function ofHono({ status }: HTTPException): unknown {
  return new HttpFault(
    status === 415 ? "UNSUPPORTED_MEDIA_TYPE" : status === 400 ? "MALFORMED_BODY" : "INTERNAL",
  );
}

/** Refuses what no route took. */
export function unmatched(operations: Operations) {
  return (c: Context<Env>): never => {
    const methods = operations.methodsOf(c.req.path.slice(c.get("mount").length));
    if (methods.length === 0) throw new HttpFault("NOT_FOUND");
    throw new HttpFault("METHOD_NOT_ALLOWED", { headers: { Allow: methods.join(", ") } });
  };
}

/** Sets the headers that keep a browser from doing more with an answer than it is meant for. */
export function secure(pages: boolean): MiddlewareHandler<Env> {
  const ofApi = secureHeaders(API_HEADERS);
  const ofPages = secureHeaders(PAGE_HEADERS);
  return (c, next) => (pages && isPagePath(c.req.path.slice(mountOf(c).length)) ? ofPages : ofApi)(c, next);
}

type SecureHeaders = Parameters<typeof secureHeaders>[0];

/** For an interface that no page is made of. */
const API_HEADERS: SecureHeaders = {
  contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  xFrameOptions: "DENY",
  // Whether a whole host is reached over TLS only is not for a part of it to say.
  strictTransportSecurity: false,
};

/** For pages that are made of nothing but what the app itself serves. */
const PAGE_HEADERS: SecureHeaders = {
  ...API_HEADERS,
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'"],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
  // Without it browsers do not say which page a form comes from.
  referrerPolicy: "same-origin",
};

/** What pages of allowed origins may read beside the usual. */
export const EXPOSED = ["Location", "X-Graph-Version", "Retry-After"];
