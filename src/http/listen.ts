import type { AddressInfo } from "node:net";
import { span } from "../engine/options.ts";
import { ArgumentError, reasonOf } from "../errors.ts";
import type { Duration } from "../model/durations.ts";
import { type KnownOptions, optionProblem } from "../model/known_options.ts";
import { host } from "../runtime/host.ts";
import { systemRuntime } from "../runtime/system.ts";
import { isOpen } from "./app.ts";
import { type Serving, serving } from "./app_lifetime.ts";
import { isLoopback } from "./origin.ts";

/** Options of {@link listen}. */
export interface ListenOptions {
  /** The port. @default 8000; 0 takes any that is free */
  readonly port?: number;
  /** The address to listen at. @default "127.0.0.1" */
  readonly hostname?: string;
  /** Aborting it closes the server. */
  readonly signal?: AbortSignal;
  /** How long requests may go on when the server closes, before their connections are cut. @default "5s" */
  readonly grace?: Duration;
}

/** A server that listens. */
export interface Listening extends AsyncDisposable {
  /** The address. */
  readonly hostname: string;
  /** The port. */
  readonly port: number;
  /** Where it is reached, such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** Resolves when it has closed. */
  readonly closed: Promise<void>;
  /** Takes no more requests, ends event streams, gives what is under way the time of grace, and cuts the rest. */
  close(): Promise<void>;
  /** Closes. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Anything that answers requests, such as what {@link createApp} returns, or a Hono app that it is mounted in. */
export interface Answering {
  /** Answers a request. */
  fetch(request: Request, env?: unknown): Response | Promise<Response>;
}

/**
 * Serves an app on Deno, Bun or Node, over plain HTTP: where it is reached from elsewhere, put a proxy in front that ends
 * TLS.
 *
 * @throws {ArgumentError} the app has no `auth` and other machines could reach it, or the address cannot be listened at
 *
 * @example
 * ```ts ignore
 * await using server = await listen(createApp({ runners: [runner] }), { port: 8000 });
 * console.log(server.url);
 * ```
 */
export async function listen(app: Answering, options: ListenOptions = {}): Promise<Listening> {
  checkListen(app, options);
  const { port = 8000, hostname = "127.0.0.1", signal } = options;
  const grace = span(options.grace, 5_000, "listen", "grace");
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new ArgumentError("listen", `the port is ${String(port)}; give a number from 0 to 65535`);
  }
  const here: Serving = { isPublic: !isLoopback(hostname), lifetimes: new Set() };
  if (isOpen(app) && here.isPublic) {
    throw new ArgumentError(
      "listen",
      `other machines could reach ${hostname}, and the app has no auth; give createApp an \`auth\`, listen at 127.0.0.1, ` +
        "or, behind a proxy that authenticates, make the app with `insecure: true`",
    );
  }
  let server: Server;
  try {
    const served: Answering = {
      fetch: (request, env) => serving.run(here, () => app.fetch(request, env)),
    };
    server = await SERVERS[host](served, hostname, port);
  } catch (cause) {
    throw new ArgumentError("listen", `${hostname}:${port} cannot be listened at: ${reasonOf(cause)}`);
  }
  let closing: Promise<void> | undefined;
  const close = () =>
    closing ??= closeWithin(here, server, grace).finally(() => signal?.removeEventListener("abort", close));
  signal?.addEventListener("abort", close);
  if (signal?.aborted) void close();
  const shown = server.hostname.includes(":") ? `[${server.hostname}]` : server.hostname;
  return {
    hostname: server.hostname,
    port: server.port,
    url: `http://${shown}:${server.port}`,
    closed: server.closed,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Refuses arguments of `listen` that are none. */
function checkListen(app: unknown, options: ListenOptions): void {
  if (typeof (app as { readonly fetch?: unknown } | undefined)?.fetch !== "function") {
    throw new ArgumentError(
      "listen",
      "the first argument is no app; give what createApp returns, or a Hono app",
    );
  }
  const problem = optionProblem(options, LISTEN, { host: "write hostname" });
  if (problem !== undefined) throw new ArgumentError("listen", problem);
}

const LISTEN = {
  port: true,
  hostname: true,
  signal: true,
  grace: true,
} satisfies KnownOptions<keyof ListenOptions>;

/** A server of one runtime. */
interface Server {
  readonly hostname: string;
  readonly port: number;
  readonly closed: Promise<void>;
  /** Takes no more requests; `closed` resolves when the last one is answered. */
  stop(): void;
  /** Cuts every connection. */
  cut(): void;
}

async function closeWithin({ lifetimes }: Serving, server: Server, grace: number): Promise<void> {
  server.stop();
  for (const lifetime of lifetimes) lifetime.end();
  const timer = systemRuntime.wakeIn(grace, () => server.cut());
  await server.closed;
  timer.cancel();
}

type Start = (app: Answering, hostname: string, port: number) => Server | Promise<Server>;

const SERVERS: Readonly<Record<typeof host, Start>> = {
  deno: serveOnDeno,
  bun: serveOnBun,
  node: serveOnNode,
};

/** Deno's own way to close gracefully cannot be cut short: it is gone only when nothing is under way. */
function serveOnDeno(app: Answering, hostname: string, port: number): Server {
  const cutting = new AbortController();
  let underWay = 0;
  let stopping = false;
  const server = (globalThis as unknown as { readonly Deno: DenoServing }).Deno.serve(
    { hostname, port, signal: cutting.signal, onListen: () => {} },
    (request, info) => {
      if (stopping) return new Response(null, { status: 503, headers: { Connection: "close" } });
      underWay++;
      info.completed.then(done, done);
      return app.fetch(request, info);
    },
  );
  function done(): void {
    underWay--;
    closeIfIdle();
  }
  function closeIfIdle(): void {
    if (stopping && underWay === 0 && !cutting.signal.aborted) void server.shutdown();
  }
  return {
    hostname: server.addr.hostname,
    port: server.addr.port,
    closed: server.finished,
    stop: () => {
      stopping = true;
      closeIfIdle();
    },
    cut: () => {
      if (underWay > 0) cutting.abort();
    },
  };
}

function serveOnBun(app: Answering, hostname: string, port: number): Server {
  const server = (globalThis as unknown as { readonly Bun: BunServing }).Bun.serve({
    hostname,
    port,
    // Event streams are silent for longer than the 10 seconds that Bun gives by itself.
    idleTimeout: IDLE_SECONDS,
    fetch: (request, self) => app.fetch(request, self),
  });
  let settle: () => void;
  const closed = new Promise<void>((resolve) => settle = resolve);
  const stop = (now: boolean) => void server.stop(now).then(settle, settle);
  return {
    hostname: server.hostname,
    port: server.port,
    closed,
    stop: () => stop(false),
    cut: () => stop(true),
  };
}

async function serveOnNode(app: Answering, hostname: string, port: number): Promise<Server> {
  const { serve } = await import("@hono/node-server");
  const { createServer } = await import("node:http");
  const server = serve({
    fetch: (request, env) => app.fetch(request, env),
    hostname,
    port,
    createServer,
    serverOptions: { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: IDLE_SECONDS * 1_000 },
  }) as import("node:http").Server;
  await new Promise<void>((resolve, reject) => {
    server.once("listening", resolve).once("error", reject);
  });
  const closed = new Promise<void>((resolve) => void server.once("close", resolve));
  let stopping = false;
  // A connection that is kept alive after its last answer would hold the server open.
  server.on("request", (_, response) => {
    response.once("close", () => {
      if (stopping) systemRuntime.macrotask(() => server.closeIdleConnections());
    });
  });
  const { address, port: taken } = server.address() as AddressInfo;
  return {
    hostname: address,
    port: taken,
    closed,
    stop: () => {
      stopping = true;
      server.close();
      server.closeIdleConnections();
    },
    cut: () => server.closeAllConnections(),
  };
}

/** How long a connection may be silent. */
const IDLE_SECONDS = 120;

/** What is used of Deno. */
interface DenoServing {
  serve(
    options: { hostname: string; port: number; signal: AbortSignal; onListen(): void },
    handler: (
      request: Request,
      info: { readonly completed: Promise<void> },
    ) => Response | Promise<Response>,
  ): {
    readonly addr: { readonly hostname: string; readonly port: number };
    readonly finished: Promise<void>;
    shutdown(): Promise<void>;
  };
}

/** What is used of Bun. */
interface BunServing {
  serve(options: {
    hostname: string;
    port: number;
    idleTimeout: number;
    fetch(request: Request, server: unknown): Response | Promise<Response>;
  }): { readonly hostname: string; readonly port: number; stop(now: boolean): Promise<void> };
}
