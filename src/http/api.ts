import type { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Logger } from "../engine/events.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Caller } from "./auth.ts";
import type { ServerInfo } from "./origin.ts";
import type { Asked } from "./operation.ts";
import { ErrorBody } from "./schemas.ts";
import type { Served } from "./served.ts";
import type { StreamTimes } from "./stream.ts";
import type { Visibility } from "./views.ts";

/** What middleware leaves for routes. */
export interface Env {
  readonly Variables: {
    /** What the path and method ask for. */
    asked: Asked;
    /** Where the app is mounted. */
    mount: string;
    /** Whether a page is asked for, not the API. */
    page: boolean;
    /** What the server of a request tells of who sends it. */
    server: ServerInfo;
    /** Who sends the request; absent while it is not known. */
    caller?: Caller;
    /** The code of the error that was answered. */
    fault?: string;
  };
}

/** What the routes work with. */
export interface Api {
  readonly served: Served;
  readonly expose: Visibility;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** Aborted when the app is to end. */
  readonly signal: AbortSignal;
  /** Aborted when what goes on by itself is to end: with the app, or when a server of it closes. */
  readonly closing: AbortSignal;
  readonly streams: StreamTimes & { readonly poll: number; readonly limit: number };
}

/** What the sender of a request may see. */
export function visibilityOf({ expose }: Api, c: Context<Env>): Visibility {
  const { state, causes } = c.get("caller") ?? {};
  return { state: state ?? expose.state, causes: causes ?? expose.causes };
}

/** A body of JSON, in the description of a route. */
export function json<T extends z.ZodType>(schema: T, description: string) {
  return { description, content: { "application/json": { schema } } } as const;
}

/** A body of JSON that a route takes; no body is the same as `{}`. */
export function takes<T extends z.ZodType>(schema: T) {
  return { required: true, content: { "application/json": { schema } } } as const;
}

const error = json(ErrorBody, "An error");

/** The errors of a route, beside those that every route may answer with. */
export function fails<const S extends number>(...statuses: S[]) {
  const all = [400, 401, 403, 500, 503, ...statuses] as const;
  return Object.fromEntries(all.map((status) => [status, error])) as {
    readonly [K in 400 | 401 | 403 | 500 | 503 | S]: typeof error;
  };
}
