import { OpenAPIHono } from "@hono/zod-openapi";
import { cors } from "hono/cors";
import { compile } from "../compile.ts";
import { loggerOf, positive, span } from "../engine/options.ts";
import { BuildError } from "../errors.ts";
import { systemRuntime } from "../runtime/system.ts";
import type { Api, Env } from "./api.ts";
import { checkApp } from "./validate_options.ts";
import type { AppType } from "./contract.ts";
import { badRequest } from "./faults.ts";
import { AppLifetime, endOf, serving } from "./app_lifetime.ts";
import { EXPOSED, faultHandler, gate, secure, unmatched, watch } from "./gate.ts";
import { Operations } from "./operation.ts";
import type { AppOptions, StreamOptions } from "./options.ts";
import { urlPath } from "./paths.ts";
import { documentRoutes } from "./routes/document.ts";
import { graphRoutes } from "./routes/graphs.ts";
import { historyRoutes } from "./routes/history.ts";
import { operationRoutes } from "./routes/operations.ts";
import { runRoutes } from "./routes/runs.ts";
import { waitRoutes } from "./routes/waits.ts";
import { Served } from "./served.ts";
import { dashboard, PAGES } from "./ui/mod.ts";

/**
 * An app that serves runs over HTTP: start and list them, follow what happens to them, answer what they wait for, cancel,
 * fork and edit them. Mount it in any Hono app, or hand it to `listen`, `Deno.serve` or `Bun.serve`.
 *
 * It works on no run but those that `resume` asks for: what it starts and what is answered is worked on by whoever serves
 * the store, such as `serve` of `superstep/worker` in this process or another.
 *
 * @throws {BuildError} nothing to serve, runners on several stores, or an option that is not one
 * @throws {DuplicateRegistrationError} two runners of one version
 *
 * @example
 * ```ts ignore
 * const app = createApp({ store, workflows: [Approval], auth: ({ request }) => tokens.get(request.headers.get("authorization")) });
 * new Hono().route("/superstep", app);
 * ```
 */
export function createApp(options: AppOptions): AppType {
  checkApp(options);
  const { signal } = endOf(options.signal);
  const goings = new AppLifetime(signal);
  const api = apiOf(options, signal, goings);
  const app = new OpenAPIHono<Env>({
    defaultHook: (result) => {
      if (!result.success) throw badRequest(result.error.issues);
    },
  });
  app.onError(faultHandler(api, options.login));
  const pages = options.dashboard ?? true;
  app.use(secure(pages));
  const { origins = [] } = options;
  if (origins.length > 0) app.use(cors({ origin: [...origins], credentials: true, exposeHeaders: EXPOSED }));
  const operations = new Operations(app);
  app.use(watch(api, operations, { audit: options.audit, pages }));
  app.use((_, next) => {
    serving.getStore()?.lifetimes.add(goings);
    return next();
  });
  const door = gate(api, {
    auth: options.auth,
    authTimeoutMs: span(options.authTimeout, 5_000, "createApp", "authTimeout"),
    insecure: options.insecure === true,
    origins,
    bodyLimit: positive(options.bodyLimit, 1024 * 1024, "createApp", "bodyLimit"),
  });
  app.use(door);
  routesOf(api, app);
  if (pages) {
    app.get("/", (c) => c.redirect(urlPath(`./${c.req.path.split("/").at(-1)}${PAGES}`.replace("//", "/"))));
    app.get(`${PAGES}/`, (c) => c.redirect("./runs"));
  }
  if (pages) app.route(PAGES, dashboard((request, env) => app.fetch(request, env), api.runtime));
  app.all("*", unmatched(operations));
  if (options.auth === undefined && options.insecure !== true) openDoors.add(door);
  return app as unknown as AppType;
}

/** Gates of apps that serve whoever is on this machine. */
const openDoors = new WeakSet<object>();

/** Whether an app, or one that is mounted in it as a route, asks nobody who they are, and so serves this machine alone. */
export function isOpen(app: object): boolean {
  const { routes = [] } = app as { readonly routes?: readonly { readonly handler: RouteHandler }[] };
  return routes.some(({ handler }) => {
    let inner: RouteHandler | undefined = handler;
    while (inner !== undefined && !openDoors.has(inner)) inner = inner.__COMPOSED_HANDLER;
    return inner !== undefined;
  });
}

/** A handler; Hono wraps those of a mounted app that handles its own errors, and names what it wrapped. */
interface RouteHandler {
  readonly __COMPOSED_HANDLER?: RouteHandler;
}

/** The routes of an app, added to it. Its type is what the contract is held against. */
export function routesOf(api: Api, app: OpenAPIHono<Env>) {
  return app
    .route("/", documentRoutes(app))
    .route("/", graphRoutes(api))
    .route("/", runRoutes(api))
    .route("/", historyRoutes(api))
    .route("/", operationRoutes(api))
    .route("/", waitRoutes(api));
}

function apiOf(options: AppOptions, signal: AbortSignal, goings: AppLifetime): Api {
  const {
    runners = [],
    workflows = [],
    store = runners[0]?.store,
    runtime = systemRuntime,
  } = options;
  const logger = loggerOf("createApp", options.logger);
  const { expose = {}, events = {} } = options;
  const compiled = workflows.map((workflow) => {
    if (store === undefined) {
      throw new BuildError("createApp", "there is no store; give `store: await denoKv(path)`");
    }
    return compile(workflow, { ...options.compile, store, runtime, logger });
  });
  const time = (name: keyof StreamOptions, fallback: number) => {
    const ms = span(events[name], fallback, "createApp", `events.${name}`);
    if (ms > 0) return ms;
    throw new BuildError("createApp", `events.${name} is 0; give a duration such as "15s"`);
  };
  return {
    served: new Served([...runners, ...compiled], store),
    expose: { state: expose.state ?? true, causes: expose.causes ?? false },
    runtime,
    logger,
    signal,
    get closing() {
      return goings.signal;
    },
    streams: {
      heartbeat: time("heartbeat", 15_000),
      poll: time("poll", 1_000),
      stall: time("stall", 30_000),
      lifetime: time("lifetime", 15 * 60_000),
      limit: positive(events.limit, 1_000, "createApp", "events.limit"),
    },
  };
}
