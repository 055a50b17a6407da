import { parse } from "@lukeed/ms";
import { type Duration, FatalError, RetryLater, type Task, type TaskContext } from "../mod.ts";
import { type Answered, exchange, Refusal, systemResolve } from "./support/exchange.ts";

/** A request. */
export interface HttpRequestInput {
  /** With `http:` or `https:`. */
  readonly url: string | URL;
  /** The method. @default "GET", or "POST" when there is a body */
  readonly method?: string;
  /** Headers beside `Idempotency-Key`, which one given here replaces. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is when it is text or bytes, and as JSON otherwise. @default none */
  readonly body?: unknown;
  /** How the body of the response is read. @default JSON where the response says that it is, text otherwise */
  readonly as?: "json" | "text" | "bytes";
}

/** What a request may do; given by the class that is bound, not by the state. */
export interface HttpRequestOptions {
  /**
   * The host names and addresses that may be asked although they are not on the public internet: services of one's own
   * network. `true` allows all of them: only where nobody else has a say in the URL.
   *
   * @default none
   */
  readonly allowPrivate?: boolean | readonly string[];
  /** The most bytes of a response, decompressed. @default 10 MiB */
  readonly maxBytes?: number;
  /** How many redirects are followed. @default 5 */
  readonly maxRedirects?: number;
  /** The longest time of a request, redirects and body included. @default "60s" */
  readonly timeout?: Duration;
  /** Finds the addresses of a host. @default the resolver of the system */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** A response with a status of 200 to 299. */
export interface HttpResponse {
  /** The status code. */
  readonly status: number;
  /** With lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed where the response says that it is JSON, text otherwise. */
  readonly body: unknown;
}

/** What is known of a response that was refused: `data` of the error, and of the failure that `record` sees. */
export interface HttpFailure {
  /** The status code. */
  readonly status: number;
  /** What was asked, after redirects. */
  readonly url: string;
  /** The beginning of the response. */
  readonly body: string;
}

/** A response that another attempt may better. */
export class HttpError extends Error {
  /** The name of the class, which minifying leaves as it is. */
  override readonly name = "HttpError";
  /** `data`: what `record` and whoever reads the failure get. */
  constructor(message: string, readonly data: HttpFailure) {
    super(message);
  }
}

/**
 * Sends an HTTP request and answers its response. All attempts carry one `Idempotency-Key`, so that a server that knows
 * the header acts once. What happens to a failure under the vertex's `@Retry`:
 *
 * | response                              | thrown                                                            |
 * | ------------------------------------- | ----------------------------------------------------------------- |
 * | 429 or 503 that names a `Retry-After` | `RetryLater`: the next attempt comes when the server asks for it |
 * | any other 408, 425, 429 or 5xx        | {@link HttpError}: retried with backoff                          |
 * | none, or not in time                  | an `Error`: retried with backoff                                 |
 * | anything else but 2xx                 | `FatalError`: not retried                                        |
 * | none, for it was refused              | `FatalError`: not retried                                        |
 *
 * Refused are hosts at addresses that are not public (loopback, private, link-local and the like, in any spelling, and
 * also when a name or a redirect leads there), responses that are too long, and too many redirects. A redirect to another
 * origin takes only the idempotency key and `Accept` and `Content-*` along, no secrets.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { once } from "node:events";
 * import type { AddressInfo } from "node:net";
 *
 * const server = createServer((_request, response) => void response.end("pong"));
 * await once(server.listen(0, "127.0.0.1"), "listening");
 * const { port } = server.address() as AddressInfo;
 *
 * const graph = new GraphBuilder({ id: "ping", schema: z.object({ url: z.string(), said: z.unknown() }) })
 *   .addVertex({
 *     id: "ping",
 *     task: new HttpRequest({ allowPrivate: ["127.0.0.1"], timeout: "10s" }),
 *     select: (s) => ({ url: s.url }),
 *     reduce: (s, response: HttpResponse) => { s.said = response.body; },
 *     retry: { maxAttempts: 5, backoff: { initial: "1s", jitter: true } },
 *   })
 *   .build({ entry: "ping", finish: "ping" });
 *
 * const { state } = await compile(graph, { store: memoryStore() }).run({ url: `http://127.0.0.1:${port}/`, said: "" });
 * assert.equal(state.said, "pong");
 * server.close();
 * ```
 */
export class HttpRequest implements Task<HttpRequestInput, HttpResponse> {
  readonly #trusts: (host: string) => boolean;
  readonly #maxBytes: number;
  readonly #maxRedirects: number;
  readonly #timeoutMs: number;
  readonly #resolve: (host: string) => Promise<readonly string[]>;

  /** Without options it asks public hosts only. */
  constructor(options: HttpRequestOptions = {}) {
    const { allowPrivate = [], maxBytes = 10 * 1024 * 1024, maxRedirects = 5, timeout = "60s" } = options;
    const trusted = typeof allowPrivate === "boolean" ? undefined : allowPrivate.map(plainHost);
    this.#trusts = (host) => trusted?.includes(plainHost(host)) ?? allowPrivate === true;
    this.#maxBytes = maxBytes;
    this.#maxRedirects = maxRedirects;
    this.#timeoutMs = typeof timeout === "number" ? timeout : parse(timeout) ?? NaN;
    this.#resolve = options.resolve ?? systemResolve;
    if (!(this.#timeoutMs > 0 && maxBytes > 0 && maxRedirects >= 0)) {
      throw new RangeError("HttpRequest: timeout and maxBytes must be above 0, maxRedirects at least 0");
    }
  }

  /** Sends the request. */
  async execute(input: HttpRequestInput, ctx: TaskContext): Promise<HttpResponse> {
    const timeout = new AbortController();
    const timer = setTimeout(() => {
      const reason = new Error(`${input.url} has not answered within ${this.#timeoutMs} ms`);
      reason.name = "TimeoutError";
      timeout.abort(reason);
    }, this.#timeoutMs);
    const abort = () => timeout.abort(ctx.signal.reason);
    if (ctx.signal.aborted) abort();
    ctx.signal.addEventListener("abort", abort);
    try {
      return await this.#ask(input, ctx.idempotencyKey, timeout.signal);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new FatalError(error.message, { cause: error, data: { url: String(input.url) } });
    } finally {
      clearTimeout(timer);
      ctx.signal.removeEventListener("abort", abort);
    }
  }

  async #ask(input: HttpRequestInput, key: string, signal: AbortSignal): Promise<HttpResponse> {
    let request = requestOf(input, key);
    for (let redirects = 0;; redirects++) {
      const { url, method } = request;
      const response = await exchange({
        ...request,
        signal,
        maxBytes: this.#maxBytes,
        trusted: this.#trusts(url.hostname),
        resolve: this.#resolve,
      });
      const { status, headers } = response;
      if (status >= 200 && status < 300) return { status, headers, body: bodyOf(response, input.as, url) };
      const next = redirected(request, response);
      if (next === undefined) throw refusal(`${method} ${url}`, url, response);
      if (redirects >= this.#maxRedirects) {
        throw new Refusal(`${input.url} leads to ${next.url} and is redirected more than ${redirects} times`);
      }
      request = next;
    }
  }
}

/** One request of those that an input may come to. */
interface Request {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | undefined;
}

function requestOf({ url, body, method, headers: given }: HttpRequestInput, key: string): Request {
  const headers = new Headers(given);
  if (!headers.has("idempotency-key")) headers.set("idempotency-key", key);
  if (!headers.has("accept-encoding")) headers.set("accept-encoding", "gzip, deflate, br");
  const raw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
  if (!raw && !headers.has("content-type")) headers.set("content-type", "application/json");
  const text = raw ? body : JSON.stringify(body);
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  if (bytes !== undefined) headers.set("content-length", String(bytes.byteLength));
  return {
    url: checkedUrl(String(url)),
    method: (method ?? (body === undefined ? "GET" : "POST")).toUpperCase(),
    headers,
    body: bytes,
  };
}

function checkedUrl(text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) throw new Refusal(`${JSON.stringify(text)} is no URL`);
  const url = new URL(text, base?.href);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new Refusal(`${url.protocol} is asked by nobody here; give an http: or https: URL`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new Refusal(`the URL of ${url.host} holds a user or a password; send them in a header`);
  }
  return url;
}

/** What a redirect asks for, or `undefined` when the response is none. */
function redirected(request: Request, response: Answered): Request | undefined {
  const { status, headers: { location } } = response;
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  const url = checkedUrl(location, request.url);
  const headers = new Headers(request.headers);
  let { method, body } = request;
  if (status === 303 ? method !== "HEAD" : status < 303 && method === "POST") {
    method = "GET";
    body = undefined;
    for (const name of [...headers.keys()]) if (name.startsWith("content-")) headers.delete(name);
  }
  if (url.origin !== request.url.origin) {
    for (const name of [...headers.keys()]) {
      if (!/^(accept|accept-.*|content-.*|idempotency-key)$/.test(name)) headers.delete(name);
    }
  }
  return { url, method, headers, body };
}

function bodyOf(response: Answered, as: HttpRequestInput["as"], url: URL): unknown {
  if (as === "bytes") return response.body;
  const type = response.headers["content-type"] ?? "";
  const text = textOf(response.body, type);
  const isJson = as === "json" ||
    as === undefined && /^application\/(.*\+)?json\b/i.test(type) && text !== "";
  if (!isJson) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new HttpError(`${url} answered with what is no JSON`, failureOf(url, response));
  }
}

function textOf(bytes: Uint8Array, type: string): string {
  const charset = /charset="?([^";\s]+)/i.exec(type)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function failureOf(url: URL, { status, headers, body }: Answered): HttpFailure {
  const text = textOf(body.subarray(0, 4 * BODY_IN_FAILURE), headers["content-type"] ?? "");
  return { status, url: url.href, body: text.slice(0, BODY_IN_FAILURE) };
}

function refusal(what: string, url: URL, response: Answered): Error {
  const { status, statusText } = response;
  const message = `${what} was answered with ${status} ${statusText}`.trimEnd();
  const data = failureOf(url, response);
  if (status === 429 || status === 503) {
    const delay = retryAfter(response.headers["retry-after"]);
    if (delay !== undefined) return new RetryLater(delay, message, { data });
  }
  const worthRetrying = status >= 500 || status === 408 || status === 425 || status === 429;
  return worthRetrying ? new HttpError(message, data) : new FatalError(message, { data });
}

/** Milliseconds from now on: the header holds seconds or a date. */
function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** A host without brackets and a final dot. */
function plainHost(host: string): string {
  return host.toLowerCase().replace(/^\[|\]$|\.$/g, "");
}

const BODY_IN_FAILURE = 1_000;
