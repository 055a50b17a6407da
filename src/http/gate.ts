import type { Context, ErrorHandler, MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import type { secureHeaders } from "hono/secure-headers";
import type { Api, Env } from "./api.ts";
import type { AuditEvent } from "./audit.ts";
import { ANYONE, type Authenticate, callerOf } from "./auth.ts";
import { readBody } from "./body.ts";
import { answerTo, HttpFault } from "./faults.ts";
import type { Operations } from "./operation.ts";
import { checkLocal, checkOrigin } from "./origin.ts";
import { mountOf } from "./paths.ts";

/**
 * What every request passes, in this order, whether there is a route for it or not:
 *
 * 1. Where nobody is authenticated: is it from this machine? And does no page of another origin make it?
 * 2. Who sends it? Nothing of the store is read, and nothing of the body, before that is known.
 * 3. Its body is read and counted. What it holds is judged by the route.
 */
export interface GateOptions {
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
    if (auth === undefined && !insecure) checkLocal(request, c.env);
    checkOrigin(request, origins);
    const { operation, graphId, runId } = c.get("asked");
    const call = {
      request,
      reads: request.method === "GET" || request.method === "HEAD",
      ...(operation === undefined ? {} : { operation }),
      ...(graphId === undefined ? {} : { graphId }),
      ...(runId === undefined ? {} : { runId }),
    };
    c.set("caller", auth === undefined ? ANYONE : await callerOf(auth, call, authTimeoutMs, runtime, failed));
    await readBody(c, bodyLimit, runtime);
    await next();
  };
}

/** Notes what a request asks for, and tells of it once it is answered. */
export function watch(
  { runtime, logger }: Api,
  operations: Operations,
  audit: ((event: AuditEvent) => void) | undefined,
): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { method } = c.req;
    const asked = operations.find(method, c.req.path.slice(mountOf(c).length));
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
        ...(caller === undefined ? {} : { caller: caller.id }),
        status,
        ...(code === undefined ? {} : { code }),
      });
    } catch (error) {
      logger.warn("superstep: an audit function failed", { error });
    }
  };
}

/** Answers what was thrown. */
export function faultHandler({ logger }: Api): ErrorHandler<Env> {
  return (error, c) => {
    const { status, body, headers } = answerTo(error instanceof HTTPException ? ofHono(error) : error);
    const { operation, runId } = c.get("asked") ?? {};
    if (status >= 500) {
      logger.warn(`superstep: ${operation ?? "a request"} failed over HTTP`, { error, runId });
    }
    c.set("fault", body.error.code);
    return c.json(body, status, headers);
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
    const methods = operations.methodsOf(c.req.path.slice(mountOf(c).length));
    if (methods.length === 0) throw new HttpFault("NOT_FOUND");
    throw new HttpFault("METHOD_NOT_ALLOWED", { headers: { Allow: methods.join(", ") } });
  };
}

/** For an interface that no page is made of. */
export const SECURE_HEADERS: Parameters<typeof secureHeaders>[0] = {
  contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  xFrameOptions: "DENY",
  // Whether a whole host is reached over TLS only is not for a part of it to say.
  strictTransportSecurity: false,
};

/** What pages of allowed origins may read beside the usual. */
export const EXPOSED = ["Location", "X-Graph-Version", "Retry-After"];
